"""Intervals and tests of proportions and their differences that hold at 0 and at 1 too.

A bootstrap of answers that are all right has no spread, and a standard error of 0 makes any difference look
certain. Wilson's interval (1927) does not vanish there, and Newcombe's of a difference is made of two of
them: "Interval estimation for the difference between independent proportions" and "Improved confidence
intervals for the difference between binomial proportions based on paired data" (both Statistics in Medicine,
1998), method 10 in each.

Answers may be shares from 0 to 1 (a mean over paraphrases), which vary less than right or wrong. They count
as so many answers that are right or wrong as give the same standard error, `effective_n` (Kish's design
effect; Korn and Graubard, 1998). Using it with Newcombe's intervals is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_level

Floats = NDArray[np.float64]
WIDEST = 40.0
"""Standard normal quantile at which the search for a p value ends: its tail is below 1e-300."""
HALVINGS = 50


@dataclass(frozen=True)
class Proportions:
    """Means of shares, each with the number of independent right-or-wrong answers that it is worth.

    `value` and `n` are `(n_columns,)`, or `()` for a single one.
    """

    value: Floats
    n: Floats

    @classmethod
    def of(cls, shares: ArrayLike) -> Proportions:
        """Of the columns of `shares`, `(n_answers,)` or `(n_answers, n_columns)` from 0 to 1, nan: not asked.

        Raises UndefinedStatisticError for a column without any; StatsInputError for values outside [0, 1].

        >>> two = Proportions.of([[1, 0.5], [1, 0.75], [0, 0.25], [0, 0.5]])
        >>> two.value.tolist(), two.n.tolist()
        ([0.5, 0.5], [4.0, 32.0])
        """
        table = np.asarray(shares, dtype=np.float64)
        if not ((table >= 0) & (table <= 1) | np.isnan(table)).all():
            raise StatsInputError("shares must lie between 0 and 1")
        asked = ~np.isnan(table)
        n = asked.sum(axis=0)
        if not np.size(n) or not np.all(n):
            raise UndefinedStatisticError("shares has a column without any answer")
        filled = np.where(asked, table, 0.0)
        mean = filled.sum(axis=0) / n
        variance = (filled**2).sum(axis=0) / n - mean**2
        return cls(np.asarray(mean), effective_n(mean, variance, n))

    def __getitem__(self, column: int | slice | list[int]) -> Proportions:
        return Proportions(np.asarray(self.value[column]), np.asarray(self.n[column]))


def effective_n(mean: ArrayLike, variance: ArrayLike, n: ArrayLike) -> Floats:
    """How many right-or-wrong answers `n` shares of that mean and variance (over n) are worth; at least `n`.

    Where shares do not vary nothing is known of how they would, and each counts once.

    >>> effective_n([0.5, 0.5, 1.0], [0.25, 0.125, 0.0], 10).tolist()
    [10.0, 20.0, 10.0]
    """
    means, variances, counts = (np.asarray(numbers, dtype=np.float64) for numbers in (mean, variance, n))
    binary = means * (1 - means)
    spread = np.where(variances > 1e-12, variances, binary)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 1e-12, counts * np.maximum(binary / spread, 1), counts))


def wilson_interval(share: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval of a proportion of `n` answers: (low, high), in the common shape of both.

    Raises UndefinedStatisticError where `n` is not above 0; StatsInputError for a share outside [0, 1] or a
    level outside (0, 1).

    >>> low, high = wilson_interval([1.0, 0.5], [10, 10])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.7225, 0.2366], [1.0, 0.7634])
    """
    shares, counts = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise StatsInputError("share must lie between 0 and 1")
    if not (counts > 0).all():
        raise UndefinedStatisticError("n must be above 0: a proportion of nothing")
    return _wilson(shares, counts, _quantile(level))


def difference_interval(
    first: Proportions, second: Proportions, level: float = 0.95, *, correlation: ArrayLike = 0.0
) -> tuple[Floats, Floats]:
    """Newcombe's interval of `first` less `second`: (low, high), in their common shape.

    `correlation` is 0 for independent answers, and `paired_correlation` for answers about the same things.

    >>> low, high = difference_interval(Proportions(0.8, 70), Proportions(0.6, 80))
    >>> round(float(low), 4), round(float(high), 4)
    (0.0524, 0.3339)
    """
    return _newcombe(first, second, np.asarray(correlation, dtype=np.float64), _quantile(level))


def difference_p(
    first: Proportions, second: Proportions, margin: float = 0.0, *, correlation: ArrayLike = 0.0
) -> Floats:
    """The p value of `first` and `second` differing by no more than `margin`, in their common shape.

    It is the smallest level at which Newcombe's interval of the difference, `difference_interval`, leaves the
    margin: the tails at both ends of the null are added, so that a margin of 0 gives the two-sided p.

    Raises StatsInputError for a margin outside [0, 1).

    >>> eighty, sixty = Proportions(0.8, 70), Proportions(0.6, 80)
    >>> [round(float(difference_p(eighty, sixty, margin)), 4) for margin in (0, 0.05, 0.2)]
    [0.0081, 0.0237, 0.5]
    """
    if not 0 <= margin < 1:
        raise StatsInputError(f"margin must be at least 0 and below 1; got {margin}")
    rho = np.asarray(correlation, dtype=np.float64)
    worse = first.value < second.value
    better, other = _chosen(worse, second, first), _chosen(worse, first, second)
    tails = [_tail(_distance(better, other, rho, end)) for end in (margin, -margin)]
    return np.asarray(np.minimum(tails[0] + tails[1], 1.0))


def paired_correlation(first: ArrayLike, second: ArrayLike) -> Floats:
    """The correlation of shares about the same things, for `difference_interval`; 0 where one does not vary.

    `first` and `second` are `(n,)` or `(n, n_columns)`, nan where not asked in either. A positive one is
    lessened by 1 / (2n) of covariance, as Newcombe does, without which answers that all agree would have an
    interval of no width.

    >>> first, second = [1] * 40 + [1] * 5 + [0] * 2 + [0] * 3, [1] * 40 + [0] * 5 + [1] * 2 + [0] * 3
    >>> round(float(paired_correlation(first, second)), 4)
    0.3091
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    both = ~(np.isnan(a) | np.isnan(b))
    n = both.sum(axis=0)
    if not np.all(n):
        raise UndefinedStatisticError("first and second share nothing that was asked")
    centred = [np.where(both, table - np.where(both, table, 0).sum(axis=0) / n, 0) for table in (a, b)]
    covariance = (centred[0] * centred[1]).sum(axis=0) / n
    lessened = np.where(covariance > 0, np.maximum(covariance - 1 / (2 * n), 0), covariance)
    scale = np.sqrt((centred[0] ** 2).sum(axis=0) * (centred[1] ** 2).sum(axis=0)) / n
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(scale > 1e-12, np.clip(lessened / scale, -1, 1), 0.0))


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + as_level(level)) / 2)


def _wilson(share: Floats, n: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    square = np.square(z) / n
    centre = (share + square / 2) / (1 + square)
    reach = np.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    # At 0 and 1 an end is the value itself, which rounding must not pass.
    low, high = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
    return np.minimum(low, share), np.maximum(high, share)


def _newcombe(
    first: Proportions, second: Proportions, rho: Floats, z: Floats | float
) -> tuple[Floats, Floats]:
    (low_a, high_a), (low_b, high_b) = (_wilson(side.value, side.n, z) for side in (first, second))
    below_a, above_a = first.value - low_a, high_a - first.value
    below_b, above_b = second.value - low_b, high_b - second.value
    difference = first.value - second.value
    down = np.sqrt(np.maximum(below_a**2 + above_b**2 - 2 * rho * below_a * above_b, 0))
    up = np.sqrt(np.maximum(above_a**2 + below_b**2 - 2 * rho * above_a * below_b, 0))
    return np.asarray(difference - down), np.asarray(difference + up)


def _chosen(choice: NDArray[np.bool_], yes: Proportions, no: Proportions) -> Proportions:
    return Proportions(np.where(choice, yes.value, no.value), np.where(choice, yes.n, no.n))


def _distance(better: Proportions, other: Proportions, rho: Floats, end: float) -> Floats:
    """The standard normal quantile at which the interval of the difference reaches `end`, found by halving.

    `better` is not less than `other`; the quantile is below 0 where the difference is below `end`.
    """
    beyond = better.value - other.value >= end
    shape = np.broadcast(beyond, rho).shape
    low, high = np.zeros(shape), np.full(shape, WIDEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        lower_end, upper_end = _newcombe(better, other, rho, middle)
        reached = np.where(beyond, lower_end <= end, upper_end >= end)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(np.where(beyond, low, -low))


def _tail(z: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))
