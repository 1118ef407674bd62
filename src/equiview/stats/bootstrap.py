"""Bootstrap intervals of means, all metrics at once: counts of drawn queries times a matrix of values.

A replicate draws as many clusters as there are, with replacement; how often each was drawn is one row of a
multinomial table, and that row times the matrix of cluster sums gives the replicate's mean of every metric.
Every metric sees the same draws, so functions of several means, such as ratios, are computed from the
replicate means. Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13; whole
clusters as in Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from equiview.engine import Local, current_for
from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import (
    ExactProduct,
    add_up,
    as_columns,
    as_level,
    cluster_rows,
    exact_sums,
    whole_number,
)

BLOCK_BYTES = 16 * 2**20
DRAWS_AT_ONCE = 16_384
SHARED_FROM = 2**32
"""Multiplications from which the workers of an engine take part; with fewer, to ask them takes longer."""
STRIDE, ROOM, LEAST_OF_MANY = 16, 12, 4096
"""One of so many replicates says where an end of an interval is looked for, and how many of these are taken
for certainty, where there are so many replicates."""
REMEMBERED_BYTES = 16 * 2**20
"""Of the draws of one sample, at most four of which are kept."""


@dataclass(frozen=True)
class BootstrapInterval:
    """Means with their intervals; each array is `(n_metrics,)`, or `()` for a single column.

    `n` counts the queries behind each mean (those not nan), `n_clusters` the clusters that they come from.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: NDArray[np.int64]
    n_clusters: NDArray[np.int64]


def bootstrap_means(
    values: ArrayLike, *, clusters: ArrayLike | None = None, replicates: int = 10_000, seed: int
) -> NDArray[np.float64]:
    """Replicate means of every column, `(replicates, n_metrics)`, under resampling of queries.

    `values` is `(n_queries, n_metrics)`, or `(n_queries,)` for a result of shape `(replicates,)`. nan means
    "not asked of this query": it is excluded from numerator and denominator alike. `clusters`, `(n_queries,)`
    whole numbers, names queries that are drawn together (captions of one image, trials of one query).

    A replicate that happens to draw no query asked for a column has nan there; `interval` excludes those.
    The draws depend on `seed` and the number of clusters alone, and sums are exact (of values rounded to
    about 2**-40 of the largest), so the same input gives the same bytes on any machine, a column the same
    replicates whatever columns are beside it, and fewer replicates are the first of the more. Memory beside
    the input and the result is bounded: about 16 MiB, until a single replicate needs more.

    Raises UndefinedStatisticError for no query or a column entirely nan; StatsInputError for infinite values
    or labels that do not fit.

    A ratio of two means, here a self-preference of 2 cultural over 6 semantic wins in 9 trials:

    >>> import numpy as np
    >>> wins = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [6, 2, 1], axis=0)
    >>> semantic, cultural, _ = bootstrap_means(wins, replicates=1000, seed=7).T
    >>> low, high = interval(cultural / semantic)
    >>> bool(low < 2 / 6 < high)
    True
    """
    columns = as_columns(values, "values")
    rows, n_clusters = cluster_rows(clusters, len(columns))
    replicates = whole_number(replicates, "replicates", 1)
    seed = whole_number(seed, "seed", 0)
    sums, unit = exact_sums(columns, rows, n_clusters)
    asked = add_up(np.where(np.isnan(columns), 0.0, 1.0), rows, n_clusters)
    patterns, pattern_of = _distinct_columns(asked)
    matrix = np.ascontiguousarray(np.concatenate([sums, patterns], axis=1))

    means = np.empty((replicates, columns.shape[1]))
    few = replicates * n_clusters <= REMEMBERED_BYTES
    engine = current_for(replicates * matrix.size, SHARED_FROM, matrix.nbytes)
    if not isinstance(engine, Local):
        parts = engine.map(_totals, _ranges(n_clusters, replicates, seed), shared=(matrix,))
    else:
        counted = _remembered(n_clusters, replicates, seed) if few else _counts(n_clusters, replicates, seed)
        product = ExactProduct(matrix)
        parts = ((start, product(counts)) for start, counts in counted)
    for start, totals in parts:
        stop = start + len(totals)
        weights = totals[:, columns.shape[1] :]
        if patterns.shape[1] > 1:
            weights = weights[:, pattern_of]
        part = np.multiply(totals[:, : columns.shape[1]], unit, out=means[start:stop])
        with np.errstate(invalid="ignore"):  # 0 / 0: no query of this column was drawn
            np.divide(part, weights, out=part)
    return means if np.ndim(values) == 2 else means[:, 0]


def interval(replicates: ArrayLike, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percentile interval of each column: (low, high), each `(n_metrics,)`, in the replicates' unit.

    `replicates` is `(n_replicates, n_metrics)`, or `(n_replicates,)` for ends of shape `()`. Replicates that
    are nan, having nothing to average, are excluded; infinite ones (a ratio over 0) take part. Ends are
    interpolated linearly, as NumPy's default quantile, unless a neighbour is infinite: then the outer one.

    Raises StatsInputError for a level outside (0, 1); UndefinedStatisticError for a column entirely nan.

    >>> low, high = interval([0.0, 1.0, 2.0, 3.0, 4.0], level=0.5)
    >>> float(low), float(high)
    (1.0, 3.0)
    """
    level = as_level(level)
    array = np.asarray(replicates, dtype=np.float64)
    if array.ndim not in (1, 2) or array.size == 0:
        raise StatsInputError(f"replicates must be (n,) or (n, n_metrics) and not empty; got {array.shape}")
    columns = array.reshape(len(array), -1).T
    present = np.count_nonzero(~np.isnan(columns), axis=1)
    whole = (present == len(array)).all()
    ordered = _in_place(columns, level) if whole else np.sort(columns, axis=1)  # nan goes last
    if (present == 0).any():
        column = int(np.flatnonzero(present == 0)[0])
        raise UndefinedStatisticError(f"replicates: column {column} is nan in every replicate")
    shape = array.shape[1:]
    low = _quantile(ordered, present, (1 - level) / 2, outer=np.minimum)
    high = _quantile(ordered, present, (1 + level) / 2, outer=np.maximum)
    return low.reshape(shape), high.reshape(shape)


def bootstrap_interval(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    replicates: int = 10_000,
    seed: int,
) -> BootstrapInterval:
    """Mean, percentile interval and counts of each column: `bootstrap_means`, then `interval`.

    `values` is `(n_queries, n_metrics)` or `(n_queries,)`, nan meaning "not asked"; the fields of the result
    are `(n_metrics,)` or `()`. A column asked of one cluster has an interval of no width: see `n_clusters`.

    Raises what `bootstrap_means` and `interval` raise.

    >>> import numpy as np
    >>> accuracy = bootstrap_interval([0.0, 1.0, 1.0, np.nan], replicates=2000, seed=1)
    >>> round(float(accuracy.value), 4), float(accuracy.low), float(accuracy.high), int(accuracy.n)
    (0.6667, 0.0, 1.0, 3)
    """
    columns = as_columns(values, "values")
    low, high = interval(bootstrap_means(values, clusters=clusters, replicates=replicates, seed=seed), level)
    rows, n_clusters = cluster_rows(clusters, len(columns))
    asked = add_up(np.where(np.isnan(columns), 0.0, 1.0), rows, n_clusters)
    shape = low.shape
    return BootstrapInterval(
        value=np.nanmean(columns, axis=0).reshape(shape),
        low=low,
        high=high,
        n=asked.sum(axis=0).astype(np.int64).reshape(shape),
        n_clusters=np.count_nonzero(asked, axis=0).astype(np.int64).reshape(shape),
    )


def _counts(
    n_clusters: int, replicates: int, seed: int, kind: DTypeLike = np.float64
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first replicate, how often each cluster came up `(block, n_clusters)`), then overwritten."""
    rng = np.random.Generator(np.random.PCG64(seed))
    block, at_once = _at_once(n_clusters, replicates)
    counts = np.empty((block, n_clusters), kind)
    for start in range(0, replicates, block):
        stop = min(start + block, replicates)
        for first in range(0, stop - start, at_once):
            counts[first : first + at_once] = _draw_counts(rng, n_clusters, at_once)
        yield start, counts[: stop - start]


def _at_once(n_clusters: int, replicates: int) -> tuple[int, int]:
    """How many replicates there are in a block, and how many of them one call draws.

    The latter depends on the number of clusters alone, so that the draws do too.
    """
    at_once = max(1, DRAWS_AT_ONCE // n_clusters)
    return at_once * max(1, min(replicates, BLOCK_BYTES // (8 * n_clusters)) // at_once), at_once


def _ranges(n_clusters: int, replicates: int, seed: int) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    """Blocks of replicates, each with the state of the generator before it: first, how many, clusters, state.

    How many random bits a block takes depends on what they are, so the stream cannot be skipped: it is drawn
    here too, which takes a quarter of drawing and counting.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    block, at_once = _at_once(n_clusters, replicates)
    for start in range(0, replicates, block):
        stop = min(start + block, replicates)
        yield start, stop - start, n_clusters, dict(rng.bit_generator.state)
        for _ in range(0, stop - start, at_once):
            _draw(rng, n_clusters, at_once)


def _totals(
    part: tuple[int, int, int, dict[str, Any]], matrix: NDArray[np.float64]
) -> tuple[int, NDArray[np.float64]]:
    """The first replicate of a block of `_ranges`, and its counts times `matrix`."""
    start, count, n_clusters, state = part
    rng = np.random.Generator(np.random.PCG64(0))
    rng.bit_generator.state = state
    _, at_once = _at_once(n_clusters, count)
    drawn = [_draw_counts(rng, n_clusters, at_once) for _ in range(0, count, at_once)]
    return start, ExactProduct(matrix)(np.concatenate(drawn)[:count])


@lru_cache(maxsize=4)
def _remembered(
    n_clusters: int, replicates: int, seed: int
) -> tuple[tuple[int, NDArray[np.unsignedinteger[Any]]], ...]:
    """`_counts` of a small sample, kept: an audit bootstraps hundreds of groups of one size from one seed.

    In whole numbers as narrow as they fit, nearly always one byte.
    """
    return tuple(
        (start, counts.astype(np.min_scalar_type(int(counts.max()))))
        for start, counts in _counts(n_clusters, replicates, seed, np.min_scalar_type(n_clusters))
    )


def _draw_counts(rng: np.random.Generator, n_clusters: int, replicates: int) -> NDArray[np.int64]:
    """Multinomial rows `(replicates, n_clusters)`: how often each cluster came up in as many draws."""
    drawn = _draw(rng, n_clusters, replicates)
    cells = drawn + n_clusters * np.arange(replicates)[:, None]
    return np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape)


def _draw(rng: np.random.Generator, n_clusters: int, replicates: int) -> NDArray[np.unsignedinteger[Any]]:
    """Which clusters came up, `(replicates, n_clusters)`."""
    narrow = np.uint16 if n_clusters <= 2**16 else np.uint32  # half the random bits, half the time
    return rng.integers(0, n_clusters, size=(replicates, n_clusters), dtype=narrow)


def _distinct_columns(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the different columns of `table` and which of them each column is: most metrics share one."""
    seen: dict[bytes, int] = {}
    index = [seen.setdefault(column.tobytes(), len(seen)) for column in table.T]
    first = [index.index(i) for i in range(len(seen))]
    return table[:, first], np.asarray(index, dtype=np.int64)


def _in_place(columns: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Rows of which the entries that `interval` reads are where sorting would put them; without nan."""
    last = columns.shape[1] - 1
    below, above = (int(np.floor(last * q)) for q in ((1 - level) / 2, (1 + level) / 2))
    low, high = [below, min(below + 1, last)], [above, min(above + 1, last)]
    if last < LEAST_OF_MANY or below > last // 10:
        return np.partition(columns, sorted({*low, *high}), axis=1)
    # A sample says beyond which values the few at either end lie, nearly always: the rest need no order.
    columns = np.ascontiguousarray(columns)
    sample = np.sort(columns[:, ::STRIDE], axis=1)
    room = below // STRIDE + ROOM
    ordered = np.empty_like(columns)
    for row, of_sample, found in zip(columns, sample, ordered, strict=True):
        first, final = row[row <= of_sample[room]], row[row >= of_sample[-1 - room]]
        _put(found, low, first, 0, row)
        _put(found, high, final, len(row) - len(final), row)
    return ordered


def _put(
    found: NDArray[np.float64],
    places: list[int],
    part: NDArray[np.float64],
    begins: int,
    row: NDArray[np.float64],
) -> None:
    """Put what is at two places of a row, in order, into `found`; `part` begins at one place of it."""
    if places[0] < begins or places[1] >= begins + len(part):
        part, begins = row.copy(), 0  # the sample was far off
    at = [place - begins for place in places]
    part.partition(at)
    found[places] = part[at]


def _quantile(
    ordered: NDArray[np.float64], present: NDArray[np.int64], q: float, *, outer: np.ufunc
) -> NDArray[np.float64]:
    """Quantile `q` of the first `present` entries of each sorted row."""
    position = (present - 1) * q
    below = np.floor(position).astype(np.int64)
    rows = np.arange(len(ordered))
    left, right = ordered[rows, below], ordered[rows, np.minimum(below + 1, present - 1)]
    with np.errstate(invalid="ignore"):  # inf - inf is replaced below
        between = left + (right - left) * (position - below)
    whole = position == below
    end = np.where(np.isfinite(left) & np.isfinite(right), between, outer(left, right))
    quantile: NDArray[np.float64] = np.where(whole, left, end)
    return quantile
