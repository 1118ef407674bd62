"""Two parts of a benchmark: one to fit on, one to judge by. They share no image, no text and no concept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.errors import InputError


def parts(
    benchmark: Benchmark, share: float, apart: Sequence[str] = (), seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of images to fit on, about `share` of all, and those of the others; both in order.

    Images that have a relevant text in common, or a value of an attribute of `apart`, are in one part.
    InputError where all of them hang together, so that there are no two parts.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    relevance, n = benchmark.relevance, len(benchmark.images)
    links = [(np.arange(n), np.arange(n))]  # each with itself: no text or attribute need be there
    if relevance is not None:
        links.append((relevance.queries, relevance.items))
    for name in apart:
        if name in benchmark.images.table.columns:
            values = benchmark.images.table[name]
            known = values.is_not_null().to_numpy()
            codes = values.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
            links.append((np.flatnonzero(known), codes[known]))
    rows = np.concatenate([row for row, _ in links])
    offsets = np.cumsum([0, *(int(column.max(initial=-1)) + 1 for _, column in links)])
    columns = np.concatenate([column + start for (_, column), start in zip(links, offsets, strict=False)])
    size = n + int(offsets[-1])
    graph = coo_array((np.ones(len(rows), dtype=bool), (rows, n + columns)), shape=(size, size))
    group = connected_components(graph, directed=False)[1][:n]
    order = np.random.default_rng(seed).permutation(np.unique(group))
    counts = np.bincount(group, minlength=size)[order]
    chosen = order[: np.searchsorted(np.cumsum(counts), share * n, side="right")]
    fit = np.isin(group, chosen)
    if fit.all() or not fit.any():
        raise InputError(
            f"benchmark {benchmark.name!r}: cannot be split into two parts, since {int(counts.max())} of "
            f"its {n} images share texts or a value of {', '.join(apart) or 'nothing else'}; set --apart or "
            "--share"
        )
    return np.flatnonzero(fit), np.flatnonzero(~fit)
