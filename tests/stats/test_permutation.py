"""Permutation tests of spreads."""

import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import column_permutations, permutation_p


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


def test_what_is_wrong_is_said():
    with pytest.raises(StatsInputError, match="must not be nan"):
        column_permutations([[1.0, np.nan], [1.0, 1.0]], replicates=10, seed=0)
    with pytest.raises(UndefinedStatisticError, match="no draw"):
        permutation_p(1.0, [np.nan])
