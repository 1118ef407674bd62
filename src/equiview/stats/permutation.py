"""Permutation tests of how unequal columns are: a spread of many means has no test of its own.

A range over languages is above 0 even where all are alike, and no smooth function of their means. So its null
distribution is made: under the null hypothesis the columns of a row, such as the languages of one image, may
be exchanged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_columns, whole_number

Floats = NDArray[np.float64]


def column_permutations(values: ArrayLike, *, replicates: int, seed: int) -> Floats:
    """Means of the columns when values are shuffled within each row, `(replicates, n_columns)`.

    `values` is `(n_rows, n_columns)`, none of them nan. Under the null hypothesis that columns are alike, row
    by row, the observed means are one more such draw.

    Raises UndefinedStatisticError for no row; StatsInputError for nan or infinite values.

    >>> draws = column_permutations([[1.0, 0.0], [1.0, 0.0]], replicates=100, seed=0)
    >>> sorted({tuple(row) for row in draws.tolist()})
    [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    """
    table = as_columns(values, "values")
    if np.isnan(table).any():
        raise StatsInputError("values must not be nan: a row is shuffled whole")
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    draws = whole_number(replicates, "replicates", 1)
    return np.asarray([rng.permuted(table, axis=1).mean(axis=0) for _ in range(draws)])


def permutation_p(observed: float, null: ArrayLike) -> float:
    """How rarely a draw of the null distribution, `(n,)`, is as large as `observed`: (1 + count) / (1 + n).

    Draws that are nan (a coefficient of nothing) are excluded. A draw that differs by rounding counts as
    equal.

    >>> permutation_p(3.0, [1.0, 2.0, 3.0, 4.0])
    0.6
    """
    draws = np.asarray(null, dtype=np.float64)
    draws = draws[~np.isnan(draws)]
    if not draws.size:
        raise UndefinedStatisticError("null has no draw: there is nothing to compare with")
    slack = 1e-9 * max(1.0, abs(observed))
    return float((1 + np.count_nonzero(draws >= observed - slack)) / (1 + draws.size))
