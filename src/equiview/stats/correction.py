"""Correcting p values for asking many questions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p values, `(n_tests,)`, in the order given.

    `p_values` is `(n_tests,)`. Rejecting where the adjusted value is at most alpha keeps the chance of any
    false rejection at or below alpha, whatever the tests' dependence. Holm, "A Simple Sequentially Rejective
    Multiple Test Procedure" (Scandinavian Journal of Statistics, 1979).

    Raises UndefinedStatisticError for no p value; StatsInputError for one outside [0, 1] or nan.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise StatsInputError(f"p_values must have shape (n_tests,); got {p.shape}")
    if p.size == 0:
        raise UndefinedStatisticError("p_values is empty: there is nothing to correct")
    if not ((p >= 0) & (p <= 1)).all():
        test = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise StatsInputError(f"p_values: test {test} has {p[test]}, which is not between 0 and 1")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
