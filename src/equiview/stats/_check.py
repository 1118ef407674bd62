"""Checks at the door of every statistic, and the whole-number columns that resampling adds up."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError

EXACT_BITS = 52  # whole numbers up to 2**53 are exact in float64; one bit is kept spare
SMALL, LEAST_ROWS = 2**18, 4
"""Multiplications for which the library wakes no threads, and rows below which parts are not worth making."""
SINGLE = 2**24
"""Whole numbers up to here are exact in float32."""
PART = 2**17
"""Numbers of a part: 1 MiB, which stays in a cache."""


def whole_number(value: int, name: str, least: int) -> int:
    """Return `value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise StatsInputError(f"{name} must be a whole number; got {value!r}")
    if value < least:
        raise StatsInputError(f"{name} must be at least {least}; got {value}")
    return int(value)


def as_level(level: float) -> float:
    """Return `level`, the share of cases in which an interval is to hold the truth, in (0, 1)."""
    if not 0 < level < 1:
        raise StatsInputError(f"level must lie between 0 and 1; got {level}")
    return level


def as_sample(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return `values` as `(n,)` finite float64, n at least 1."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise StatsInputError(f"{name} must have shape (n,); got {array.shape}")
    if not array.size:
        raise UndefinedStatisticError(f"{name} is empty: there is nothing to judge")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise StatsInputError(f"{name} has a value that is not finite, at {row}")
    return array


def as_columns(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return `values`, `(n_queries,)` or `(n_queries, n_metrics)`, as float64 columns; nan: not asked."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise StatsInputError(f"{name} must be (n_queries,) or (n_queries, n_metrics); got {array.shape}")
    table = array.reshape(len(array), -1) if array.size else array.reshape(len(array), array.shape[-1])
    if table.shape[0] == 0:
        raise UndefinedStatisticError(f"{name} has no rows: there is no query to judge")
    if array.ndim == 2 and array.shape[1] == 0:
        raise UndefinedStatisticError(f"{name} has no columns: there is no metric to judge")
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise StatsInputError(f"{name}: row {row}, column {column} is infinite")
    empty = np.isnan(table).all(axis=0)
    if empty.any():
        column = int(np.flatnonzero(empty)[0])
        raise UndefinedStatisticError(f"{name}: column {column} is nan in every row: asked of no query")
    return table


def cluster_rows(clusters: ArrayLike | None, n_rows: int) -> tuple[NDArray[np.int64], int]:
    """Return each row's cluster as a number from 0, and how many clusters there are."""
    if clusters is None:
        return np.arange(n_rows, dtype=np.int64), n_rows
    labels = np.asarray(clusters)
    if labels.shape != (n_rows,):
        raise StatsInputError(f"clusters must have one label for each of {n_rows} rows; got {labels.shape}")
    if not np.issubdtype(labels.dtype, np.integer):
        raise StatsInputError(f"clusters must hold whole numbers; got {labels.dtype}")
    distinct, rows = np.unique(labels, return_inverse=True)
    return rows.reshape(-1).astype(np.int64), len(distinct)


def add_up(columns: NDArray[np.float64], rows: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    """Sum the rows of each cluster, `(n_clusters, n_columns)`, nan counting as 0."""
    filled = np.where(np.isnan(columns), 0.0, columns)
    if n_clusters == len(columns):
        sums = np.empty_like(filled)
        sums[rows] = filled
        return sums
    return np.stack([np.bincount(rows, weights=column, minlength=n_clusters) for column in filled.T], axis=1)


def exact_sums(
    columns: NDArray[np.float64], rows: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return cluster sums as whole numbers, and the unit of each column: `sums * unit` are the real sums.

    A matrix product of floats depends, in its last bits, on the order of its additions, hence on the
    library, the processor, the threads and the block size. Rounded to multiples of a power of two small
    enough that every possible total of `n_clusters` cluster sums stays below 2**52, the sums are exact in any
    order, so the same seed gives the same bytes everywhere. The rounding moves a mean by at most 2**-52 times
    `n_clusters` times the largest cluster sum: 2**-40 of the largest value for 3,600 queries one by one.
    """
    with np.errstate(over="ignore"):  # an overflow is an error of its own, below
        magnitude = add_up(np.abs(columns), rows, n_clusters).max(axis=0) * n_clusters
    if not np.isfinite(magnitude).all():
        raise StatsInputError(f"column {np.argmin(np.isfinite(magnitude))} has values too large to add up")
    exponent = np.where(magnitude > 0, EXACT_BITS - np.ceil(np.log2(np.maximum(magnitude, 1e-300))), 0.0)
    unit = np.exp2(-exponent)
    return add_up(np.rint(columns / unit), rows, n_clusters), unit


class ExactProduct:
    """Small whole numbers `(n, n_clusters)` times a matrix of `exact_sums`, exact in any order.

    A few columns take less time than it takes to write all counts out as floats: they are multiplied in parts
    that stay in a cache, and that are too small for the library to wake threads for each. Columns of hits are
    such small numbers that single precision holds every total, in half the time.
    """

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self.matrix = matrix

    def __call__(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """The totals of `counts`, `(n, n_columns)`; they may be floats that are whole numbers."""
        if counts.dtype == np.float64:
            return np.asarray(counts @ self.matrix)
        single, unit, largest = self._in_units
        if largest < SINGLE >> 8 * counts.itemsize:
            return _product(counts, single) * unit
        return np.asarray(_product(counts, self.matrix))

    @cached_property
    def _in_units(self) -> tuple[NDArray[np.float32], NDArray[np.float64], int]:
        """The matrix in units of each column, these, and the largest total of one column's sizes in them."""
        whole = self.matrix.astype(np.int64)
        held = np.bitwise_or.reduce(whole, axis=0)
        unit = np.maximum(held & -held, 1)  # the lowest bit that any row has
        small = whole // unit
        largest = int(np.abs(small).sum(axis=0).max(initial=0))
        return small.astype(np.float32), unit.astype(np.float64), largest


def _product(counts: NDArray[Any], matrix: NDArray[Any]) -> NDArray[Any]:
    """`counts` times `matrix`, in parts where these are worth it, in its precision."""
    rows = min(SMALL // max(1, matrix.size), PART // max(1, len(matrix)))
    if rows < LEAST_ROWS:
        return np.asarray(counts.astype(matrix.dtype) @ matrix)
    totals = np.empty((len(counts), matrix.shape[1]), matrix.dtype)
    part = np.empty((rows, len(matrix)), matrix.dtype)
    for start in range(0, len(counts), rows):
        some = counts[start : start + rows]
        np.copyto(part[: len(some)], some)
        np.matmul(part[: len(some)], matrix, out=totals[start : start + len(some)])
    return totals
