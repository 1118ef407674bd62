"""Permutation tests of spreads."""

import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import column_permutations, permutation_p, swap_test


def spread(means):
    return np.ptp(means, axis=-1)


def test_ranges_of_columns_that_are_alike_reject_as_often_as_they_say():
    rng = np.random.default_rng(0)
    p = []
    for seed in range(200):
        table = (rng.uniform(size=(60, 1)) < 0.7) ^ (rng.uniform(size=(60, 12)) < 0.1)
        null = column_permutations(table.astype(float), replicates=99, seed=seed)
        p.append(permutation_p(spread(table.mean(axis=0)), spread(null)))
    assert np.mean(np.array(p) <= 0.05) < 0.09
    assert 0.4 < np.mean(p) < 0.6


def test_swaps_reject_a_spread_that_only_one_system_has():
    rng = np.random.default_rng(1)
    level = rng.uniform(size=(300, 6)) < 0.8
    uneven = rng.uniform(size=(300, 6)) < np.linspace(0.5, 1.0, 6)
    assert swap_test(level, uneven, spread, replicates=500, seed=0) == pytest.approx(1 / 501)
    assert swap_test(uneven, uneven, spread, replicates=500, seed=0) == 1
    other = rng.uniform(size=(300, 6)) < np.linspace(1.0, 0.5, 6)
    assert swap_test(uneven, other, spread, replicates=500, seed=0) > 0.05


def test_rows_that_lack_an_answer_are_left_out():
    first, second = np.ones((9, 2)), np.zeros((9, 2))
    first[0, 1] = np.nan
    assert swap_test(first, second, lambda means: means[..., 0], replicates=2000, seed=0) < 0.02
    with pytest.raises(UndefinedStatisticError, match="no row without nan"):
        swap_test([[1.0, np.nan], [1.0, 0.0]], [[1.0, 0.0], [np.nan, 1.0]], spread, seed=0)


def test_what_is_wrong_is_said():
    with pytest.raises(StatsInputError, match="one shape"):
        swap_test([[1.0, 0.0]], [[1.0]], spread, seed=0)
    with pytest.raises(StatsInputError, match="must not be nan"):
        column_permutations([[1.0, np.nan], [1.0, 1.0]], replicates=10, seed=0)
    with pytest.raises(UndefinedStatisticError, match="no draw"):
        permutation_p(1.0, [np.nan])
