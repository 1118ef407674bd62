"""Ratios on a log scale: their intervals, and tests at a margin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import mean_ratios, share_ratio

TENTH = math.log(1.1)


def test_twice_is_as_far_from_even_as_half() -> None:
    assert share_ratio(0.2, 0.1, 1e6, 0).value == pytest.approx(-share_ratio(0.05, 0.1, 1e6, 0).value)


def test_at_the_margin_p_is_a_half_and_without_one_it_is_two_sided() -> None:
    assert share_ratio(0.11, 0.1, 10_000, TENTH).p == pytest.approx(0.5, abs=1e-9)
    # z = .01 / sqrt(.1 x .9 / 3600) = 2
    assert share_ratio(0.11, 0.1, 3600, 0.0).p == pytest.approx(0.0455, abs=1e-4)


def test_a_share_of_none_has_a_finite_logarithm_and_an_end_below_even() -> None:
    never = share_ratio(0.0, 0.15, 100, TENTH)
    assert math.isfinite(never.low)
    assert never.value < never.high < -TENTH
    assert never.p < 0.001


def test_nothing_expected_has_no_ratio() -> None:
    with pytest.raises(UndefinedStatisticError, match="expected one above 0"):
        share_ratio(0.1, 0.0, 100, 0.1)
    with pytest.raises(StatsInputError, match="shares must lie"):
        share_ratio(1.5, 0.5, 100, 0.1)


def test_ratios_of_means_are_held_and_found_as_often_as_they_should() -> None:
    rng, truth = np.random.default_rng(0), np.array([0.4, 0.5, 0.6])
    expected, held, found = np.log(truth / truth.mean()), np.zeros(3), np.zeros(3)
    for _ in range(1000):
        hits = rng.random((400, 3)) < truth
        error = hits.std(axis=0) / 20
        for place, entry in enumerate(mean_ratios(hits.mean(axis=0), error, abs(expected[0]))):
            assert entry is not None
            held[place] += entry.low <= expected[place] <= entry.high
            found[place] += entry.p <= 0.05
    assert (held > 930).all()
    assert held.max() < 970
    assert found[0] < 70  # exactly at the margin: 5%
    assert found[1] == 0


def test_means_near_nothing_have_no_ratio() -> None:
    assert mean_ratios(np.array([0.001, 0.002]), np.array([0.01, 0.01]), 0.1) == [None, None]
