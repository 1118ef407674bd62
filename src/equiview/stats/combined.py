"""Intervals of sums and differences of estimates that have intervals of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable

from equiview.errors import UndefinedStatisticError

Ends = tuple[float, float, float]
"""A value, and the lower and upper end of its interval."""


def combined_interval(parts: Iterable[tuple[float, Ends]]) -> Ends:
    """A sum of estimates, each times its weight, with the interval that follows from theirs.

    `parts` are (weight, (value, low, high)); the unit is that of the values, and the ends are nan where one
    of theirs is. The estimates are taken to be independent; where they rise and fall together, the interval
    of a difference is too wide. MOVER: Zou and Donner, "Construction of Confidence Limits about Effect
    Measures: A General Approach", Statistics in Medicine (2008), equations 4 and 5.

    Raises UndefinedStatisticError where there is no part.

    The difference of 30% [20%, 42%] and 10% [5%, 18%]:

    >>> [round(end, 3) for end in combined_interval([(1, (0.3, 0.2, 0.42)), (-1, (0.1, 0.05, 0.18))])]
    [0.2, 0.072, 0.33]
    """
    scaled = [(weight * value, weight * low, weight * high) for weight, (value, low, high) in parts]
    if not scaled:
        raise UndefinedStatisticError("parts is empty: a sum of nothing has no interval")
    value = sum(part[0] for part in scaled)
    below = math.sqrt(sum((part[0] - min(part[1:])) ** 2 for part in scaled))
    above = math.sqrt(sum((max(part[1:]) - part[0]) ** 2 for part in scaled))
    return value, value - below, value + above
