"""Ratios of shares and of means on a log scale, on which twice as much is as far from equal as half as much.

Intervals and tests are inverted from tests of a given ratio, so that they hold where a share is 0 too: of a
share, the score test (Wilson, 1927); of two means, Fieller's ("Some Problems in Interval Estimation", Journal
of the Royal Statistical Society B, 1954).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats.proportions import wilson_interval

NORMAL = NormalDist()


@dataclass(frozen=True)
class LogRatio:
    """ln of a ratio: `value`, the ends of its 95% interval, and `p` of its lying within the margin."""

    value: float
    low: float
    high: float
    p: float


def share_ratio(share: float, of: float, n: float, margin: float) -> LogRatio:
    """Ln of an observed `share` over the expected one `of`; `p` is of its size being at most `margin`.

    `n` is how many independent draws the share is worth. A share of 0 is counted as half a draw, so that its
    ln is finite; the interval and the test need no such help, but an end of 0 is given that value as well.

    Raises StatsInputError for shares outside [0, 1] or a negative margin; UndefinedStatisticError where
    nothing is expected or `n` is not above 0.

    >>> never = share_ratio(0.0, 0.08, n=111, margin=math.log(1.1))
    >>> round(never.value, 2), round(never.high, 2), round(never.p, 3)
    (-2.88, -0.87, 0.002)
    """
    if not (0 <= share <= 1 and 0 <= of <= 1 and margin >= 0):
        raise StatsInputError(
            f"shares must lie in [0, 1] and margin be at least 0; got {share}, {of}, {margin}"
        )
    if of == 0 or not n > 0:
        raise UndefinedStatisticError(
            "a share is compared with an expected one above 0, of at least one draw"
        )
    low, high = (float(end) for end in wilson_interval(share, n))
    least = 0.5 / n

    def ln(part: float) -> float:
        return math.log(max(part, min(least, of)) / of)

    def distance(ratio: float) -> float:
        expected = min(of * ratio, 1.0)
        spread = math.sqrt(expected * (1 - expected) / n)
        return (share - expected) / spread if spread > 0 else math.copysign(math.inf, share - expected)

    return LogRatio(ln(share), ln(low), ln(high), _tails(distance, margin, above=share >= of))


def mean_ratios(
    value: NDArray[np.float64], error: NDArray[np.float64], margin: float
) -> list[LogRatio | None]:
    """Ln of each of several independent means over the mean of them all; `p` as in `share_ratio`.

    `value` and `error`, `(n,)`, are the means and their standard errors, above 0. None for a ratio that
    nothing is known of, since the mean of all may be 0.

    >>> two = mean_ratios(np.array([0.4, 0.6]), np.array([0.01, 0.01]), math.log(1.1))
    >>> [(round(entry.value, 2), round(entry.low, 2), round(entry.high, 2)) for entry in two]
    [(-0.22, -0.26, -0.19), (0.18, 0.16, 0.21)]
    """
    variance, n = error**2, len(value)
    whole, of_whole = float(value.mean()), float(variance.sum() / n**2)
    found: list[LogRatio | None] = []
    for mean, own in zip(value.tolist(), variance.tolist(), strict=True):
        shared = own / n

        def distance(ratio: float, mean: float = mean, own: float = own, shared: float = shared) -> float:
            spread = own - 2 * ratio * shared + ratio**2 * of_whole
            return (mean - ratio * whole) / math.sqrt(spread)

        z = NORMAL.inv_cdf(0.975)
        square = whole**2 - z**2 * of_whole
        middle, last = mean * whole - z**2 * shared, mean**2 - z**2 * own
        root = middle**2 - square * last
        if square <= 0 or root < 0:
            found.append(None)
            continue
        ends = ((middle + sign * math.sqrt(root)) / square for sign in (-1, 1))
        least = 0.5 * math.sqrt(own) / whole  # of a mean of 0
        low, at, high = (math.log(max(ratio, least)) for ratio in (next(ends), mean / whole, next(ends)))
        p = _tails(distance, margin, above=mean >= whole)
        found.append(LogRatio(at, min(low, at), max(high, at), p))
    return found


def _tails(distance, margin: float, *, above: bool) -> float:  # type: ignore[no-untyped-def]
    """The tails beyond both ends of the margin; at a margin of 0 that is the two-sided p value."""
    sign = 1 if above else -1
    near, far = (sign * distance(math.exp(sign * side)) for side in (margin, -margin))
    return min(1.0, NORMAL.cdf(-near) + NORMAL.cdf(-far))
