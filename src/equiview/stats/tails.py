"""How rarely a draw is as large as what was observed, beyond what draws can count."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

from equiview.errors import StatsInputError
from equiview.stats._check import as_sample

COUNTED = 10
"""Draws as large from which they are counted; below, the tail is fitted."""
SHARE = 0.05
"""Of the draws, those that the tail is fitted to."""
LEAST = 50


def tail_p(observed: float, null: ArrayLike) -> float:
    """How rarely a draw of the null distribution, `(n,)`, is as large as `observed`, also where none is.

    (1 + count) / (1 + n) where at least 10 draws are as large. Else the tail of a generalized Pareto
    distribution fitted to the largest 5% of the draws (at least 50), after Knijnenburg, Wessels, Reinders and
    Shmulevich, "Fewer Permutations, More Accurate P-values" (Bioinformatics, 2009). Ours: it is fitted by
    probability-weighted moments (Hosking and Wallis, 1987), which need no search, and its shape is never
    below 0. So the tail has no end, p is never 0, and where the true tail is thinner, as a normal one is, p
    is too large rather than too small.

    Raises StatsInputError for an `observed` or a draw that is not finite.

    >>> import numpy as np
    >>> draws = -np.log(np.linspace(1, 0, 2000, endpoint=False))  # exponential: 1 in e**12 is as large as 12
    >>> bool(0.5 < tail_p(12.0, draws) / math.exp(-12) < 2), tail_p(0.0, draws)
    (True, 1.0)
    """
    draws, observed = np.sort(as_sample(null, "null")), float(observed)
    if not math.isfinite(observed):
        raise StatsInputError(f"observed is {observed}, which is not finite")
    count = len(draws) - int(np.searchsorted(draws, observed - 1e-9 * max(1.0, abs(observed))))
    n = min(len(draws) - 1, max(LEAST, round(SHARE * len(draws))))
    if count >= COUNTED or n < COUNTED or draws[-1] == draws[-n - 1]:
        return (1 + count) / (1 + len(draws))
    start = float(draws[-n - 1] + draws[-n]) / 2
    beyond = draws[-n:] - start
    mean = float(beyond.mean())
    weighted = float(((1 - (np.arange(1, n + 1) - 0.35) / n) * beyond).mean())
    shape = 2 - mean / (mean - 2 * weighted)
    if shape <= 0:
        share = math.exp(-(observed - start) / mean)
    else:
        scale = 2 * mean * weighted / (mean - 2 * weighted)
        share = (1 + shape * (observed - start) / scale) ** (-1 / shape)
    return max(n / len(draws) * share, sys.float_info.min)
