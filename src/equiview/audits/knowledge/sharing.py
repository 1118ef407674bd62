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


def both_if_same(x: ArrayLike, y: ArrayLike, chance: ArrayLike) -> Shares:
    """What both would be if one language knew only facts that the other knows, and the rest were guesses.

    This is ours. With accuracy a and `chance` g, a share k = (a - g) / (1 - g) is known. The language with
    less knows k_1 of the questions, which the other knows too; k_2 - k_1 are known in the other and guessed
    in the first; the rest is guessed in both: k_1 + (k_2 - k_1) g + (1 - k_2) g^2.

    >>> both_if_same([1.0, 0.25, 0.7], [1.0, 0.25, 0.4], 0.25).round(4).tolist()
    [1.0, 0.0625, 0.325]
    """
    g = np.asarray(chance, dtype=np.float64)
    known = [np.clip((np.asarray(a, dtype=np.float64) - g) / (1 - g), 0, 1) for a in (x, y)]
    less, more = np.minimum(*known), np.maximum(*known)
    return np.asarray(less + (more - less) * g + (1 - more) * g**2)
