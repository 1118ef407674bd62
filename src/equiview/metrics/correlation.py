"""Correlation of two series: the value alone; intervals and p values are in `equiview.stats`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's product-moment correlation of `x` and `y`, both `(n,)`, in [-1, 1].

    Raises UndefinedMetricError for fewer than 2 pairs or a series that is constant; MetricInputError for
    shapes that differ or values that are not finite.

    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.8
    """
    return _correlate(*_as_series(x, y))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation of `x` and `y`, both `(n,)`, in [-1, 1]; ties share their mean rank.

    It is Pearson's correlation of the ranks, and raises the same.

    >>> spearman([1, 2, 3], [1, 10, 100])
    1.0
    """
    from scipy.stats import rankdata

    first, second = _as_series(x, y)
    return _correlate(rankdata(first), rankdata(second))


def _as_series(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both as finite `(n,)` series that vary, n at least 2."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise MetricInputError(f"x and y must both have shape (n,); got {first.shape} and {second.shape}")
    if len(first) < 2:
        raise UndefinedMetricError(f"a correlation takes at least 2 pairs; got {len(first)}")
    for name, series in (("x", first), ("y", second)):
        if not np.isfinite(series).all():
            bad = int(np.isfinite(series).argmin())
            raise MetricInputError(f"{name} has a value that is not finite, at {bad}")
        if (series == series[0]).all():
            raise UndefinedMetricError(f"{name} is constant ({series[0]:g}): nothing correlates with it")
    return first, second


def _correlate(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    x, y = x - x.mean(), y - y.mean()
    x, y = x / np.abs(x).max(), y / np.abs(y).max()  # no square can overflow
    value = x @ y / np.sqrt((x @ x) * (y @ y))
    return float(np.clip(value, -1.0, 1.0))
