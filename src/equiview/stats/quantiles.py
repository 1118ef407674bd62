"""Intervals of quantiles and of a maximum, where resampling the statistic itself does badly.

A quantile: Woodruff, "Confidence Intervals for Medians and Other Position Measures" (Journal of the American
Statistical Association, 1952): the share of values up to the quantile is a mean and has an interval; the
quantiles at the ends of that interval are the ends. A maximum: its bootstrap distribution has a closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError
from equiview.stats._check import as_level, as_sample
from equiview.stats.means import mean_interval


@dataclass(frozen=True)
class QuantileInterval:
    """Quantiles with their intervals, each array `(n_quantiles,)`; `n` is the number of values behind all."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int


def quantile_interval(
    values: ArrayLike,
    quantiles: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> QuantileInterval:
    """Quantiles of `values` with Woodruff's intervals (1952), in the unit of the values.

    `values` is `(n,)`, `quantiles` `(n_quantiles,)` from 0 to 1; the fields of the result are
    `(n_quantiles,)`. `clusters`, `(n,)` whole numbers, names values that are drawn together, such as those of
    one image. The share of values up to each quantile has an interval (`mean_interval`); the quantiles at its
    ends, rounded outwards to values of the sample, are the ends. Quantiles are interpolated linearly, as
    NumPy's default. The ends are nan where there are too few clusters for an interval, or so few that the
    whole sample lies on one side of the quantile with a chance of more than (1 - level) / 2.

    Raises UndefinedStatisticError for no value; StatsInputError for a value that is not finite, a quantile
    outside [0, 1], a level outside (0, 1) or labels that do not fit.

    >>> result = quantile_interval(range(101), [0.5, 0.9])
    >>> result.value.tolist(), result.low.tolist(), result.high.tolist(), result.n
    ([50.0, 90.0], [40.0, 82.0], [61.0, 95.0], 101)
    """
    sample = as_sample(values, "values")
    shares = np.asarray(quantiles, dtype=np.float64)
    if shares.ndim != 1 or not shares.size:
        raise StatsInputError(
            f"quantiles must have shape (n_quantiles,) and not be empty; got {shares.shape}"
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        raise StatsInputError(f"quantiles must lie between 0 and 1; got {shares.tolist()}")
    cuts = np.quantile(sample, shares)
    up_to = mean_interval((sample[:, None] <= cuts).astype(np.float64), clusters=clusters, level=level)
    tail = (1 - as_level(level)) / 2
    beyond = np.maximum(shares, 1 - shares) ** up_to.n_clusters > tail
    known = ~(beyond | np.isnan(up_to.low))
    low, high = np.full(len(shares), np.nan), np.full(len(shares), np.nan)
    low[known] = np.minimum(np.quantile(sample, up_to.low[known], method="lower"), cuts[known])
    high[known] = np.maximum(np.quantile(sample, up_to.high[known], method="higher"), cuts[known])
    return QuantileInterval(cuts, low, high, len(sample))


def maximum_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of the largest of `values`, `(n,)`: (low, high), without any resampling.

    The largest of n draws from n sorted values is at most the k-th with chance (k / n)^n (Efron and
    Tibshirani, "An Introduction to the Bootstrap", 1993, section 7.4), so the lower end is the first k for
    which that reaches (1 - level) / 2. The upper end is the maximum itself, which at least 1 - 1/e of all
    replicates hold. No bootstrap can go beyond it: read the interval as a bound from below.

    Raises UndefinedStatisticError for no value; StatsInputError for a value that is not finite or a level
    outside (0, 1).

    >>> maximum_interval(range(1, 101))
    (97.0, 100.0)
    """
    ordered = np.sort(as_sample(values, "values"))
    n, tail = len(ordered), (1 - as_level(level)) / 2
    rank = max(1, math.ceil(n * tail ** (1 / n)))
    return float(ordered[rank - 1]), float(ordered[-1])
