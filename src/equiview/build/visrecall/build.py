"""From places with titles and pictures to a benchmark in VisRecall's layout."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from equiview import __version__
from equiview.build.history import History
from equiview.build.landmarks import Landmark, read_landmarks
from equiview.build.models import Step
from equiview.build.visrecall.pictures import Picture, of_the_place, usable_pictures
from equiview.data.items import blind_order
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.tables import write_bytes, write_parquet
from equiview.subjects import Answerer

LANGUAGES = ("ar", "zh", "en", "fr", "de", "it", "ja", "pt", "es")


class VisRecallSettings(BaseModel):
    """What a user may choose; the defaults are T's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    languages: tuple[str, ...] = Field(default=LANGUAGES, description="languages that need a title")
    places: int = Field(default=50, ge=1, description="places of each language, the best known first")
    fewest: int = Field(default=5, ge=1, description="pictures that a place needs")
    most: int = Field(default=20, ge=1, description="pictures kept of a place")


Chosen = list[tuple[Landmark, list[Picture]]]


def build_visrecall(
    place: Path,
    out: Path,
    checker: Answerer | None = None,
    settings: VisRecallSettings | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Build a benchmark of the places in `place` in the folder `out`; returns how many passed each step.

    `checker` looks at every picture that might be kept; without one, pictures are checked by rules alone.
    `out` then holds `landmark_list.json`, `image_list.json` and `images/` in VisRecall's layout, and
    `history.parquet`, `rejections.csv` and `builder.json`. InputError for input that cannot be used, and when
    no place is left.
    """
    settings = settings or VisRecallSettings()
    with locked(out):
        history = History()
        landmarks = read_landmarks(place)
        counts = {"places": len(landmarks)}
        titled = [landmark for landmark in landmarks if _has_titles(landmark, settings, history)]
        counts["titled"] = len(titled)
        step = Step("look", checker, history, progress) if checker else None
        chosen = select(titled, step, settings, history)
        counts["selected"] = len(chosen)
        if not chosen:
            reasons = history.rejections().sort("candidates", descending=True).head(3)
            said = "; ".join(f"{reason} ({count})" for _, reason, count in reasons.iter_rows())
            raise InputError(f"{place}: no place is left; most often: {said}")
        _export(out, chosen, settings, history, checker, counts)
    return pl.DataFrame({"step": list(counts), "left": list(counts.values())})


def select(
    landmarks: Sequence[Landmark], step: Step | None, settings: VisRecallSettings, history: History
) -> Chosen:
    """The best known places of each language that have pictures enough.

    Equally known ones come in an order drawn by their ids. Only as many are looked at as may be kept; where
    one fails, the next of its language follows.
    """
    order = blind_order(pl.Series([landmark.id for landmark in landmarks]))
    known = sorted((landmarks[place] for place in order), key=lambda landmark: -landmark.popularity)
    waiting = {language: deque(p for p in known if p.language == language) for language in settings.languages}
    chosen: dict[str, Chosen] = {language: [] for language in waiting}
    while True:
        batch = [
            left.popleft()
            for language, left in waiting.items()
            for _ in range(min(len(left), settings.places - len(chosen[language])))
        ]
        if not batch:
            break
        pictures = {landmark.id: usable_pictures(landmark, history) for landmark in batch}
        if step is not None:
            pictures = _looked_at(step, pictures)
        for landmark in batch:
            kept = pictures[landmark.id][: settings.most]
            if len(kept) < settings.fewest:
                history.rejected(landmark.id, "select", "it has too few pictures", str(len(kept)))
            else:
                history.passed(landmark.id, "select", f"{len(kept)} pictures")
                chosen[landmark.language].append((landmark, kept))
    for left in waiting.values():
        for landmark in left:
            history.rejected(landmark.id, "select", "its language has enough places")
    return [entry for language in settings.languages for entry in chosen[language]]


def _looked_at(step: Step, pictures: dict[str, list[Picture]]) -> dict[str, list[Picture]]:
    kept: dict[str, list[Picture]] = {name: [] for name in pictures}
    for picture in of_the_place(step, [picture for listed in pictures.values() for picture in listed]):
        kept[picture.landmark.id].append(picture)
    return kept


def _has_titles(landmark: Landmark, settings: VisRecallSettings, history: History) -> bool:
    missing = [language for language in settings.languages if language not in landmark.titles]
    if landmark.language not in settings.languages:
        history.rejected(landmark.id, "titles", "its language is not among the languages", landmark.language)
    elif missing:
        history.rejected(landmark.id, "titles", "it has no title in every language", ", ".join(missing))
    else:
        history.passed(landmark.id, "titles")
        return True
    return False


def without_disambiguation(title: str) -> str:
    """A title without the words in brackets that tell articles of one name apart.

    >>> without_disambiguation("Fushimi Castle (Kyoto)"), without_disambiguation("Кремль")
    ('Fushimi Castle', 'Кремль')
    """
    return re.sub(r"\s*[(（][^()（）]*[)）]\s*$", "", title).strip() or title


def _export(
    out: Path,
    chosen: Chosen,
    settings: VisRecallSettings,
    history: History,
    checker: Answerer | None,
    counts: dict[str, int],
) -> None:
    listed = []
    for landmark, pictures in chosen:
        titles = {
            f"wikipedia_{language}": without_disambiguation(landmark.titles[language])
            for language in settings.languages
        }
        listed.append({"landmark_id": landmark.id, "domestic_language_code": landmark.language} | titles)
        for picture in pictures:
            write_bytes(content_of(picture.path), out / "images" / landmark.id / picture.path.name)
    files = {landmark.id: [picture.path.name for picture in pictures] for landmark, pictures in chosen}
    model = checker and {"name": checker.name, "fingerprint": checker.fingerprint}
    card = {
        "equiview": __version__,
        "settings": settings.model_dump(mode="json"),
        "checker": model,
        "counts": counts,
    }
    for name, content in {"landmark_list": listed, "image_list": files, "builder": card}.items():
        write_bytes(json.dumps(content, indent=1, ensure_ascii=False).encode(), out / f"{name}.json")
    write_parquet(history.table, out / "history.parquet")
    write_bytes(history.rejections().write_csv().encode(), out / "rejections.csv")
