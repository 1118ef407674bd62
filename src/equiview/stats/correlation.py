"""Correlation with its interval and p value, for few points such as models or countries.

Pearson: Fisher's z transformation (Fisher, 1921), which supposes a bivariate normal. Spearman: percentile
bootstrap over the pairs, which supposes little, but is rough below about ten pairs: read n beside it; or an
interval of Fisher's kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_level, as_sample, whole_number
from equiview.stats.bootstrap import interval

EXACT = 8
"""Pairs up to which every order is tried."""


@dataclass(frozen=True)
class Correlation:
    """A correlation in [-1, 1], its interval, the two-sided p value of no correlation, and the pairs."""

    value: float
    low: float
    high: float
    p_value: float
    n: int


def pearson_interval(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Pearson's correlation of `x` and `y`, both `(n,)`, with the interval tanh(atanh(r) +- z / sqrt(n - 3)).

    The p value is Student's, exact for a bivariate normal. A correlation of 1 or -1 has an interval without
    width.

    Raises UndefinedStatisticError for fewer than 4 pairs or a constant series; StatsInputError for shapes
    that differ, values that are not finite or a level outside (0, 1).

    >>> result = pearson_interval([1, 2, 3, 4, 5], [1, 3, 2, 5, 4])
    >>> [round(v, 3) for v in (result.value, result.low, result.high, result.p_value)]
    [0.8, -0.28, 0.986, 0.104]
    """
    from scipy.special import stdtr  # scipy.stats has a function for all this, and takes a second to import

    first, second = _as_series(x, y)
    level = as_level(level)
    value, n = float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1)), len(first)
    if 1 - abs(value) < 1e-15:
        return Correlation(value, value, value, 0.0, n)
    p_value = 2 * float(stdtr(n - 2, -abs(value) * math.sqrt((n - 2) / (1 - value**2))))
    reach = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(n - 3)
    low, high = math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)
    return Correlation(value, low, high, p_value, n)


def spearman_interval(
    x: ArrayLike, y: ArrayLike, *, level: float = 0.95, replicates: int = 10_000, seed: int
) -> Correlation:
    """Spearman's rank correlation of `x` and `y`, both `(n,)`, with a percentile bootstrap interval.

    Pairs are drawn with replacement and ranked anew; a replicate in which a series happens to be constant has
    no correlation and is excluded. The p value is SciPy's, from Student's t.

    Raises what `pearson_interval` raises.

    >>> result = spearman_interval([1, 2, 3, 4, 5, 6], [1, 2, 4, 3, 5, 6], seed=0)
    >>> round(result.value, 3), result.low < result.value <= result.high, result.n
    (0.943, True, 6)
    """
    from scipy import stats

    first, second = _as_series(x, y)
    replicates = whole_number(replicates, "replicates", 1)
    n = len(first)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    drawn = rng.integers(0, n, size=(replicates, n))
    left = stats.rankdata(first[drawn], axis=1)
    right = stats.rankdata(second[drawn], axis=1)
    left -= left.mean(axis=1, keepdims=True)
    right -= right.mean(axis=1, keepdims=True)
    scale = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    with np.errstate(invalid="ignore"):  # 0 / 0: a constant series, excluded by interval
        low, high = interval((left * right).sum(axis=1) / scale, level)
    result = stats.spearmanr(first, second)
    return Correlation(float(result.statistic), float(low), float(high), float(result.pvalue), n)


def spearman_p(x: ArrayLike, y: ArrayLike) -> float:
    """Two-sided p value of Spearman's correlation of `x` and `y`, both `(n,)`, exact for few pairs.

    Up to `EXACT` pairs every order of `y` is tried, ties and all: p is the share that correlate as strongly.
    Beyond, it is SciPy's, from Student's t, which for few pairs can be far too small.

    Raises what `pearson_interval` raises.

    >>> round(spearman_p([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), 4)
    0.0167
    """
    from scipy import stats

    first, second = _as_series(x, y)
    if len(first) > EXACT:
        return float(stats.spearmanr(first, second).pvalue)
    left, right = (stats.rankdata(series) - (len(series) + 1) / 2 for series in (first, second))
    orders = np.array(list(permutations(range(len(right)))))
    products = np.abs(right[orders] @ left)
    return float(np.mean(products >= abs(float(right @ left)) - 1e-9))


def _as_series(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both as finite `(n,)` series that vary, n at least 4."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise StatsInputError(f"x and y must both have shape (n,); got {first.shape} and {second.shape}")
    if len(first) < 4:
        raise UndefinedStatisticError(f"a correlation's interval takes at least 4 pairs; got {len(first)}")
    for name, series in (("x", first), ("y", second)):
        as_sample(series, name)
        if (series == series[0]).all():
            raise UndefinedStatisticError(f"{name} is constant ({series[0]:g}): nothing correlates with it")
    return first, second


def spearman_fisher(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Spearman's rank correlation of `x` and `y`, both `(n,)`, with an interval that holds for few pairs.

    The interval is tanh(atanh(rho) +- z sqrt((1 + rho^2 / 2) / (n - 3))): Bonett and Wright, "Sample Size
    Requirements for Estimating Pearson, Kendall and Spearman Correlations" (Psychometrika, 2000). The p value
    is that of `spearman_p`. A correlation of 1 or -1 has an interval without width.

    Raises what `pearson_interval` raises.

    >>> result = spearman_fisher([1, 2, 3, 4, 5, 6], [1, 2, 4, 3, 5, 6])
    >>> [round(v, 3) for v in (result.value, result.low, result.high, result.p_value)]
    [0.943, 0.383, 0.996, 0.017]
    """
    from scipy import stats

    first, second = _as_series(x, y)
    value, n = float(np.clip(stats.spearmanr(first, second).statistic, -1, 1)), len(first)
    p_value = spearman_p(first, second)
    if 1 - abs(value) < 1e-15:
        return Correlation(value, value, value, p_value, n)
    reach = NormalDist().inv_cdf((1 + as_level(level)) / 2) * _spread(value, n)
    low, high = math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)
    return Correlation(value, low, high, p_value, n)


def detectable_correlation(n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The least rank correlation that a two-sided test over `n` pairs finds with this power.

    The test is Student's, whose least significant correlation is r = t / sqrt(n - 2 + t^2); the correlation
    found is spread as in `spearman_fisher`: atanh(rho) = atanh(r) + z_power s(rho).

    Raises UndefinedStatisticError where so few pairs cannot show even a perfect correlation, by an exact
    test; StatsInputError for power or alpha outside (0, 1).

    >>> round(detectable_correlation(10), 2), round(detectable_correlation(29), 2)
    (0.8, 0.51)
    """
    from scipy.special import stdtrit

    if whole_number(n, "n", 1) < 4 or 2 / math.factorial(min(n, 20)) > as_level(alpha):
        raise UndefinedStatisticError(
            f"{n} pairs cannot show a correlation at {alpha:g}, however strong it is"
        )
    t = float(stdtrit(n - 2, 1 - as_level(alpha) / 2))
    least, reach = math.atanh(t / math.sqrt(n - 2 + t**2)), NormalDist().inv_cdf(as_level(power))
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        found = math.atanh(middle) >= least + reach * _spread(middle, n)
        low, high = (low, middle) if found else (middle, high)
    return high


def _spread(value: float, n: int) -> float:
    """Standard error of the inverse hyperbolic tangent of a rank correlation."""
    return math.sqrt((1 + value**2 / 2) / (n - 3))
