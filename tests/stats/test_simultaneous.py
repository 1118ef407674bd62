"""Intervals that hold for the largest of many."""

from __future__ import annotations

import numpy as np
import pytest

from equiview.errors import StatsInputError
from equiview.stats import bootstrap_means, joint_level, largest_deviations, widened


def test_one_estimate_needs_no_more_than_its_own_level():
    draws = np.random.default_rng(0).normal(size=(20_000, 1))
    assert joint_level(largest_deviations([0.0], draws)) == pytest.approx(0.95, abs=0.003)


def test_estimates_that_move_as_one_need_no_more():
    draws = np.random.default_rng(0).normal(size=(20_000, 1)).repeat(70, axis=1)
    assert joint_level(largest_deviations(np.zeros(70), draws)) == pytest.approx(0.95, abs=0.003)


def test_independent_estimates_need_what_sidak_says():
    draws = np.random.default_rng(0).normal(size=(20_000, 70))
    expected = 0.95 ** (1 / 70)
    assert joint_level(largest_deviations(np.zeros(70), draws)) == pytest.approx(expected, abs=0.0003)


def test_constant_or_infinite_replicates_take_no_part():
    draws = np.array([[0.0, 1.0, np.inf], [0.0, -1.0, 1.0]])
    assert largest_deviations([0.0, 0.0, 0.0], draws).tolist() == [1.0, 1.0]
    assert largest_deviations([0.0], draws[:, :1]).tolist() == [0.0, 0.0]


def test_at_the_same_level_ends_of_many_stay():
    assert widened(0.5, 0.4, 0.7, 0.95, n=1_000_000) == pytest.approx((0.4, 0.7))


def test_ends_of_few_clusters_are_students():
    low, _ = widened(0.0, -1.96, 1.96, 0.95, n=11)
    assert low == pytest.approx(-2.228, abs=1e-3)  # the table's t of .975 with 10 degrees of freedom


def test_shapes_must_fit():
    with pytest.raises(StatsInputError, match="draws must be"):
        largest_deviations([0.0, 0.0], np.zeros((3, 1)))


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_the_largest_of_seventy_is_held_in_at_least_nineteen_of_twenty(gap: float):
    rng, held, alone = np.random.default_rng(1), 0, 0
    for seed in range(200):
        values = (rng.random((300, 70)) < 0.5 + gap) * 1.0 - 0.5
        value, draws = values.mean(axis=0), bootstrap_means(values, replicates=1000, seed=seed)
        error = 1.96 * draws.std(axis=0)
        most = int(np.abs(value).argmax())
        low, high = value[most] - error[most], value[most] + error[most]
        alone += low <= gap <= high
        low, high = widened(value[most], low, high, joint_level(largest_deviations(value, draws)), 300)
        held += low <= gap <= high
    assert held >= 182  # 95% of 200, less two and a half standard errors
    assert alone < 160
