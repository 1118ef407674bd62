"""Whether two systems differ: a paired test over the same queries, by flipping signs.

If two systems are alike, each query's difference could as well have had the other sign. The test counts how
often random signs give a mean difference as far from 0 as the observed one. Fisher, "The Design of
Experiments" (1935), section 21; for retrieval, Smucker, Allan and Carterette, "A Comparison of Statistical
Significance Tests for Information Retrieval Evaluation" (CIKM 2007).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError
from equiview.stats._check import SMALL, ExactProduct, as_columns, cluster_rows, exact_sums, whole_number
from equiview.stats.signs import sign_tail

EXACT_CLUSTERS = 20
FEW = 100
"""Draws as extreme below which a p value is too rough to correct for many tests: its error is over 10%."""
BLOCK_BYTES = 16 * 2**20
FEW_COLUMNS = 4
"""Columns up to which looking sums up takes less time than writing signs out as floats."""
ROUNDING = 2.0**-48
"""Of the terms of a total, more than adding and weighting them can round."""
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).T.astype(np.float64)
"""Which of its eight bits each byte has, `(8, 256)`, the highest first."""


def sign_flip_test(
    differences: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    replicates: int = 10_000,
    seed: int,
    tail: Literal["counted", "saddlepoint"] = "counted",
    made_of: tuple[ArrayLike, ArrayLike] | None = None,
) -> NDArray[np.float64]:
    """Two-sided p value of each column's mean difference being 0, `(n_metrics,)`.

    `differences` is `(n_queries, n_metrics)`, one system minus the other, or `(n_queries,)` for a p of shape
    `()`; nan means "not asked of this query" and takes no part. `clusters`, `(n_queries,)` whole numbers,
    names queries whose signs flip together.

    With `tail="counted"`, p = (1 + number of replicates as extreme) / (1 + `replicates`), so never 0. With at
    most 20 clusters all sign patterns are tried instead, p is exact and `seed` without effect. Sums are exact
    but for the rounding of values, for which there is slack, so that equally extreme means count as equal;
    the same seed gives the same bytes.

    Counting cannot tell less than one in as many replicates as there are, so that Holm's correction of
    hundreds of tests rejects nothing. With `tail="saddlepoint"` a p value that fewer than 100 replicates bear
    out is computed instead (`sign_tail`), down to 2 / 2**clusters. Use it where p values are corrected.

    `made_of` says of what many columns are made, such as the pairs of a few systems: `(n_queries, n_few)`
    without nan and `(n_few, n_metrics)`, of which `differences` are the product but for rounding. Signs are
    then given to the few; the p values are the same.

    Raises UndefinedStatisticError for no query or a column entirely nan; StatsInputError for infinite values,
    labels that do not fit or another `tail`.

    Five queries, all better: only all plus and all minus, 2 of 32 patterns, are as extreme.

    >>> float(sign_flip_test([0.1, 0.2, 0.1, 0.3, 0.2], seed=0))
    0.0625
    """
    if tail not in ("counted", "saddlepoint"):
        raise StatsInputError(f"tail must be 'counted' or 'saddlepoint'; got {tail!r}")
    columns = as_columns(differences, "differences")
    rows, n_clusters = cluster_rows(clusters, len(columns))
    replicates = whole_number(replicates, "replicates", 1)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    sums, unit = exact_sums(columns, rows, n_clusters)
    observed = sums.sum(axis=0)
    least = np.abs(observed) - len(columns)  # two roundings of at most half a unit a row: ties stay ties

    if n_clusters <= EXACT_CLUSTERS:
        extreme = [_all_as_extreme(*column) for column in zip(sums.T, least, strict=True)]
        p = np.array(extreme) / 2**n_clusters
    else:
        counted = np.zeros(len(observed), dtype=np.int64)
        width = 4 * -(-n_clusters // 32)  # bytes of random bits a replicate, in whole 32-bit words
        block = min(replicates, max(1, BLOCK_BYTES // (8 * n_clusters)))
        few = None if made_of is None else _few(*made_of, sums, unit, rows)
        if few is not None:
            block = min(block, max(1, SMALL // few.weights.size))
        for start in range(0, replicates, block):
            size = min(block, replicates - start)
            drawn = np.frombuffer(rng.bytes(size * width), dtype=np.uint8).reshape(size, width)
            if few is None:
                counted += _as_extreme(drawn, sums, observed, least)
            else:
                counted += _as_extreme_of_few(drawn, few, sums, observed, least)
        p = (1 + counted) / (1 + replicates)
        if tail == "saddlepoint":
            for column in np.flatnonzero(counted < FEW):
                p[column] = sign_tail(np.abs(sums[:, column]), abs(float(observed[column])))
    shaped: NDArray[np.float64] = p.reshape(np.shape(differences)[1:])
    return shaped


class _Few(NamedTuple):
    """A product with sums of few columns, the weights that make others, how far such totals may be off."""

    product: ExactProduct
    weights: NDArray[np.float64]
    off: NDArray[np.float64]


def _few(
    columns: ArrayLike,
    weights: ArrayLike,
    sums: NDArray[np.float64],
    unit: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> _Few:
    """Those that make `sums`, the whole numbers of the differences, in their `unit`."""
    few, unit_of_few = exact_sums(np.asarray(columns, dtype=np.float64), rows, len(sums))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite leaves all totals open
        scaled = np.asarray(weights, dtype=np.float64) * unit_of_few[:, None] / unit
        rounding = np.abs(few).sum(axis=0) @ np.abs(scaled) * ROUNDING + 1
        return _Few(ExactProduct(few), scaled, np.abs(sums - few @ scaled).sum(axis=0) + rounding)


def _as_extreme(
    drawn: NDArray[np.uint8],
    sums: NDArray[np.float64],
    observed: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Count the sign patterns whose total is `least` or more from 0.

    `drawn` is `(n, bytes)`: a bit a cluster, 0 for plus and 1 for minus, then bits of no cluster. What the
    clusters of a byte with a minus add up to is looked up, or many columns are multiplied at once: totals are
    whole numbers, exact in any order.
    """
    if len(observed) > FEW_COLUMNS:
        signs = np.unpackbits(drawn, axis=1, count=len(sums)).astype(np.float64)
        return np.asarray((np.abs(observed - 2 * (signs @ sums)) >= least).sum(axis=0))
    whole = np.zeros((8 * drawn.shape[1], sums.shape[1]))
    whole[: len(sums)] = sums
    by_byte, found = drawn.T.copy(), np.empty(len(drawn))
    counted = np.zeros(len(observed), dtype=np.int64)
    for column, of_column in enumerate(whole.T.copy()):
        minus = np.zeros(len(drawn))
        for byte, table in zip(by_byte, of_column.reshape(-1, 8) @ _BITS, strict=True):
            minus += np.take(table, byte, out=found, mode="clip")
        counted[column] = (np.abs(observed[column] - 2 * minus) >= least[column]).sum()
    return counted


def _as_extreme_of_few(
    drawn: NDArray[np.uint8],
    few: _Few,
    sums: NDArray[np.float64],
    observed: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.int64]:
    """As `_as_extreme`: totals are made of the few ones, and where these leave it open, added up."""
    signs = np.unpackbits(drawn, axis=1, count=len(sums))
    with np.errstate(invalid="ignore"):
        far = np.abs(observed - 2 * (few.product(signs) @ few.weights))
    sure = far >= least + 2 * few.off
    counted = np.asarray(sure.sum(axis=0))
    left = ~sure & ~(far < least - 2 * few.off)
    for column in np.flatnonzero(left.any(axis=0)):
        totals = signs[left[:, column]].astype(np.float64) @ sums[:, column]
        counted[column] += np.count_nonzero(np.abs(observed[column] - 2 * totals) >= least[column])
    return counted


def _all_as_extreme(sums: NDArray[np.float64], least: float) -> int:
    """Count, of all sign patterns of the `sums`, those whose total is `least` or more from 0.

    The totals of one half of the clusters are looked up among those of the other: 2 x 2**10 for 2**20.
    """
    half = len(sums) // 2
    left, right = _totals(sums[:half]), np.sort(_totals(sums[half:]))
    if least <= 0:
        return len(left) * len(right)
    above = len(right) - np.searchsorted(right, least - left, side="left")
    below = np.searchsorted(right, -least - left, side="right")
    return int(above.sum() + below.sum())


def _totals(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The total of the `sums` under each of their sign patterns, `(2**n,)`."""
    totals = np.zeros(1)
    for value in sums:
        totals = np.concatenate([totals + value, totals - value])
    return totals
