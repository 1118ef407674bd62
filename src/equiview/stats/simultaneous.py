"""Intervals that hold for all of many estimates at once, as is due to the largest of them.

Who looks at many estimates and names the largest has selected it for its error too: its own 95% interval
holds the truth less often than that, the less the more there are. Intervals that all hold at once with 95%
hold for whichever is named. They reach as many standard errors to each side as the largest deviation of all
does in 95% of bootstrap replicates (max-t; Romano and Wolf, "Exact and Approximate Stepdown Methods for
Multiple Hypothesis Testing", Journal of the American Statistical Association, 2005). Estimates of the same
queries move together, which this uses; Bonferroni's intervals do not, and are wider.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError
from equiview.stats._check import as_level

Floats = NDArray[np.float64]
SAME = 1e-12
"""Standard errors below this, in units of the value or of 1, are rounding."""
HIGHEST = 1 - 1e-9
"""The highest level: intervals of many that hardly move are not infinitely wide."""


def largest_deviations(value: ArrayLike, draws: ArrayLike) -> Floats:
    """How far the farthest of many estimates lies off in each bootstrap replicate, in its standard errors.

    `value` is `(n,)`, `draws` `(replicates, n)`; the result is `(replicates,)`. Deviations of more estimates
    with the same replicates are put together by `numpy.fmax`. An estimate without spread, or whose replicates
    are not all finite, takes no part; where none does, all are 0.

    >>> largest_deviations([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0], [1.0, 2.0], [-1.0, -2.0]]).round(2).tolist()
    [1.0, 1.0, 1.41, 1.41]
    """
    values, table = np.asarray(value, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    if table.ndim != 2 or values.shape != table.shape[1:]:
        raise StatsInputError(f"draws must be (replicates, {values.size}); got {table.shape}")
    usable = np.isfinite(table).all(axis=0) & np.isfinite(values)
    table, values = table[:, usable], values[usable]
    error = table.std(axis=0)
    moving = error > SAME * np.maximum(np.abs(values), 1.0)
    apart = np.abs(table[:, moving] - values[moving]) / error[moving]
    return np.asarray(apart.max(axis=1, initial=0.0))


def joint_level(deviations: ArrayLike, level: float = 0.95) -> float:
    """The level that each interval needs for all to hold at once with `level`; never less than `level`.

    `deviations` is `(replicates,)`, from `largest_deviations`.

    >>> joint_level(np.linspace(0, 1.5, 100))
    0.95
    >>> round(joint_level(np.linspace(0, 3.0, 100)), 4)
    0.9956
    """
    wanted = as_level(level)
    normal = NormalDist()
    reach = float(np.quantile(np.asarray(deviations, dtype=np.float64), wanted))
    return max(wanted, min(2 * normal.cdf(reach) - 1, HIGHEST))


def widened(
    value: float, low: float, high: float, level: float, n: int, of: float = 0.95
) -> tuple[float, float]:
    """The ends of an interval at `level`, from its ends at the level `of`: each side as many times as long.

    The times are those of Student's t with `n`, the number of clusters: what was picked as the largest often
    has a standard error that is too small, and the more so the fewer there are.

    >>> low, high = widened(0.5, 0.4, 0.7, 0.9956, n=100)
    >>> round(low, 3), round(high, 3)
    (0.351, 0.797)
    """
    from scipy.special import stdtrit  # slow to import

    reach = float(stdtrit(max(n - 1, 1), (1 + as_level(level)) / 2))
    times = max(1.0, reach / NormalDist().inv_cdf((1 + as_level(of)) / 2))
    return value - times * (value - low), value + times * (high - value)
