"""From places with pictures and articles to a benchmark in KnowRecall's layout, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from equiview.build.decisions import Rejected
from equiview.build.history import History, history_tables
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.check import judged, without_options, without_picture, write
from equiview.build.knowrecall.export import export
from equiview.build.knowrecall.people import (
    check_known,
    check_same_build,
    rejected_by_people,
    without_rejected,
    write_for_people,
)
from equiview.build.knowrecall.plan import plans
from equiview.build.knowrecall.rules import keep_rules
from equiview.build.knowrecall.settings import KnowRecallSettings
from equiview.build.knowrecall.translate import Translations, translate
from equiview.build.landmarks import Landmark, article_of, as_input, read_landmarks
from equiview.build.step import Step, choose
from equiview.data.items import Items
from equiview.data.requests import Plan
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.making import Job, Outcome
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.subjects import Answerer


class KnowRecall(Job):
    """Build a benchmark of the places in a folder, in KnowRecall's layout.

    The benchmark is `data/`; beside it are `history.parquet` with the results of every candidate,
    `rejections.csv`, `counts.csv` and, unless `reviewed` is 0, `review/` for people. Questions rejected in
    the `decisions` of a review's export are replaced by the next ones. InputError for invalid input, and when
    no question is left.
    """

    def __init__(self, settings: KnowRecallSettings, models: Mapping[str, Answerer] | None = None) -> None:
        self.settings, self.history = settings, History()
        self.landmarks = _usable(read_landmarks(settings.places), settings, self.history)
        self.articles = {landmark.id: article_of(landmark, settings.places) for landmark in self.landmarks}
        self.rejected: Rejected | None = None
        if settings.decisions:
            self.rejected = rejected_by_people(settings.decisions, settings.languages)
        checker = settings.checker or settings.writer
        self.models = models or settings.answerers(
            writer=settings.writer,
            checker=checker,
            translator=settings.translator or settings.writer,
            back_translator=settings.back_translator or checker,
        )

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The places with pictures and articles, and what people decided."""
        articles = self.articles.values()
        made_from = {"places": as_input(self.settings.places, self.landmarks, progress, *articles)}
        if self.rejected:
            judged = sorted(self.rejected.judged.items())
            decided = fingerprint(sorted(self.rejected.reasons.items()), *judged)
            made_from["decisions"] = Input(name=self.rejected.path.name, fingerprint=decided)
        return made_from

    def plan(self) -> list[Plan]:
        """The requests of each step if no candidate is rejected."""
        names = {purpose: model.name for purpose, model in self.models.items()}
        return plans(self.landmarks, self.articles, names, self.settings)

    def make(self, work: Work) -> Outcome:
        """Write, check, translate and select questions."""
        work.stage("build", lambda folder: self._build(folder, work.progress))
        review = work.folder / "review"
        command = {"Review by people": f"equiview review {review}"} if review.is_dir() else {}
        return Outcome(history_tables(work.folder), after=command)

    def _build(self, folder: Path, progress: Progress) -> None:
        settings, models, history = self.settings, self.models, self.history

        def step(name: str, model: str) -> Step:
            return Step(name, models[model], history, progress)

        landmarks, articles = self.landmarks, self.articles
        pictures = {"id": [p.id for p in landmarks], "path": [str(p.pictures[0]) for p in landmarks]}
        images = Items("image", pl.DataFrame(pictures), str(settings.places / "images"))
        counts = {"places": len(landmarks)}
        writer, count, seed = step("write", "writer"), settings.candidates, settings.seed
        candidates = write(writer, landmarks, articles, images, count=count, seed=seed)
        counts["written"] = len(candidates)
        forth, back = step("translate", "translator"), step("translate back", "back_translator")
        steps = forth, back, step("compare", "checker")

        def translated(given: Sequence[Candidate]) -> Translations:
            return translate(*steps, given, settings.languages, settings.attempts)

        def reviewed(given: list[Candidate]) -> list[Candidate]:
            if self.rejected is None:
                return given
            check_same_build(self.rejected, given, translated, images)
            return without_rejected(given, self.rejected, history)

        if self.rejected:
            check_known(self.rejected, candidates)
        checks: Mapping[str, Callable[[list[Candidate]], list[Candidate]]] = {
            "rules": lambda given: keep_rules(given, history),
            "without options": lambda given: without_options(step("without options", "checker"), given),
            "without picture": lambda given: without_picture(
                step("without picture", "checker"), given, turns=settings.turns, seed=settings.seed
            ),
            "judged": lambda given: judged(step("judged", "checker"), given, images),
            "people": reviewed,
        }
        for name, check in checks.items():
            candidates = check(candidates)
            counts[name] = len(candidates)
        chosen, translations = select(steps, candidates, settings, history)
        counts["selected"] = len(chosen)
        if not chosen:
            raise history.nothing_left(settings.places, "question")
        if settings.reviewed:
            write_for_people(
                folder / "review", chosen, translations, images, settings.languages, settings.reviewed
            )
        export(folder, chosen, translations, images, settings.languages)
        history.write(folder, counts)


def select(
    steps: tuple[Step, Step, Step],
    candidates: Sequence[Candidate],
    settings: KnowRecallSettings,
    history: History,
) -> tuple[list[Candidate], Translations]:
    """The first `keep` questions of each place that can be translated into every language, with wordings.

    `steps` translate, translate back and compare.
    """
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.landmark.id, []).append(candidate)
    wordings: Translations = {}
    others = [language for language in settings.languages if language != "en"]

    def translated(batch: list[Candidate]) -> Iterator[Candidate | None]:
        wordings.update(translate(*steps, batch, settings.languages, settings.attempts))
        for candidate in batch:
            missing = [language for language in others if (candidate.id, language) not in wordings]
            reason = "it is not translated into every language" if missing else ""
            passed = history.note(candidate.id, "select", reason, ", ".join(missing) or None)
            yield candidate if passed else None

    chosen, left = choose(groups, settings.keep, translated)
    for candidate in left:
        history.note(candidate.id, "select", "its place has enough questions")
    return chosen, wordings


def _usable(landmarks: list[Landmark], settings: KnowRecallSettings, history: History) -> list[Landmark]:
    """The places with a picture and one of the languages; others are noted as rejected."""
    usable = []
    for landmark in landmarks:
        if landmark.language not in settings.languages:
            history.note(landmark.id, "read", "its language is not among the languages", landmark.language)
        elif landmark.pictures or history.note(landmark.id, "read", "it has no picture"):
            usable.append(landmark)
    if not usable:
        reasons = "; ".join(history.rejections()["reason"])
        raise InputError(f"no place can be used: {reasons}")
    return usable
