"""The tail of a sum with random signs, where random draws no longer reach.

A sum of given numbers with fair random signs has the cumulant function K(t) = sum of log cosh(t d). Its tail
by the saddlepoint formula of Lugannani and Rice (1980), as Robinson used it for this very test ("Saddlepoint
Approximations for Permutation Tests and Confidence Intervals", Journal of the Royal Statistical Society B,
1982); for sums that lie on a lattice with the continuity correction of Daniels (1987). Its error is relative,
so that small p values keep their size: a few percent from 20 numbers on, a quarter where nearly all
signs of 20 numbers must be alike.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

STEPS = 200
LATTICE = 1e-9
"""Numbers that are whole multiples of a unit to within this share of the largest lie on a lattice."""


def sign_tail(sizes: NDArray[np.float64], total: float) -> float:
    """Chance that `sizes` `(n,)`, added up with random signs, are `total` or more away from 0.

    Never below the chance of all signs alike, 2 / 2**n for n sizes that are not 0.

    >>> sign_tail(np.ones(20), 20.0) == 2 / 2**20
    True
    >>> exact = 2 * sum(math.comb(40, k) for k in range(6)) / 2**40  # 35 or more of 40 alike
    >>> bool(abs(sign_tail(np.ones(40), 30.0) / exact - 1) < 0.02)
    True
    """
    numbers = np.abs(np.asarray(sizes, dtype=np.float64))
    numbers = numbers[numbers > 0]
    if not len(numbers) or total == 0:
        return 1.0
    numbers = numbers / numbers.max()
    total = abs(total) / float(np.abs(sizes).max())
    least = max(2.0 ** (1 - len(numbers)), sys.float_info.min)
    most = float(numbers.sum())
    if total >= most * (1 - 1e-12):
        return min(1.0, least)
    point = _saddlepoint(numbers, total)
    spread = math.sqrt(float((numbers**2 / np.cosh(np.minimum(point * numbers, 300)) ** 2).sum()))
    # log cosh without overflow
    cumulant = float((point * numbers + np.log1p(np.exp(-2 * point * numbers)) - math.log(2)).sum())
    w = math.sqrt(max(0.0, 2 * (point * total - cumulant)))
    span = 2 * _unit(numbers)
    u = spread * (-math.expm1(-point * span) / span if span else point)
    if w < 1e-4 or u < 1e-6:  # at the centre the formula is 0 over 0
        return 1.0
    tail = math.erfc(w / math.sqrt(2)) / 2 + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
    return min(1.0, max(2 * tail, least))


def _saddlepoint(numbers: NDArray[np.float64], total: float) -> float:
    """The t at which the mean of the tilted sum, sum of d tanh(t d), is `total`: by halving, then Newton."""
    low, high = 0.0, 1.0
    while float((numbers * np.tanh(high * numbers)).sum()) < total:
        low, high = high, 2 * high
    point = (low + high) / 2
    for _ in range(STEPS):
        tilted = np.tanh(point * numbers)
        excess = float((numbers * tilted).sum()) - total
        low, high = (point, high) if excess < 0 else (low, point)
        slope = float((numbers**2 * (1 - tilted**2)).sum())
        step = point - excess / slope if slope > 0 else math.inf
        new = step if low < step < high else (low + high) / 2
        if abs(new - point) <= 1e-13 * point:
            return new
        point = new
    return point


def _unit(numbers: NDArray[np.float64]) -> float:
    """The largest number of which all of `numbers`, at most 1, are whole multiples; 0 if there is none."""
    rest = np.unique(numbers)
    while len(rest):
        unit = float(rest[0])
        if unit < 1e-4:
            return 0.0
        over = rest % unit
        over = np.minimum(over, unit - over)
        rest = np.unique(over[over > LATTICE])
    return unit
