"""From places with pictures and articles to a benchmark in KnowRecall's layout, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from equiview.build.history import History
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.check import judged, without_options, without_picture
from equiview.build.knowrecall.export import export
from equiview.build.knowrecall.people import rejected_by_people, without_rejected, write_for_people
from equiview.build.knowrecall.plan import plans
from equiview.build.knowrecall.translate import Translations, translate
from equiview.build.knowrecall.write import keep_rules, write
from equiview.build.landmarks import Landmark, article_of, read_landmarks
from equiview.build.step import Step
from equiview.data.items import Items
from equiview.data.requests import Plan
from equiview.errors import InputError
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.subjects import Answerer

LANGUAGES = ("ar", "zh", "en", "fr", "de", "el", "he", "it", "ja", "ko", "pt", "ru", "sr", "es", "th")


class KnowRecallSettings(BaseModel):
    """What a user may choose; the defaults are T's where it says them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    languages: tuple[str, ...] = Field(
        default=LANGUAGES, description="languages of the questions; English is one"
    )
    candidates: int = Field(default=5, ge=1, le=20, description="questions written about each place")
    keep: int = Field(default=2, ge=1, description="questions kept about each place")
    turns: int = Field(
        default=3, ge=1, description="orders of the options in which a question is asked unseen"
    )
    attempts: int = Field(default=2, ge=1, description="times a translation is asked for")
    reviewed: int = Field(default=100, ge=0, description="questions a language in the review; 0 for none")
    seed: int = Field(default=0, ge=0)


@dataclass(frozen=True)
class KnowRecallModels:
    """Who does what; a checker and a back translator of another family catch more."""

    writer: Answerer
    checker: Answerer
    translator: Answerer
    back_translator: Answerer

    def named(self) -> dict[str, Answerer]:
        """The models by what they do."""
        return dict(vars(self))


def build_knowrecall(
    place: Path,
    out: Path,
    models: KnowRecallModels,
    settings: KnowRecallSettings | None = None,
    progress: Progress = silent,
    *,
    decisions: Path | None = None,
) -> pl.DataFrame:
    """Build a benchmark of the places in `place` in the folder `out`; returns how many passed each step.

    `out` then holds `data/` in KnowRecall's layout, `history.parquet` with all that became of every
    candidate, `rejections.csv`, `builder.json` and, unless `reviewed` is 0, `review/` for people. Run again
    after it was stopped, it asks nothing for which an answer is kept. What people rejected, by the
    `decisions` of a review's export, is left out, and the next questions follow. InputError for input that
    cannot be used, and when no question is left.
    """
    settings = settings or KnowRecallSettings()
    if "en" not in settings.languages:
        raise InputError("the languages must hold en: questions are written in English first")
    rejected = rejected_by_people(decisions) if decisions else {}
    with locked(out):
        return _build(place, out, models, settings, rejected, progress)


def plan_knowrecall(place: Path, models: KnowRecallModels, settings: KnowRecallSettings) -> list[Plan]:
    """What building would ask at most, step by step; nothing is asked. Errors as `build_knowrecall`'s."""
    landmarks = _usable(read_landmarks(place), settings, History())
    articles = {landmark.id: article_of(landmark, place) for landmark in landmarks}
    names = {purpose: model.name for purpose, model in models.named().items()}
    given = {name: getattr(settings, name) for name in ("candidates", "keep", "turns")}
    return plans(landmarks, articles, names, settings.languages, **given)


def _build(
    place: Path,
    out: Path,
    models: KnowRecallModels,
    settings: KnowRecallSettings,
    rejected: dict[str, str],
    progress: Progress,
) -> pl.DataFrame:
    history = History()

    def step(name: str, model: Answerer) -> Step:
        return Step(name, model, history, progress)

    landmarks = _usable(read_landmarks(place), settings, history)
    articles = {landmark.id: article_of(landmark, place) for landmark in landmarks}
    images = _first_pictures(landmarks, place)
    counts = {"places": len(landmarks)}
    candidates = write(
        step("write", models.writer),
        landmarks,
        articles,
        images,
        count=settings.candidates,
        seed=settings.seed,
    )
    counts["written"] = len(candidates)
    checks: Mapping[str, Callable[[list[Candidate]], list[Candidate]]] = {
        "rules": lambda given: keep_rules(given, history),
        "without options": lambda given: without_options(step("without options", models.checker), given),
        "without picture": lambda given: without_picture(
            step("without picture", models.checker), given, turns=settings.turns, seed=settings.seed
        ),
        "judged": lambda given: judged(step("judged", models.checker), given, images),
        "people": lambda given: without_rejected(given, rejected, history),
    }
    for name, check in checks.items():
        candidates = check(candidates)
        counts[name] = len(candidates)
    steps = (
        step("translate", models.translator),
        step("translate back", models.back_translator),
        step("compare", models.checker),
    )
    chosen, translations = select(steps, candidates, settings, history)
    counts["selected"] = len(chosen)
    if not chosen:
        reasons = history.rejections().sort("candidates", descending=True).head(3)
        said = "; ".join(f"{reason} ({count})" for _, reason, count in reasons.iter_rows())
        raise InputError(f"{place}: no question is left; most often: {said or 'none was written'}")
    if settings.reviewed:
        folder = out / "review"
        write_for_people(folder, chosen, translations, images, settings.languages, settings.reviewed)
    export(
        out, chosen, translations, images, history, settings.model_dump(mode="json"), models.named(), counts
    )
    return pl.DataFrame({"step": list(counts), "left": list(counts.values())})


def select(
    steps: tuple[Step, Step, Step],
    candidates: Sequence[Candidate],
    settings: KnowRecallSettings,
    history: History,
) -> tuple[list[Candidate], Translations]:
    """The first `keep` of each place that can be translated into every language, with their wordings.

    Only as many are translated as may be kept; where one fails, the next of its place follows.
    """
    waiting: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        waiting.setdefault(candidate.landmark.id, []).append(candidate)
    chosen: dict[str, list[Candidate]] = {name: [] for name in waiting}
    wordings: Translations = {}
    while True:
        batch = [
            candidate
            for name, left in waiting.items()
            for candidate in left[: settings.keep - len(chosen[name])]
        ]
        if not batch:
            break
        wordings |= translate(*steps, batch, settings.languages, settings.attempts)
        for candidate in batch:
            waiting[candidate.landmark.id].remove(candidate)
            missing = [
                language
                for language in settings.languages
                if language != "en" and (candidate.id, language) not in wordings
            ]
            if missing:
                history.rejected(
                    candidate.id, "select", "it is not translated into every language", ", ".join(missing)
                )
            else:
                chosen[candidate.landmark.id].append(candidate)
                history.passed(candidate.id, "select")
    for left in waiting.values():
        for candidate in left:
            history.rejected(candidate.id, "select", "its place has enough questions")
    return [candidate for kept in chosen.values() for candidate in kept], wordings


def _usable(landmarks: list[Landmark], settings: KnowRecallSettings, history: History) -> list[Landmark]:
    """The places with a picture in one of the languages; the others are noted."""
    usable = []
    for landmark in landmarks:
        if landmark.language not in settings.languages:
            history.rejected(
                landmark.id, "read", "its language is not among the languages", landmark.language
            )
        elif not landmark.pictures:
            history.rejected(landmark.id, "read", "it has no picture")
        else:
            usable.append(landmark)
    if not usable:
        reasons = "; ".join(history.rejections()["reason"])
        raise InputError(f"no place can be used: {reasons}")
    return usable


def _first_pictures(landmarks: Sequence[Landmark], place: Path) -> Items:
    table = {
        "id": [landmark.id for landmark in landmarks],
        "path": [str(landmark.pictures[0]) for landmark in landmarks],
    }
    return Items("image", pl.DataFrame(table), str(place / "images"))
