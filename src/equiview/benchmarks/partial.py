"""Part of a benchmark: what is left when some images cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.data.relevance import Relevance
from equiview.errors import InputError


def without_images(benchmark: Benchmark, ids: Iterable[str]) -> Benchmark:
    """`benchmark` without the images of these ids, such as pictures that cannot be read.

    Texts that were right for those images alone go with them, and so does every row of a table that names one
    of them in a column `image_id` or `..._id`. InputError when no image is left.
    """
    gone = set(ids)
    if not gone:
        return benchmark
    stay = ~benchmark.images.ids.is_in(list(gone)).to_numpy()
    if not stay.any():
        raise InputError(f"{benchmark.images.source}: no image is left; all {len(gone)} cannot be used")
    queries, items = benchmark.relevance.queries, benchmark.relevance.items
    kept_pairs = stay[queries]
    had = np.bincount(items, minlength=len(benchmark.texts)) > 0
    has = np.bincount(items[kept_pairs], minlength=len(benchmark.texts)) > 0
    texts_stay = has | ~had
    images = benchmark.images.take(np.flatnonzero(stay))
    texts = benchmark.texts
    if not texts_stay.all():
        texts = texts.take(np.flatnonzero(texts_stay))
    relevance = Relevance.from_pairs(
        (np.cumsum(stay) - 1)[queries[kept_pairs]],
        (np.cumsum(texts_stay) - 1)[items[kept_pairs]],
        n_queries=len(images),
        n_items=len(texts),
    )
    tables = {name: _without(table, gone) for name, table in benchmark.tables.items()}
    name = f"{benchmark.name} without {int((~stay).sum())} images"
    return replace(benchmark, name=name, images=images, texts=texts, relevance=relevance, tables=tables)


def _without(table: pl.DataFrame, gone: set[str]) -> pl.DataFrame:
    columns = [name for name, dtype in table.schema.items() if name.endswith("_id") and dtype == pl.String]
    named = [pl.col(name).is_in(list(gone)).fill_null(False) for name in columns]
    return table.filter(~pl.any_horizontal(named)) if named else table
