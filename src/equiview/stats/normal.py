"""Intervals and p values of means that are near normal, as means of many values are."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_level


def normal_interval(
    mean: ArrayLike, sd: ArrayLike, n: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Interval mean +- z sd / sqrt(n) of a mean of `n` independent values: (low, high), in their unit.

    `mean`, `sd` (the standard deviation of the values) and `n` are numbers or arrays that broadcast; the
    ends have their common shape. It is right for large `n`, and needs only sums: no value has to be kept.

    Raises UndefinedStatisticError where `n` is below 1; StatsInputError for a negative `sd`, numbers that are
    not finite or a level outside (0, 1).

    >>> low, high = normal_interval([0.5, 2.0], [0.1, 0.0], [100, 7])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4804, 2.0], [0.5196, 2.0])
    """
    means, sds, counts = (np.asarray(numbers, dtype=np.float64) for numbers in (mean, sd, n))
    for name, numbers in (("mean", means), ("sd", sds), ("n", counts)):
        if not np.isfinite(numbers).all():
            raise StatsInputError(f"{name} has a value that is not finite")
    if (sds < 0).any():
        raise StatsInputError(f"sd must not be negative; got {sds.min():g}")
    if (counts < 1).any():
        raise UndefinedStatisticError(f"n must be at least 1; got {counts.min():g}: a mean over nothing")
    reach = NormalDist().inv_cdf((1 + as_level(level)) / 2) * sds / np.sqrt(counts)
    return np.asarray(means - reach), np.asarray(means + reach)


def exceeds_p(value: float, replicates: ArrayLike, n: int) -> float:
    """One-sided p value of `value` being 0 or less: Student's t with its bootstrap standard error.

    `replicates` is `(n_replicates,)`, from samples of `n` clusters; those that are nan, having nothing to
    average, are excluded. An effect is shown to be beyond a tolerance where this p of the effect less the
    tolerance is small. Without any spread p is 0.5 for a value of 0, and 0 or 1 for others.

    Raises UndefinedStatisticError for no replicate, or n below 2.

    >>> [round(exceeds_p(value, [-1.0, 0.0, 1.0], n=30), 4) for value in (0.0, 1.699, -1.699)]
    [0.5, 0.05, 0.95]
    """
    from scipy.special import stdtr  # slow to import

    draws = np.asarray(replicates, dtype=np.float64)
    known = draws[~np.isnan(draws)]
    if not len(known) or n < 2:
        raise UndefinedStatisticError(f"{len(known)} replicates of {n} clusters have no spread")
    error = 0.0 if known.min() == known.max() else float(known.std(ddof=1))
    if not error:
        return 0.5 * (1.0 - float(np.sign(value)))
    return float(stdtr(n - 1, -value / error))


def beyond_p(value: float, replicates: ArrayLike, margin: float, n: int) -> float:
    """The p value of `value`'s size being at most `margin`, on either side; see `exceeds_p`.

    The tails at both ends of the null are added, so that a margin of 0 gives the two-sided p.

    >>> round(beyond_p(3.0, [-1.0, 0.0, 1.0], margin=1.0, n=30), 4)
    0.0277
    """
    draws, sign = np.asarray(replicates, dtype=np.float64), -1.0 if value < 0 else 1.0
    tails = (exceeds_p(sign * value - end, sign * draws - end, n) for end in (margin, -margin))
    return min(1.0, sum(tails))


def wald_p(value: ArrayLike, replicates: ArrayLike) -> NDArray[np.float64]:
    """Two-sided p value of each column's `value` being 0, from its bootstrap standard error (Wald, 1943).

    `value` is `(n_metrics,)` and `replicates` `(n_replicates, n_metrics)`, or `()` and `(n_replicates,)` for
    a p of shape `()`. Value and replicates should be near normal, as differences of means are. Replicates
    that are nan, having nothing to average, are excluded.

    Counting replicates beyond 0 cannot tell less than one in as many as there are, which Holm's correction
    of hundreds of tests would never let pass. Without any spread it is counted all the same: p is 1 for a
    value of 0, else 2 / (1 + number of replicates).

    Raises UndefinedStatisticError for no replicate or a column that is nan in all; StatsInputError for shapes
    that do not fit or values that are not finite.

    >>> wald_p([0.2, 0.0], [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]]).round(4).tolist()
    [0.0455, 1.0]
    """
    values, draws = np.asarray(value, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    if draws.ndim not in (1, 2) or values.shape != draws.shape[1:]:
        raise StatsInputError(
            f"value must be (n_metrics,) and replicates (n_replicates, n_metrics); "
            f"got {values.shape} and {draws.shape}"
        )
    if not np.isfinite(values).all() or np.isinf(draws).any():
        raise StatsInputError("value and replicates must be finite, but for replicates that are nan")
    columns = draws.reshape(len(draws), values.size).T
    return np.array(
        [_wald_p(number, column) for number, column in zip(values.ravel().tolist(), columns, strict=True)]
    ).reshape(values.shape)


def _wald_p(value: float, replicates: NDArray[np.float64]) -> float:
    known = replicates[~np.isnan(replicates)]
    if not len(known):
        raise UndefinedStatisticError("replicates has a column that is nan, or empty: it has no spread")
    if known.min() == known.max():  # their standard deviation may be off 0 in the last bit
        return 1.0 if value == 0 else min(1.0, 2 / (1 + len(known)))
    return math.erfc(abs(value) / float(known.std(ddof=1)) / math.sqrt(2))
