"""Consistency from shares of questions: as measured, and what it would be by itself.

T's Equation 1 takes counts; divided by the number of questions they are the shares x, y (right in one
language, in the other) and both. All functions here take arrays of any one shape, so that bootstrap
replicates of all pairs of languages are computed at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shares = NDArray[np.float64]


def consistency(both: ArrayLike, x: ArrayLike, y: ArrayLike) -> Shares:
    """(both / x + both / y) / 2; nan where x or y is 0.

    >>> consistency([0.3, 0.0], [0.4, 0.0], [0.6, 0.5]).tolist()
    [0.625, nan]
    """
    shared, first, second = (np.asarray(share, dtype=np.float64) for share in (both, x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (shared / first + shared / second) / 2
    return np.where((first > 0) & (second > 0), mean, np.nan)


def both_if_independent(x: ArrayLike, y: ArrayLike) -> Shares:
    """`both` if languages knew things independently: the floor of consistency."""
    return np.asarray(x, dtype=np.float64) * np.asarray(y, dtype=np.float64)
