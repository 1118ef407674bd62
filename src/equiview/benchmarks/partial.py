"""Part of a benchmark: what remains when some images cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks.base import Benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError


def without_images(benchmark: Benchmark, ids: Iterable[str]) -> Benchmark:
    """`benchmark` without the images of these ids, such as pictures that cannot be read.

    Texts that were relevant to those images alone are removed too, and so is every row of a table that names
    one of them in a column `image_id` or `..._id`. InputError if no image is left.
    """
    removed = set(ids)
    if not removed:
        return benchmark
    kept = ~benchmark.images.ids.is_in(list(removed)).to_numpy()
    if not kept.any():
        raise InputError(f"{benchmark.images.source}: no image is left; all {len(removed)} cannot be used")
    texts, relevance = benchmark.texts, benchmark.relevance
    if texts is not None and relevance is not None:
        texts, relevance = _texts_of(kept, texts, relevance)
    return replace(
        benchmark,
        name=f"{benchmark.name} without {int((~kept).sum())} images",
        images=benchmark.images.take(np.flatnonzero(kept)),
        texts=texts,
        relevance=relevance,
        tables={name: _without(table, removed) for name, table in benchmark.tables.items()},
    )


def _texts_of(kept: NDArray[np.bool_], texts: Items, relevance: Relevance) -> tuple[Items, Relevance]:
    """The texts and the relevance that remain with the kept images; texts relevant to no image stay."""
    kept_pairs = kept[relevance.queries]
    queries, items = relevance.queries[kept_pairs], relevance.items[kept_pairs]
    kept_texts = np.ones(len(texts), dtype=bool)
    kept_texts[relevance.items] = False
    kept_texts[items] = True
    if not kept_texts.all():
        texts = texts.take(np.flatnonzero(kept_texts))
    return texts, Relevance.from_pairs(
        (np.cumsum(kept) - 1)[queries],
        (np.cumsum(kept_texts) - 1)[items],
        n_queries=int(kept.sum()),
        n_items=len(texts),
    )


def _without(table: pl.DataFrame, ids: set[str]) -> pl.DataFrame:
    columns = [name for name, dtype in table.schema.items() if name.endswith("_id") and dtype == pl.String]
    named = [pl.col(name).is_in(list(ids)).fill_null(False) for name in columns]
    return table.filter(~pl.any_horizontal(named)) if named else table
