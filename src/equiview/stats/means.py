"""Intervals of means that hold for few values, skewed values and rare ones; no resampling is needed.

Percentiles of bootstrap means are too narrow for few queries, and of no width where a rare value was not
drawn at all. In simulations (docs/coverage.md) two closed forms do better than percentiles and BCa:

- Values of two kinds, such as hits and misses: Wilson's interval ("Probable Inference", Journal of the
  American Statistical Association, 1927) for as many independent queries as would give the variance between
  clusters, counted as by Korn and Graubard ("Confidence Intervals for Proportions with Small Expected Number
  of Positive Counts Estimated from Survey Data", Survey Methodology, 1998).
- All others: Student's t with the skewness transformed away by a cubic that can be inverted (Hall, "On the
  Removal of Skewness by Transformation", Journal of the Royal Statistical Society B, 1992).

Below `LEAST` clusters there is no interval, nor below `LEAST_ALIKE` where all values are the same.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.stats._check import add_up, as_columns, as_level, cluster_rows, exact_sums
from equiview.stats.bootstrap import BootstrapInterval

Floats = NDArray[np.float64]
LEAST = 10
"""The fewest clusters with an interval: from here it covers skewed means in 9 of 10 samples or more."""
SAME = 1e-9
"""Values within this share of the largest are the same."""
LEAST_ALIKE = 150
"""The fewest clusters with an interval where all values are the same and are no rate: a value that 2.5% of
queries have is among so many with a chance of 97.5%."""


def mean_interval(
    values: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, least: int = LEAST
) -> BootstrapInterval:
    """Mean of each column, its interval in the unit of the values, and counts.

    `values` is `(n_queries, n_metrics)` or `(n_queries,)`, nan meaning "not asked"; `clusters`,
    `(n_queries,)` whole numbers, names queries that are not independent. The fields of the result are
    `(n_metrics,)` or `()`. `low` and `high` are nan for a column asked of fewer than `least` clusters. A
    column of one value has an interval of no width, and none below 150 clusters, unless the value is 0 or 1,
    which is a rate. The ends of values between 0 and 1 are between 0 and 1.

    Raises UndefinedStatisticError for no query or a column entirely nan; StatsInputError for infinite values,
    a level outside (0, 1) or labels that do not fit.

    Twenty hits in twenty trials say that the rate is at least 84%:

    >>> rate = mean_interval(np.ones(20))
    >>> float(rate.value), round(float(rate.low), 3), float(rate.high)
    (1.0, 0.839, 1.0)
    """
    columns = as_columns(values, "values")
    level = as_level(level)
    rows, n_clusters = cluster_rows(clusters, len(columns))
    asked = add_up(np.where(np.isnan(columns), 0.0, 1.0), rows, n_clusters)
    n, counted = asked.sum(axis=0), np.count_nonzero(asked, axis=0)
    least_value, most = np.nanmin(columns, axis=0), np.nanmax(columns, axis=0)
    # Values that are equal but for the order of their own additions are equal.
    slack = SAME * np.maximum(np.abs(least_value), np.abs(most))
    same = most - least_value <= slack
    sums, unit = exact_sums(columns, rows, n_clusters)
    # Of one value throughout the mean is that value: the rounding of exact sums may put it off the last bit.
    value = np.clip(sums.sum(axis=0) * unit / n, least_value, most)
    apart = np.where(same, 0.0, (sums * unit - value * asked) / (n / counted))
    # A row a column, in order of size: the same sums in whatever order the queries are.
    apart = np.sort(np.ascontiguousarray(apart.T), axis=1)

    low, high = _transformed_t(value, apart, counted, level)
    within = (least_value >= 0) & (most <= 1)
    low, high = np.where(within, np.maximum(low, 0), low), np.where(within, np.minimum(high, 1), high)
    rate = within & same & np.isin(most, (0, 1))
    floor = np.where(rate, 0.0, least_value)
    span = np.where(rate, 1.0, most - least_value)
    either = (columns <= least_value + slack) | (columns >= most - slack) | np.isnan(columns)
    two = either.all(axis=0) & (rate | ~same)
    share = np.divide(value - floor, span, out=np.zeros_like(value), where=two)
    below, above = _wilson(share, apart / np.where(span > 0, span, 1)[:, None], n, counted, level)
    low, high = np.where(two, floor + span * below, low), np.where(two, floor + span * above, high)
    shown = counted >= np.where(same & ~rate, max(least, LEAST_ALIKE), least)
    shape = np.shape(values)[1:]
    return BootstrapInterval(
        value=value.reshape(shape),
        low=np.where(shown, np.minimum(low, value), np.nan).reshape(shape),
        high=np.where(shown, np.maximum(high, value), np.nan).reshape(shape),
        n=n.astype(np.int64).reshape(shape),
        n_clusters=counted.astype(np.int64).reshape(shape),
    )


def _transformed_t(
    value: Floats, apart: Floats, counted: NDArray[np.int64], level: float
) -> tuple[Floats, Floats]:
    """Hall's interval from `apart`, what each cluster adds to the mean, `(n_metrics, n_clusters)`."""
    from scipy.special import stdtrit  # scipy.stats has a function for all this, and takes a second to import

    size = np.abs(apart).max(axis=1)
    scaled = apart / np.where(size > 0, size, 1.0)[:, None]
    second = (scaled**2).sum(axis=1) / counted
    third = (scaled * scaled * scaled).sum(axis=1) / counted
    skew = np.where(size > 0, third / np.where(size > 0, second, 1.0) ** 1.5, 0.0)
    freedom = np.maximum(counted - 1, 1)
    spread = size * np.sqrt(second * counted / freedom)
    reach = stdtrit(freedom, (1 + level) / 2) / np.sqrt(counted)

    def inverse(y: Floats) -> Floats:
        straight = np.abs(skew) < 1e-6
        slope = np.where(straight, 1.0, skew)
        bent = 3 / slope * (np.cbrt(1 + slope * (y - slope / (6 * counted))) - 1)
        return np.asarray(np.where(straight, y, bent))

    return value - spread * inverse(reach), value - spread * inverse(-reach)


def _wilson(
    share: Floats, apart: Floats, n: Floats, counted: NDArray[np.int64], level: float
) -> tuple[Floats, Floats]:
    """Wilson's interval of shares, for the number of independent queries that has their variance."""
    from scipy.special import stdtrit

    z = NormalDist().inv_cdf((1 + level) / 2)
    variance = (apart**2).sum(axis=1) / counted**2
    spread = share * (1 - share)
    alone = np.divide(spread, variance, out=counted.astype(np.float64), where=(spread > 0) & (variance > 0))
    # The variance between few clusters is itself uncertain; of single queries it is known from the share.
    freedom = np.maximum(counted - 1, 1)
    doubt = freedom / counted * (z / stdtrit(freedom, (1 + level) / 2)) ** 2
    alone = np.clip(np.where(counted < n, alone * doubt, alone), 1, n)
    shrink = 1 + z * z / alone
    centre = (share + z * z / (2 * alone)) / shrink
    reach = z / shrink * np.sqrt(spread / alone + z * z / (4 * alone**2))
    return np.maximum(centre - reach, 0), np.minimum(centre + reach, 1)
