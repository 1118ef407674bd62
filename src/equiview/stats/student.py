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


def resampled_test(
    differences: ArrayLike, share: float, *, influence: float = 1.0, level: float = 0.95
) -> tuple[float, float, float, float]:
    """Mean of differences over random splits into training and test, its interval, and the p value of 0.

    `differences` is `(n_splits,)`, each the mean over a test of a `share` of the items by models that were
    trained on the rest. Splits share most of what they train on, so their mean varies more than as many
    independent values: by s^2 (1 / n + share / (1 - share)). Nadeau and Bengio, "Inference for the
    Generalization Error" (Machine Learning, 2003), equation 19. Returns (mean, low, high, p).

    `influence` (ours) is how much an item moves the mean in all, beside what it does where it is tested: 2 if
    it moves it as much by what is learnt from it, as it does a score that is a learnt probability.

    Raises UndefinedStatisticError for fewer than 2 splits; StatsInputError for another shape, values that are
    not finite, a share or a level outside (0, 1).

    >>> [round(number, 3) for number in resampled_test([1.0, 2.0, 3.0], 0.1)]
    [2.0, -0.868, 4.868, 0.095]
    """
    from scipy.special import stdtr

    as_level(share)
    mean, low, high = student_interval(differences, level=level)
    numbers = as_sample(differences, "differences")
    n = len(numbers)
    wider = math.sqrt(1 + n * influence**2 * share / (1 - share))
    reach = (high - low) / 2 * wider
    spread = float(numbers.std(ddof=1)) / math.sqrt(n) * wider
    p = 2 * float(stdtr(n - 1, -abs(mean) / spread)) if spread > 0 else float(mean == 0)
    return mean, mean - reach, mean + reach, p
