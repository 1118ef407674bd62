"""The interval of a mean of few independent values, such as those of several systems."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from equiview.errors import UndefinedStatisticError
from equiview.stats._check import as_level, as_sample


def student_interval(values: ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of `values`, `(n,)`, and Student's interval of it: (mean, low, high), in their unit.

    It supposes independent values from one normal distribution.

    Raises UndefinedStatisticError for fewer than 2 values; StatsInputError for another shape, values that are
    not finite or a level outside (0, 1).

    >>> [round(number, 3) for number in student_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    from scipy.special import stdtrit

    numbers = as_sample(values, "values")
    if len(numbers) < 2:
        raise UndefinedStatisticError(f"an interval of a mean takes at least 2 values; got {len(numbers)}")
    mean = float(numbers.mean())
    quantile = float(stdtrit(len(numbers) - 1, (1 + as_level(level)) / 2))
    reach = quantile * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return mean, mean - reach, mean + reach
