"""Intervals and tests of proportions, against published examples and scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import (
    Proportions,
    difference_interval,
    difference_p,
    paired_correlation,
    wilson_interval,
)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (1, 40), (37, 70), (999, 1000)])
def test_wilson_is_that_of_scipy(right, n):
    theirs = binomtest(right, n).proportion_ci(method="wilson")
    low, high = wilson_interval(right / n, n)
    assert (float(low), float(high)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    ("a", "m", "b", "n", "low", "high"),
    [
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (6, 7, 2, 7, 0.0582, 0.8062),
        (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 20, -0.1611, 0.2775),
        (0, 10, 0, 10, -0.2775, 0.2775),
        (10, 10, 0, 20, 0.6791, 1.0000),
        (10, 10, 0, 10, 0.6075, 1.0000),
    ],
)
def test_independent_examples_of_newcombe(a, m, b, n, low, high):
    """Newcombe (1998), Statistics in Medicine 17, 873-890, Table II, method 10."""
    ends = difference_interval(Proportions(np.asarray(a / m), np.asarray(m)), Proportions(b / n, n))
    assert [round(float(end), 4) for end in ends] == [low, high]


def test_a_paired_example():
    """From the tests of the R package contingencytables (Fagerland, Lydersen and Laake), chapter 8."""
    first = np.repeat([1, 1, 0, 0], [59, 6, 16, 80])
    second = np.repeat([1, 0, 1, 0], [59, 6, 16, 80])
    ends = difference_interval(
        Proportions.of(first), Proportions.of(second), correlation=paired_correlation(first, second)
    )
    assert [round(float(end), 4) for end in ends] == [-0.1186, -0.0046]


def test_answers_that_are_all_right_have_an_interval_of_some_width():
    right = np.ones(60)
    assert paired_correlation(right, right) == 0
    low, high = difference_interval(Proportions.of(right), Proportions.of(right))
    assert -0.07 < low < -0.05
    assert high == -low
    assert difference_p(Proportions.of(right), Proportions.of(right)) == 1


def test_p_is_the_level_at_which_the_interval_leaves_the_margin():
    first, second = Proportions.of([1] * 45 + [0] * 5), Proportions.of([1] * 20 + [0] * 20)
    p = float(difference_p(first, second, 0.2))
    low, _ = difference_interval(first, second, level=1 - 2 * p)
    assert low == pytest.approx(0.2, abs=1e-6)
    assert difference_p(second, first, 0.2) == pytest.approx(p)
    assert difference_p(first, second, 0.4) == pytest.approx(0.5, abs=1e-4)
    assert difference_p(first, second, 0.6) == pytest.approx(1, abs=0.05)


def test_p_of_no_difference_is_near_the_score_test():
    for right in ((70, 55), (30, 20), (95, 99)):
        table = [[right[0], 100 - right[0]], [right[1], 100 - right[1]]]
        theirs = chi2_contingency(table, correction=False).pvalue
        ours = difference_p(*(Proportions(np.asarray(count / 100), np.asarray(100)) for count in right))
        assert float(ours) == pytest.approx(theirs, rel=0.3)


def test_tests_of_equal_groups_reject_as_often_as_they_say():
    """Wald's reject half the time where a group of 40 to 60 is at 0 or 100%."""
    rng = np.random.default_rng(0)
    for truth in (0.5, 0.95, 0.99):
        right = rng.binomial([[40], [60]], truth, size=(2, 2000))
        p = difference_p(
            Proportions(right[0] / 40, np.full(2000, 40)), Proportions(right[1] / 60, np.full(2000, 60))
        )
        assert (p <= 0.05).mean() < 0.065


def test_paired_intervals_hold_the_truth():
    rng = np.random.default_rng(1)
    for scale in (0.3, 3.0):
        hard = rng.normal(size=(200, 400, 1)) * scale
        draws = rng.uniform(size=(200, 400, 2, 3)) < 1 / (1 + np.exp(-hard - np.array([2.0, 1.0])))[..., None]
        for shares in (draws[..., 0].astype(float), draws.mean(axis=-1)):  # right or wrong; three wordings
            truth = np.diff(shares.mean(axis=(0, 1)))[0]
            first, second = shares[..., 0], shares[..., 1]
            low, high = difference_interval(
                Proportions.of(second), Proportions.of(first), correlation=paired_correlation(first, second)
            )
            assert ((low <= truth) & (truth <= high)).mean() > 0.92


def test_what_is_wrong_is_said():
    with pytest.raises(UndefinedStatisticError, match="without any answer"):
        Proportions.of([np.nan, np.nan])
    with pytest.raises(StatsInputError, match="between 0 and 1"):
        Proportions.of([1.2])
    with pytest.raises(StatsInputError, match="margin"):
        difference_p(Proportions.of([1]), Proportions.of([1]), 1.5)
    with pytest.raises(UndefinedStatisticError, match="n must be above 0"):
        wilson_interval(0.5, 0)
    with pytest.raises(UndefinedStatisticError, match="share nothing"):
        paired_correlation([1, np.nan], [np.nan, 1])
