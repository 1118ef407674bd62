"""From a benchmark with objects to pictures without some of them (O, sections 3.1 and 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.objects import WRONG
from equiview.build.removal.edits import edited
from equiview.build.removal.fill import filling
from equiview.build.removal.images import PICTURES, RECORDS, Remover
from equiview.build.removal.output import ANNOTATIONS, COUNTS, FILES, TOKENS, requests_for, write_output
from equiview.build.removal.parsed import spacy_editor, spacy_phrases
from equiview.build.removal.settings import RemovalMakingSettings
from equiview.build.removal.sources import Source, Sources
from equiview.data.items import Items
from equiview.data.requests import Plan
from equiview.engine.processes import in_processes
from equiview.errors import InputError, unknown_name
from equiview.io.fingerprint import fingerprint
from equiview.io.pictures import stated_size
from equiview.io.progress import Progress
from equiview.io.stages import sweep
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.subjects import Answerer, Encoder, load_subject
from equiview.text.things import coco_things, read_things

TOGETHER = 16
"""Images in a batch of one process."""


class ObjectRemoval(Job):
    """Remove objects from the images of a benchmark.

    A build that was stopped continues with the remaining images; the result has the same bytes for any number
    of processes. InputError for a benchmark without objects or captions, for invalid files, and for a class
    without words.
    """

    def __init__(self, settings: RemovalMakingSettings, models: Mapping[str, Answerer] | None = None) -> None:
        self.settings = settings
        self.models = settings.answerers(captioner=settings.captioner) if models is None else models
        self.checker = _encoder(settings.check) if settings.check else None
        boxes = f",boxes={settings.boxes}" if settings.boxes else ""
        self.items = load_benchmark(settings.benchmark + boxes)
        self.sources = Sources(self.items)
        self.remover = remover_of(settings, self.items.images, Path())
        _check(self.items, self.sources, self.remover)
        _check_sizes(self.items)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The benchmark, the filling and the words of classes."""
        self.items.images.hash_pictures(progress)
        filling, words = self.remover.filling.name, self.remover.words
        inputs = {
            "benchmark": Input.of(self.items),
            "filling": Input(name=filling, fingerprint=fingerprint(filling)),
            "words": Input(name=words.source, fingerprint=words.fingerprint),
        }
        if self.checker is not None:
            inputs["check"] = Input(name=self.settings.check, fingerprint=self.checker.fingerprint)
        return inputs

    def plan(self) -> list[Plan | Task]:
        """All images, and a request for each picture where a model writes captions."""
        images = len(self.items.images)
        pictures = images * self.settings.per_image
        plans: list[Plan | Task] = [Task("remove", images, "images")]
        if self.checker is not None:
            plans.append(Task("check", pictures, "pictures"))
        if model := self.models.get("captioner"):
            requests = requests_for([str(number) for number in range(pictures)])
            plans.append(Plan.of(model.name, "captions", requests, TOKENS, usual=True))
        return plans

    def make(self, work: Work) -> Outcome:
        """Remove objects from the remaining images, then write the output from all records."""
        remover = replace(self.remover, out=work.folder)
        for name in (PICTURES, RECORDS, ANNOTATIONS):  # files that a killed process was writing
            sweep(work.folder / name)
        rows = enumerate(self.items.images.ids)
        left = [row for row, name in rows if not remover.record_path(name).exists()]
        captioner = self.models.get("captioner")
        work.stage(
            "remove", lambda _: self._remove(remover, left, work.progress), in_place=(), again=bool(left)
        )
        work.stage(
            "write",
            lambda _: write_output(self.items, self.sources, remover, captioner, work.progress, self.checker),
            in_place=FILES,
        )
        counts = pl.read_csv(work.folder / "counts.csv", schema_overrides=COUNTS)
        titles = {"seen": "Removed objects", "rejected": "Rejected"}
        return Outcome(
            {title: counts.filter(kind=kind).drop("kind") for kind, title in titles.items()},
            before={"Filled with": remover.filling.name, "Look at": str(work.folder / "index.html")},
        )

    def _remove(self, remover: Remover, left: Sequence[int], progress: Progress) -> None:
        whole = len(self.items.images)
        done = whole - len(left)
        for finished in _run(remover, self.settings, self.sources, left):
            done += finished
            progress("removing", done, whole)


def _encoder(name: str) -> Encoder:
    subject = load_subject(name)
    if not isinstance(subject, Encoder):
        raise InputError(f"setting check: {name!r} is {subject.kind}; name an encoder")
    return subject


def remover_of(settings: RemovalMakingSettings, images: Items, out: Path) -> Remover:
    """The remover of these settings, the same in every process."""
    words = read_things(settings.words) if settings.words else coco_things()
    nouns = settings.captions == "nouns"
    phrases = spacy_phrases(settings.spacy) if settings.spacy and nouns else None
    editor = spacy_editor(settings.spacy) if settings.spacy and not nouns else edited
    return Remover(out, settings, images, filling(settings.fill, settings.model), words, phrases, editor)


def _check(items: Benchmark, sources: Sources, remover: Remover) -> None:
    """InputError for unknown classes, and for those without words where captions need them."""
    for name in remover.settings.classes:
        if name not in sources.classes:
            raise unknown_name(f"class of {items.name!r}", name, sources.classes)
    unknown = [name for name in sources.classes if name not in remover.words.classes]
    if unknown and remover.settings.captions in ("phrases", "nouns") and not sources.linked:
        raise InputError(
            f"{remover.words.source}: has no words of class {unknown[0]!r} ({len(unknown)} of "
            f"{len(sources.classes)} are missing); add them, or choose prompts as captions"
        )
    english = remover.words.language == "en"
    if remover.settings.captions == "phrases" and not english and remover.editor is edited:
        raise InputError(
            f"{remover.words.source}: words of {remover.words.language!r}, whose phrases need a parser"
            "; name a pipeline of spaCy, or choose nouns or prompts as captions"
        )


def _check_sizes(items: Benchmark) -> None:
    """InputError for pictures of another size than their boxes, or turned by EXIF so that none can tell.

    Where nothing states their size, boxes of many pictures must not reach beyond them.
    """
    if "path" not in items.images.table.columns:
        return
    right, lower = pl.col("x") + pl.col("width"), pl.col("y") + pl.col("height")
    of_image = items.tables["objects"].group_by("image_id", maintain_order=True)
    reach = of_image.agg(right.max().alias("x"), lower.max().alias("y"))
    edges = {name: (x, y) for name, x, y in reach.iter_rows()}
    wrong, beyond = [], []
    for name, path in items.images.table.select("id", "path").iter_rows():
        stated, found = items.sizes.get(name), stated_size(Path(path)) if path else None
        if stated and found and (found[:2] != stated or found[2]):
            wrong.append((path, found, stated))
        elif (
            found and name in edges and any(e > side + 2 for e, side in zip(edges[name], found, strict=False))
        ):
            beyond.append((path, found, edges[name]))
    if wrong or len(beyond) > WRONG * len(edges):
        path, (width, height, turned), meant = (wrong or beyond)[0]
        how = " and turned by its EXIF" if turned else ""
        raise InputError(
            f"{path}: is {width} x {height} pixels{how}, but its boxes "
            f"{'are of' if wrong else 'reach to'} {meant[0]:g} x {meant[1]:g} ({len(wrong or beyond)} of "
            f"{len(items.images)} pictures); take pictures as published, or correct width, height and boxes"
        )


def _run(
    remover: Remover, settings: RemovalMakingSettings, sources: Sources, rows: Sequence[int]
) -> Iterator[int]:
    """Process the images of these rows; yields the size of each finished part."""
    jobs = settings.jobs
    if jobs == 1 or len(rows) <= TOGETHER:
        for row in rows:
            remover.remove(sources[row])
            yield 1
        return
    parts = (
        [sources[row] for row in rows[start : start + TOGETHER]] for start in range(0, len(rows), TOGETHER)
    )
    options = settings, remover.images, remover.out
    yield from in_processes(_do, parts, jobs, start=_begin, shared=options)


_REMOVER: list[Remover] = []
"""The remover of a worker process, set when it starts."""


def _begin(settings: RemovalMakingSettings, images: Items, out: Path) -> None:
    _REMOVER.append(remover_of(settings, images, out))


def _do(sources: Sequence[Source]) -> int:
    for source in sources:
        _REMOVER[0].remove(source)
    return len(sources)
