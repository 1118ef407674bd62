"""Tests of whether columns are equally unequal."""

import math

import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import spread_test, tail_p


def width(means):
    return np.ptp(means, axis=-1)


def deviation(means):
    return np.std(means, axis=-1)


def answers(rng, rates, images=300):
    """Right answers at these rates by language; some images are harder than others in all languages."""
    hard = rng.normal(size=(images, 1)) / 10
    return (rng.random((images, len(rates))) < np.asarray(rates) + hard).astype(float)


@pytest.mark.parametrize("spread", [width, deviation])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.ones(12), np.full(12, 0.86)),
        (np.full(12, 0.9), np.full(12, 0.5)),
        (np.linspace(0.75, 0.95, 8), np.linspace(0.4, 0.6, 8)),
    ],
    ids=["perfect and less, both even", "good and middling, both even", "equally uneven at two levels"],
)
def test_equal_spreads_of_other_levels_are_seldom_told_apart(spread, first, second):
    rng = np.random.default_rng(2)
    pairs = ((answers(rng, first), answers(rng, second)) for _ in range(60))
    told = [spread_test(a, b, spread, replicates=300, seed=0) <= 0.05 for a, b in pairs]
    assert sum(told) <= 8  # at 5% more than 8 of 60 come up once in 300


def test_a_spread_that_only_one_system_has_is_found_among_many_pairs():
    rng = np.random.default_rng(1)
    even, uneven = answers(rng, np.full(6, 0.8)), answers(rng, np.linspace(0.5, 1.0, 6))
    assert spread_test(even, uneven, width, replicates=500, seed=0) * 66 < 0.005
    assert spread_test(uneven, uneven, width, replicates=500, seed=0) == 1
    assert spread_test(uneven, answers(rng, np.linspace(1.0, 0.5, 6)), width, seed=0) > 0.05


@pytest.mark.parametrize("spread", [width, deviation])
@pytest.mark.parametrize("even", [np.ones((300, 6)), np.tile([[0.0], [1.0]], (150, 6))])
def test_columns_that_are_all_equal_are_told_from_uneven_ones(spread, even):
    uneven = answers(np.random.default_rng(0), np.linspace(0.2, 1.0, 6))
    assert spread_test(even, uneven, spread, replicates=300, seed=0) < 0.001
    assert spread_test(uneven, even, spread, replicates=300, seed=0) < 0.001
    assert spread_test(even, even, spread, replicates=300, seed=0) == 1


def test_rows_that_lack_an_answer_are_left_out():
    rng = np.random.default_rng(3)
    first, second = answers(rng, [0.5, 0.5], 60), answers(rng, [0.2, 0.8], 60)
    p = spread_test(first, second, width, seed=0)
    more = np.array([[np.nan, 1.0]])
    assert spread_test(np.vstack([first, more]), np.vstack([second, [[0.0, 1.0]]]), width, seed=0) == p
    with pytest.raises(UndefinedStatisticError, match="no row without nan"):
        spread_test([[1.0, np.nan], [1.0, 0.0]], [[1.0, 0.0], [np.nan, 1.0]], width, seed=0)
    with pytest.raises(StatsInputError, match="one shape"):
        spread_test([[1.0, 0.0]], [[1.0]], width, seed=0)


def test_a_fitted_tail_is_near_the_true_one_and_never_below_it_by_much():
    draws = np.abs(np.random.default_rng(4).normal(size=4000))
    for at in (3.5, 4.0, 5.0):
        assert 0.5 < tail_p(at, draws) / math.erfc(at / math.sqrt(2)) < 200
    assert tail_p(1.0, draws) == pytest.approx(math.erfc(1 / math.sqrt(2)), rel=0.1)
    assert tail_p(50.0, draws) > 0
    with pytest.raises(StatsInputError, match="not finite"):
        tail_p(math.nan, draws)
