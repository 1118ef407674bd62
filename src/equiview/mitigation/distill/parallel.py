"""Parallel captions: texts of several languages, and which texts of the source language mean the same.

Texts of one image of a benchmark are parallel, and so are equal lines of files that OPUS and others offer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array

from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.files import read_lines
from equiview.io.fingerprint import fingerprint


@dataclass(frozen=True)
class Parallel:
    """Texts, and for each the texts of the source language that it stands for.

    `partners` `(n_texts, n_sources)` has in each row the weights, adding up to 1, of `sources`: the squared
    distance to the mean of several vectors differs from the mean of the squared distances by a constant. A
    text of the source language stands for itself.
    """

    name: str
    texts: Items
    sources: Items
    partners: csr_array
    source: str = ""
    licence: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many texts each language has."""
        codes, counts = np.unique(self.texts.table["language"].to_numpy(), return_counts=True)
        return dict(zip(codes.tolist(), counts.tolist(), strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the texts, their languages, and who stands for whom."""
        table, partners = self.texts.table, self.partners
        return fingerprint(
            *self.sources.texts, *table["text"], *table["language"], partners.indices.tobytes(),
            partners.indptr.tobytes(),
        )  # fmt: skip


def of_benchmark(benchmark: Benchmark, images: NDArray[np.int64], source: str) -> Parallel:
    """The texts of some of a benchmark's images, parallel where they are of one image.

    InputError where there is no text of the source language, or a text has none beside it.
    """
    texts, relevance = benchmark.need_texts(), benchmark.need_relevance()
    kept = np.isin(relevance.queries, images)
    image, text = relevance.queries[kept], relevance.items[kept]
    rows, place = np.unique(text, return_inverse=True)
    where = f"benchmark {benchmark.name!r}"
    if not len(rows):
        raise InputError(f"{where}: the images that teach have no texts; distillation needs captions")
    chosen = texts.take(rows)
    ours = np.flatnonzero((chosen.table["language"] == source).to_numpy())
    if not len(ours):
        raise InputError(
            f"{where}: has no captions in {source!r}, which the encoder teaches from; add them, or name "
            "another language with --source"
        )
    one = np.ones(len(place), dtype=np.float32)
    shown = csr_array((one, (place, image)), shape=(len(rows), len(benchmark.images)))
    beside = csr_array(shown @ shown[ours].T)
    beside = csr_array((np.ones_like(beside.data), beside.indices, beside.indptr), shape=beside.shape)
    itself = csr_array((np.ones(len(ours), np.float32), (ours, np.arange(len(ours)))), shape=beside.shape)
    others = np.ones(len(rows), dtype=np.float32)
    others[ours] = 0
    partners = _weighted(csr_array(beside * others[:, None] + itself))
    alone = np.flatnonzero(np.diff(partners.indptr) == 0)
    if len(alone):
        first = chosen.table.row(int(alone[0]), named=True)
        raise InputError(
            f"{where}: text {first['id']!r} ({first['language']}) has no text in {source!r} of the same "
            f"image ({len(alone)} of {len(rows)} have none); add one, or leave the text out"
        )
    return Parallel(
        *(benchmark.name, chosen, chosen.take(ours), partners), benchmark.source, benchmark.licence
    )


def of_files(given: str, source: str) -> Parallel:
    """The lines of files given as `en=FILE,de=FILE`, one of them in the source language.

    InputError for a file that is missing, has another number of lines, or a line without a word.
    """
    named = re.split(r",(?=[\w-]+=)", given)
    files = dict(part.split("=", 1) for part in named if part.partition("=")[2])
    if len(files) < 2 or len(files) != len(named):
        raise InputError(
            f"--parallel {given!r}: expected two languages or more, each once with its file, as in "
            f"{source}=FILE,de=FILE"
        )
    if source not in files:
        raise InputError(
            f"--parallel {given!r}: names no file in {source!r}, which the encoder teaches from; add "
            f"{source}=FILE, or name another language with --source"
        )
    lines = {code: read_lines(Path(name).expanduser()) for code, name in files.items()}
    wanted = len(lines[source])
    for code, said in lines.items():
        if len(said) != wanted:
            raise InputError(
                f"{files[code]}: has {len(said)} lines and {files[source]} {wanted}; line by line they must "
                "be of one meaning"
            )
        blank = next((row for row, text in enumerate(said, start=1) if not text.strip()), 0)
        if blank:
            raise InputError(f"{files[code]}, line {blank}: is empty; leave that line out of all files")
    if not wanted:
        raise InputError(f"{files[source]}: holds no text")
    codes = [source, *(code for code in files if code != source)]
    table = pl.DataFrame(
        {
            "id": [f"{files[code]}:{row}" for code in codes for row in range(1, wanted + 1)],
            "text": [text for code in codes for text in lines[code]],
            "language": [code for code in codes for _ in range(wanted)],
        }
    )
    texts = Items("text", table, files[source])
    columns = np.tile(np.arange(wanted), len(codes))
    partners = csr_array((np.ones(len(columns), np.float32), columns, np.arange(len(columns) + 1)))
    name = f"{Path(files[source]).name} in {len(codes)} languages"
    return Parallel(name, texts, texts.take(range(wanted)), partners)


def joined(parts: Sequence[Parallel]) -> Parallel:
    """All of them as one; InputError where all texts are of one language."""
    if not parts:
        raise InputError("distillation needs captions; name a --benchmark, files with --parallel, or both")
    whole = parts[0]
    if len(parts) > 1:
        partners = csr_array(block_array([
            [part.partners if row == column else None for column in range(len(parts))]
            for row, part in enumerate(parts)
        ]))  # fmt: skip
        name = ", ".join(part.name for part in parts)
        texts, sources = (
            _stacked((getattr(part, side) for part in parts), name) for side in ("texts", "sources")
        )
        origin, licence = (
            ", ".join(dict.fromkeys(filter(None, (getattr(part, what) for part in parts))))
            for what in ("source", "licence")
        )
        whole = Parallel(name, texts, sources, partners, origin, licence)
    if len(whole.counts) < 2:
        (code,) = whole.counts
        raise InputError(
            f"{whole.name}: its texts are in {code!r} alone; distillation needs two languages or more"
        )
    return whole


def _stacked(parts: Iterable[Items], name: str) -> Items:
    """Items one after the other, with ids that tell them apart where they must be."""
    tables = [part.table.select("id", "text", "language") for part in parts]
    whole = pl.concat(tables)
    if whole["id"].is_duplicated().any():
        whole = pl.concat(
            [table.with_columns(id=pl.format("{}:{}", pl.lit(row), "id")) for row, table in enumerate(tables)]
        )
    return Items("text", whole, name)


def _weighted(links: csr_array) -> csr_array:
    """Links with weights that add up to 1 in each row."""
    links.eliminate_zeros()
    links.sort_indices()
    counts = np.diff(links.indptr)
    weights = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    return csr_array((weights, links.indices, links.indptr), shape=links.shape)
