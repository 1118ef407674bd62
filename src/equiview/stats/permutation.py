"""Permutation tests of how unequal columns are: a spread of many means has no test of its own.

A range over languages is above 0 even where all are alike, and no smooth function of their means. So its null
distribution is made: under the null hypothesis the columns of a row may be exchanged (languages of one
image), or the two tables a row comes from (systems answering about one image).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import as_columns, exact_sums, whole_number

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
BLOCK_BYTES = 16 * 2**20


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


def swap_test(
    first: ArrayLike, second: ArrayLike, statistic: Statistic, *, replicates: int = 10_000, seed: int
) -> float:
    """Two-sided p value of two tables having one `statistic` of their column means, by swapping rows.

    `first` and `second` are `(n_rows, n_columns)`, such as the correctness of two systems by image and
    language; rows with a nan in either are left out. `statistic` takes means `(..., n_columns)` and returns
    `(...)`: a range, a standard deviation, a Gini coefficient. If the systems are alike, each row could as
    well have come from the other; p counts how often random swaps make the statistics differ as much.

    Raises UndefinedStatisticError where no row is whole in both; StatsInputError for shapes that differ.

    >>> alike, unequal = [[1, 1], [0, 0]] * 20, [[1, 0], [1, 0]] * 20
    >>> swap_test(alike, unequal, lambda means: np.ptp(means, axis=-1), seed=0) < 0.001
    True
    """
    a, b = (as_columns(table, name) for table, name in ((first, "first"), (second, "second")))
    if a.shape != b.shape:
        raise StatsInputError(f"first and second must have one shape; got {a.shape} and {b.shape}")
    whole = ~(np.isnan(a) | np.isnan(b)).any(axis=1)
    if not whole.any():
        raise UndefinedStatisticError("first and second share no row without nan")
    a, b = a[whole], b[whole]
    draws = whole_number(replicates, "replicates", 1)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    n, width = a.shape
    sums, unit = exact_sums(np.concatenate([a - b, a, b], axis=1), np.arange(n), n)
    of_a, of_b = sums[:, width : 2 * width].sum(axis=0), sums[:, 2 * width :].sum(axis=0)
    unit_a, unit_b = unit[width : 2 * width], unit[2 * width :]

    def difference(moved: Floats) -> Floats:
        more = moved * unit[:width]
        means = [(of_a * unit_a - more) / n, (of_b * unit_b + more) / n]
        return np.abs(statistic(means[0]) - statistic(means[1]))

    observed = float(difference(np.zeros(width)))
    block = max(1, BLOCK_BYTES // (8 * n))
    null = [
        difference(
            rng.integers(0, 2, size=(min(block, draws - start), n)).astype(np.float64) @ sums[:, :width]
        )
        for start in range(0, draws, block)
    ]
    return permutation_p(observed, np.concatenate(null))
