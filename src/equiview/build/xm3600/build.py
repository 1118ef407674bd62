"""From a user's captioned images to a pool in Crossmodal-3600's layout, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from equiview.build.decisions import Rejected
from equiview.build.history import History, history_tables
from equiview.build.step import Step
from equiview.build.xm3600.captions import captions_in, missing_in, read_pool
from equiview.build.xm3600.export import lines
from equiview.build.xm3600.people import (
    check_known,
    rejected_by_people,
    review_items,
    write_for_people,
)
from equiview.build.xm3600.settings import PoolSettings
from equiview.build.xm3600.translate import comparison, request, translate
from equiview.data.requests import Plan
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.pictures import encoded
from equiview.io.progress import Progress
from equiview.io.tables import write_bytes
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.subjects import Answerer

JPEG = b"\xff\xd8\xff"
"""What a file begins with that can be taken over as it is."""
QUALITY = 95
REPLY_TOKENS = {"translate": 40, "compare": 20}


class Pool(Job):
    """`captions.jsonl` and `images/` in the layout of the release, with who translated what.

    Beside them are `history.parquet`, `rejections.csv`, `counts.csv` and, unless `reviewed` is 0, a
    `review` for people. Captions rejected in the `decisions` of a review's export are left out. InputError
    for invalid input and for pictures that cannot be read.
    """

    def __init__(self, settings: PoolSettings, models: Mapping[str, Answerer] | None = None) -> None:
        self.settings, self.history = settings, History()
        self.images, self.texts = read_pool(settings.pool)
        self.captions = captions_in(self.images, self.texts, self.history)
        if not self.captions:
            raise self.history.nothing_left(settings.pool, "captioned image")
        if settings.source and not any(settings.source in known for known in self.captions.values()):
            raise InputError(f"{self.texts.source}: no caption is in {settings.source}, the source")
        wanted = (settings.languages, settings.source, settings.captions)
        self.missing = list(missing_in(self.captions, *wanted))
        self.rejected: Rejected | None = None
        if settings.decisions:
            self.rejected = rejected_by_people(settings.decisions, settings.languages)
        self.models = models or settings.answerers(
            translator=settings.translator, checker=settings.checker or settings.translator
        )

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The captioned images, and what people decided."""
        self.images.hash_pictures(progress)
        whole = fingerprint(self.images.fingerprint, self.texts.fingerprint)
        name, licence = self.settings.pool.resolve().name, self.settings.licence
        made_from = {"pool": Input(name=name, fingerprint=whole, licence=licence)}
        if self.rejected:
            parts = (sorted(self.rejected.reasons.items()), sorted(self.rejected.judged.items()))
            decided = fingerprint(*map(str, parts))
            made_from["decisions"] = Input(name=self.rejected.path.name, fingerprint=decided)
        return made_from

    def plan(self) -> Sequence[Plan | Task]:
        """The pictures to copy, and the requests if no translation is rejected."""
        forth = [request(missing) for missing in self.missing]
        back = [comparison(missing, missing.original.text) for missing in self.missing]
        names = {purpose: model.name for purpose, model in self.models.items()}
        return [
            Task("pictures", len(self.captions), "pictures"),
            Plan.of(names["translator"], "translate", forth, REPLY_TOKENS["translate"]),
            Plan.of(names["checker"], "compare", back, REPLY_TOKENS["compare"], usual=True),
        ]

    def make(self, work: Work) -> Outcome:
        """Copy the pictures, then translate, check and merge."""
        work.stage("pictures", lambda folder: self._copy(folder / "images", work.progress))
        work.stage("build", lambda folder: self._build(folder, work.folder / "images", work.progress))
        review = work.folder / "review"
        command = {"Review by people": f"equiview review {review}"} if review.is_dir() else {}
        return Outcome(history_tables(work.folder), after=command)

    def _copy(self, folder: Path, progress: Progress) -> None:
        """Each picture as KEY.jpg: a JPEG as it is, any other as one of quality 95. Each is decoded once."""
        folder.mkdir()
        for done, (row, name) in enumerate(self._rows().items(), start=1):
            content, (picture,) = self.images.encoded(row), self.images.pictures([row])
            if not content.startswith(JPEG):
                content = encoded(picture, "JPEG", quality=QUALITY)
            write_bytes(content, folder / f"{name}.jpg")
            progress("copying pictures", done, len(self.captions))

    def _build(self, folder: Path, pictures: Path, progress: Progress) -> None:
        settings, history = self.settings, self.history
        steps = (
            Step("translate", self.models["translator"], history, progress),
            Step("compare", self.models["checker"], history, progress),
        )
        done = translate(*steps, self.missing, settings.attempts)
        kept = [missing for missing in self.missing if missing.id in done]
        counts = {
            "images": len(self.captions),
            "captions of people": sum(len(c) for known in self.captions.values() for c in known.values()),
            "to translate": len(self.missing),
            "translated": len(kept),
        }
        if self.rejected:
            reasons = self.rejected.reasons
            judged = [missing for missing in kept if missing.id in reasons]
            check_known(self.rejected, review_items(judged, done, pictures))
            for missing in kept:
                reason = reasons.get(missing.id)
                verdict = reason and "people rejected it"
                history.note(missing.id, "people", verdict, reason, language=missing.language)
            kept = [missing for missing in kept if missing.id not in reasons]
            counts["people"] = len(kept)
        if settings.reviewed:
            write_for_people(folder / "review", kept, done, pictures, settings.reviewed)
        table = self.images.table
        locales = dict(table.select("id", "locale").iter_rows()) if "locale" in table.columns else {}
        translator = self.models["translator"].name.partition(",")[0]  # without its options
        written = lines(self.captions, kept, done, translator, locales)
        write_bytes("".join(f"{line}\n" for line in written).encode(), folder / "captions.jsonl")
        history.write(folder, counts)

    def _rows(self) -> dict[int, str]:
        """The images with captions by their row."""
        return {row: name for row, name in enumerate(self.images.ids) if name in self.captions}
