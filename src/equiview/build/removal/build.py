"""From a benchmark with objects to pictures without some of them (O, sections 3.1 and 3.3)."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview import __version__
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.build.removal.captions import spacy_phrases
from equiview.build.removal.fill import filling
from equiview.build.removal.images import RemovalSettings, Remover
from equiview.build.removal.output import write_output
from equiview.build.removal.sources import Source, Sources
from equiview.build.removal.words import Words, coco_words, read_words
from equiview.data.items import Items
from equiview.errors import InputError, unknown_name
from equiview.io.files import parse_json
from equiview.io.progress import Progress, silent
from equiview.io.tables import write_bytes
from equiview.subjects import Answerer

TOGETHER = 16
"""Images that a process takes at a time."""
WAITING = 2
"""Such parts that are prepared for each process, so that none waits and memory stays bounded."""


def build_removal(
    benchmark: str,
    out: Path,
    settings: RemovalSettings | None = None,
    *,
    fill: str = "inpaint",
    model: Path | None = None,
    words: Path | None = None,
    spacy: str = "",
    captioner: Answerer | None = None,
    jobs: int = 1,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Remove objects from the images of a benchmark, into the folder `out`; returns how often what happened.

    An image is done once: stopped and started again, or started several times over, it goes on with those
    that are left, and ends in the same bytes. `fill`, `model`: see `filling`; `words`: a file of words of
    classes (COCO's by default); `spacy`: a pipeline that finds noun phrases; `captioner`: the model that
    writes captions where the settings say so. The table has `kind`, `what` and `count`.

    InputError for a benchmark without objects or captions, for files that cannot be used, for a class without
    words, and for a folder begun with other settings.
    """
    settings = settings or RemovalSettings()
    if (settings.captions == "model") != (captioner is not None):
        raise InputError("captions by a model need a captioner, and a captioner needs captions by a model")
    items = load_benchmark(benchmark)
    sources = Sources(items)
    options = _Options(out, settings, items.images, fill, model, words, spacy)
    remover = options.remover()
    _check(items, sources, remover, linked=sources.linked)
    items.images.hash_pictures(progress)
    _begin_folder(items, remover, spacy, captioner)
    left = [row for row, name in enumerate(items.images.ids) if not remover.record_path(name).exists()]
    done = len(items.images) - len(left)
    for finished in _run(remover, options, sources, left, jobs):
        done += finished
        progress("removing", done, len(items.images))
    return write_output(items, sources, remover, captioner, progress)


@dataclass(frozen=True)
class _Options:
    """What every process needs to make the same `Remover`."""

    out: Path
    settings: RemovalSettings
    images: Items
    fill: str
    model: Path | None
    words: Path | None
    spacy: str

    def remover(self) -> Remover:
        words: Words = read_words(self.words) if self.words else coco_words()
        phrases = spacy_phrases(self.spacy) if self.spacy else None
        filler = filling(self.fill, self.model)
        return Remover(self.out, self.settings, self.images, filler, words, phrases)


def _check(items: Benchmark, sources: Sources, remover: Remover, *, linked: bool) -> None:
    """InputError for classes that are not there, and for those without words where captions need them."""
    for name in remover.settings.classes:
        if name not in sources.classes:
            raise unknown_name(f"class of {items.name!r}", name, sources.classes)
    unknown = [name for name in sources.classes if name not in remover.words.classes]
    if unknown and remover.settings.captions == "phrases" and not linked:
        raise InputError(
            f"{remover.words.source}: has no words of class {unknown[0]!r} ({len(unknown)} of "
            f"{len(sources.classes)} are missing); add them, or choose prompts as captions"
        )


def _begin_folder(items: Benchmark, remover: Remover, spacy: str, captioner: Answerer | None) -> None:
    """Write what the folder is made with, or check it; InputError if it was begun with something else."""
    card = {
        "equiview": __version__,
        "benchmark": items.name,
        "fingerprint": items.fingerprint,
        "settings": remover.settings.model_dump(mode="json"),
        "filling": remover.filling.name,
        "words": remover.words.fingerprint,
        "spacy": spacy,
        "captioner": captioner.name if captioner else "",
    }
    path = remover.out / "builder.json"
    if not path.exists():
        return write_bytes(json.dumps(card, indent=1, ensure_ascii=False).encode(), path)
    known = parse_json(path.read_text("utf-8"), str(path))
    for name, value in card.items():
        if name != "equiview" and (not isinstance(known, dict) or known.get(name) != value):
            raise InputError(
                f"{path}: was begun with another {name}; choose another folder, or delete it to begin again"
            )
    return None


def _run(
    remover: Remover, options: _Options, sources: Sources, rows: Sequence[int], jobs: int
) -> Iterator[int]:
    """Do the images of these rows; yields how many more are done."""
    if jobs == 1 or len(rows) <= TOGETHER:
        for row in rows:
            remover.remove(sources[row])
            yield 1
        return
    parts = (rows[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(options,)) as pool:
        waiting: set[Future[int]] = set()
        for part in parts:
            waiting.add(pool.submit(_do, [sources[row] for row in part]))
            if len(waiting) >= WAITING * jobs:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        yield from (future.result() for future in wait(waiting).done)


_REMOVER: list[Remover] = []
"""Of this process, once it has begun."""


def _begin(options: _Options) -> None:
    _REMOVER.append(options.remover())


def _do(sources: Sequence[Source]) -> int:
    for source in sources:
        _REMOVER[0].remove(source)
    return len(sources)
