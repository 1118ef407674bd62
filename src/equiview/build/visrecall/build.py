"""From places with titles and pictures to a benchmark in VisRecall's layout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from equiview.build.history import History, history_tables
from equiview.build.landmarks import Landmark, as_input, read_landmarks
from equiview.build.step import Step, choose
from equiview.build.visrecall.pictures import REPLY, Picture, of_the_place, requests_for, usable_pictures
from equiview.build.visrecall.settings import VisRecallSettings
from equiview.data.items import blind_order
from equiview.data.requests import Plan
from equiview.io.files import content_of
from equiview.io.progress import Progress
from equiview.io.tables import write_bytes
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.subjects import Answerer

Chosen = list[tuple[Landmark, list[Picture]]]


class VisRecall(Job):
    """Build a benchmark of the places in a folder, in VisRecall's layout.

    The model `checker` looks at every picture that might be kept; without one, pictures are checked by rules
    alone. The benchmark is `landmark_list.json`, `image_list.json` and `images/`; beside it are
    `history.parquet`, `rejections.csv` and `counts.csv`. InputError for input that cannot be used, and when
    no place is left.
    """

    def __init__(self, settings: VisRecallSettings, models: Mapping[str, Answerer] | None = None) -> None:
        self.settings = settings
        self.landmarks = read_landmarks(settings.places)
        self.models = settings.answerers(checker=settings.checker) if models is None else models

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The places and their pictures."""
        return {"places": as_input(self.settings.places, self.landmarks, progress)}

    def plan(self) -> list[Plan | Task]:
        """At most every picture of the places with titles is checked."""
        titled = [landmark for landmark in self.landmarks if _has_titles(landmark, self.settings, History())]
        pictures = [Picture(landmark, path) for landmark in titled for path in landmark.pictures]
        plans: list[Plan | Task] = [Task("check", len(pictures), "pictures")]
        if model := self.models.get("checker"):
            plans.append(Plan.of(model.name, "look", requests_for(pictures), REPLY, usual=True))
        return plans

    def make(self, work: Work) -> Outcome:
        """Choose places and pictures, and write the benchmark."""
        work.stage("build", lambda folder: self._build(folder, work.progress))
        return Outcome(history_tables(work.folder))

    def _build(self, folder: Path, progress: Progress) -> None:
        history, settings = History(), self.settings
        titled = [landmark for landmark in self.landmarks if _has_titles(landmark, settings, history)]
        checker = self.models.get("checker")
        step = Step("look", checker, history, progress) if checker else None
        chosen = select(titled, step, settings, history)
        if not chosen:
            raise history.nothing_left(settings.places, "place")
        _export(folder, chosen, settings)
        history.write(folder, {"places": len(self.landmarks), "titled": len(titled), "selected": len(chosen)})


def select(
    landmarks: Sequence[Landmark], step: Step | None, settings: VisRecallSettings, history: History
) -> Chosen:
    """The best known places of each language with enough pictures; ties are in an order hashed from ids."""
    order = blind_order(pl.Series([landmark.id for landmark in landmarks]))
    known = sorted((landmarks[place] for place in order), key=lambda landmark: -landmark.popularity)
    groups = {language: [p for p in known if p.language == language] for language in settings.languages}

    def with_pictures(batch: list[Landmark]) -> Iterator[tuple[Landmark, list[Picture]] | None]:
        pictures = [picture for landmark in batch for picture in usable_pictures(landmark, history)]
        if step is not None:
            pictures = of_the_place(step, pictures)
        for landmark in batch:
            kept = [picture for picture in pictures if picture.landmark is landmark][: settings.most]
            if len(kept) < settings.fewest:
                history.note(landmark.id, "select", "it has too few pictures", str(len(kept)))
                yield None
            else:
                history.note(landmark.id, "select", None, f"{len(kept)} pictures")
                yield landmark, kept

    chosen, left = choose(groups, settings.per_language, with_pictures)
    for landmark in left:
        history.note(landmark.id, "select", "its language has enough places")
    return chosen


def _has_titles(landmark: Landmark, settings: VisRecallSettings, history: History) -> bool:
    missing = [language for language in settings.languages if language not in landmark.titles]
    reason, seen = ("it has no title in every language", ", ".join(missing)) if missing else (None, None)
    if landmark.language not in settings.languages:
        reason, seen = "its language is not among the languages", landmark.language
    return history.note(landmark.id, "titles", reason, seen)


def without_disambiguation(title: str) -> str:
    """A title without the words in brackets that distinguish articles of the same name.

    >>> without_disambiguation("Fushimi Castle (Kyoto)"), without_disambiguation("Кремль")
    ('Fushimi Castle', 'Кремль')
    """
    return re.sub(r"\s*[(（][^()（）]*[)）]\s*$", "", title).strip() or title


def _export(folder: Path, chosen: Chosen, settings: VisRecallSettings) -> None:
    listed = []
    for landmark, pictures in chosen:
        titles = {
            f"wikipedia_{language}": without_disambiguation(landmark.titles[language])
            for language in settings.languages
        }
        listed.append({"landmark_id": landmark.id, "domestic_language_code": landmark.language} | titles)
        for picture in pictures:
            write_bytes(content_of(picture.path), folder / "images" / landmark.id / picture.path.name)
    files = {landmark.id: [picture.path.name for picture in pictures] for landmark, pictures in chosen}
    for name, content in {"landmark_list": listed, "image_list": files}.items():
        write_bytes(json.dumps(content, indent=1, ensure_ascii=False).encode(), folder / f"{name}.json")
