"""Checks at the door of every metric: once in, arrays are what they claim to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError

SHARES_TOLERANCE = 1e-6


def as_table(values: ArrayLike, name: str, columns: str, *, rows: str = "n_queries") -> NDArray[Any]:
    """Return `values` as a `(rows, columns)` array with at least one row and one column."""
    array = np.asarray(values)
    if array.size == 0:
        raise UndefinedMetricError(f"{name} is empty, of shape {array.shape}: there is nothing to measure")
    if array.ndim != 2:
        raise MetricInputError(f"{name} must have shape ({rows}, {columns}); got {array.shape}")
    return array


def as_relevant(relevant: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Return `relevant` as an `(n_queries, depth)` bool array that reaches rank `k`."""
    array = as_table(relevant, "relevant", "depth")
    if array.dtype != np.bool_:
        if not np.issubdtype(array.dtype, np.integer) or ((array != 0) & (array != 1)).any():
            raise MetricInputError(f"relevant must hold bools (or 0 and 1); got {array.dtype}")
        array = array.astype(np.bool_)
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise MetricInputError(f"k must be a whole number; got {k!r}")
    if k < 1:
        raise MetricInputError(f"k must be at least 1; got {k}")
    if k > array.shape[1]:
        raise MetricInputError(f"relevant reaches rank {array.shape[1]} only; k = {k} needs {k} columns")
    return array


def as_n_relevant(n_relevant: ArrayLike | None, hits: NDArray[np.int64], why: str) -> NDArray[np.int64]:
    """Return `n_relevant` as `(n_queries,)` positive counts, each at least the `hits` already retrieved."""
    if n_relevant is None:
        raise MetricInputError(f"n_relevant is needed: {why}")
    array = np.asarray(n_relevant)
    if array.shape != hits.shape:
        raise MetricInputError(f"n_relevant must have shape {hits.shape}, one per query; got {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise MetricInputError(f"n_relevant must hold whole numbers; got {array.dtype}")
    if (array < 1).any():
        row = int(np.flatnonzero(array < 1)[0])
        raise UndefinedMetricError(f"query {row} has no relevant item in the pool (n_relevant {array[row]})")
    if (array < hits).any():
        row = int(np.flatnonzero(array < hits)[0])
        raise MetricInputError(f"query {row} has {hits[row]} relevant retrieved but n_relevant {array[row]}")
    return array.astype(np.int64)


def as_groups(groups: ArrayLike, n_groups: int | None = None) -> NDArray[np.int64]:
    """Return `groups` as an `(n_queries, k)` array of group indices, from 0 to `n_groups` - 1."""
    return checked_groups(groups, n_groups).astype(np.int64, copy=False)


def checked_groups(groups: ArrayLike, n_groups: int | None = None) -> NDArray[np.integer[Any]]:
    """The same in the type in which they come."""
    array = as_table(groups, "groups", "k")
    if not np.issubdtype(array.dtype, np.integer):
        raise MetricInputError(f"groups must hold whole numbers, the group of each rank; got {array.dtype}")
    if n_groups is not None:
        if isinstance(n_groups, bool) or not isinstance(n_groups, int | np.integer):
            raise MetricInputError(f"n_groups must be a whole number; got {n_groups!r}")
        if n_groups < 2:
            raise UndefinedMetricError(f"n_groups is {n_groups}: comparing groups takes at least 2")
    top = np.iinfo(np.int64).max if n_groups is None else n_groups - 1
    if array.min() < 0 or array.max() > top:
        row, rank = np.argwhere((array < 0) | (array > top))[0]
        allowed = "0 or more" if n_groups is None else f"0 to {top}"
        raise MetricInputError(f"query {row}, rank {rank + 1}: group {array[row, rank]} is not {allowed}")
    return array


def as_shares(shares: ArrayLike, n_groups: int, name: str) -> NDArray[np.float64]:
    """Return `shares` as `(n_groups,)` shares: finite, none negative, summing to 1."""
    array = np.asarray(shares, dtype=np.float64)
    if array.shape != (n_groups,):
        raise MetricInputError(f"{name} must have one share for each of {n_groups} groups; got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise MetricInputError(f"{name} must hold shares, finite and not negative; got {array.tolist()}")
    if abs(array.sum() - 1) > SHARES_TOLERANCE:
        raise MetricInputError(f"{name} must sum to 1; it sums to {array.sum():.6g}")
    return array


def one_of(value: str, name: str, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise MetricInputError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
