"""An interval for a number that adds up squared differences, such as a KL divergence between few groups.

Such a number is never below 0, and estimates of it are too large on average: what groups differ by in the
sample counts whether or not they differ. So percentiles of resampled numbers miss small truths, always on
one side. Near 0 it is about a multiple of a chi-squared number whose noncentrality is the truth (Johnson,
Kotz and Balakrishnan, "Continuous Univariate Distributions" 2, 1995, chapter 29): how much resampling adds,
and how far it spreads, say which multiple and of how many degrees of freedom (Satterthwaite, "An Approximate
Distribution of Estimates of Variance Components", Biometrics, 1946), and the interval holds every truth that
makes the estimate not unlikely. To use both together is ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_level

SAME = 1e-9
"""Draws within this share of the largest are the same."""
BY_LUCK = 0.1
"""Share of what is added on average where nothing differs: less is taken for this much."""


def squares_interval(
    value: float, draws: ArrayLike, freedom: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Interval (low, high) of a sum of squared differences, such as `metrics.demographic_divergence`.

    `value` is its estimate, 0 or more, and `draws`, `(replicates,)`, that of resampled queries; nan draws,
    having nothing to compare, are excluded. `freedom` is the number of differences that are free: one less
    than there are groups. Without any spread both ends are the value.

    Raises UndefinedStatisticError for draws that are all nan; StatsInputError for a value below 0, freedom
    below 1 or a level outside (0, 1).

    Two groups of 100 of which 60 and 50 are right differ by .004, which may be nothing:

    >>> from equiview.metrics import demographic_divergence
    >>> rates = np.random.default_rng(0).binomial(100, [0.6, 0.5], size=(2000, 2)) / 100
    >>> value = demographic_divergence([0.6, 0.5])
    >>> low, high = squares_interval(value, [demographic_divergence(two) for two in rates], freedom=1)
    >>> round(value, 4), round(low, 4), round(high, 4)
    (0.0041, 0.0, 0.0241)
    """
    from scipy.special import chndtr, chndtrinc  # slow to import

    drawn = np.asarray(draws, dtype=np.float64)
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        raise UndefinedStatisticError("draws are all nan: there is no spread")
    if not value >= 0 or freedom < 1:
        raise StatsInputError(f"value must be 0 or more and freedom 1 or more; got {value} and {freedom}")
    tail = (1 - as_level(level)) / 2
    added, spread = float(known.mean()) - value, float(known.var())
    if np.ptp(known) <= SAME * known.max() or added <= 0:
        low, high = np.quantile(known, [tail, 1 - tail]).tolist()
        return min(low, value), max(high, value)
    # Mean and variance of unit x chi-squared(free, value / unit) are value + added and spread.
    free = min(added * 2 * (added + 2 * value) / spread, float(freedom))
    unit = added / free
    size = value / unit
    low = float(chndtrinc(size, free, 1 - tail)) if chndtr(size, free, 0) > 1 - tail else 0.0
    # An estimate of about 0 is so by luck, and must not exclude all that differs.
    high = float(chndtrinc(max(size, BY_LUCK * free), free, tail))
    return min(unit * low, value), max(unit * high, value)
