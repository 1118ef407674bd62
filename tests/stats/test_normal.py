import numpy as np
import pytest
import scipy.stats

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import bootstrap_means, exceeds_p, normal_interval, wald_p


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_is_that_of_scipy(level: float) -> None:
    values = np.random.default_rng(0).normal(3, 2, (50, 4))
    mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
    expected = scipy.stats.norm.interval(level, mean, scipy.stats.sem(values))
    np.testing.assert_allclose(normal_interval(mean, sd, 50, level), expected, rtol=1e-12)


def test_numbers_and_arrays_go_together() -> None:
    low, high = normal_interval(1.0, 0.0, 1)
    assert (low.shape, float(low), float(high)) == ((), 1.0, 1.0)
    low, high = normal_interval([[0.0], [1.0]], 1.0, [4, 16, 64])
    assert low.shape == high.shape == (2, 3)
    np.testing.assert_allclose((high - low)[0] / (high - low)[0, 0], [1, 1 / 2, 1 / 4])


def test_p_is_that_of_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(0.1, 1, (400, 3))
    replicates = bootstrap_means(values, replicates=4000, seed=0)
    theirs = scipy.stats.ttest_1samp(values, 0).pvalue
    np.testing.assert_allclose(wald_p(values.mean(axis=0), replicates), theirs, rtol=0.25, atol=0.01)


def test_p_by_hand() -> None:
    # standard error 1: two-sided normal tails of 1.96 and 3.2905
    replicates = np.tile(np.array([-1.0, 0.0, 1.0])[:, None], 3)
    p = wald_p([1.959964, -3.290527, 0.0], replicates)
    np.testing.assert_allclose(p, [0.05, 0.001, 1], atol=1e-7)


def test_a_column_has_the_p_it_has_alone() -> None:
    replicates = np.random.default_rng(2).normal(size=(99, 3))
    replicates[::7, 1] = np.nan
    together = wald_p([1.0, 2.0, 0.0], replicates)
    alone = [
        float(wald_p(value, column)) for value, column in zip([1.0, 2.0, 0.0], replicates.T, strict=True)
    ]
    assert together.tolist() == alone
    known = replicates[~np.isnan(replicates[:, 1]), 1]
    assert together[1] == float(wald_p(2.0, known))


def test_without_spread_replicates_are_counted() -> None:
    p = wald_p([0.0, 0.3], np.full((99, 2), 0.3))
    assert p.tolist() == [1, 2 / 100]
    assert float(wald_p(0.3, [0.3])) == 1


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    values = np.random.default_rng(3).normal(size=(60, 1000))
    p = wald_p(values.mean(axis=0), bootstrap_means(values, replicates=300, seed=0))
    assert 0.03 <= (p <= 0.05).mean() <= 0.08


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: normal_interval(0, 1, 0), UndefinedStatisticError, "n must be at least 1"),
        (lambda: normal_interval(0, -1, 4), StatsInputError, "sd must not be negative"),
        (lambda: normal_interval(np.nan, 1, 4), StatsInputError, "mean has a value that is not finite"),
        (lambda: normal_interval(0, 1, 4, level=1), StatsInputError, "level must lie"),
        (lambda: wald_p([0.1], [0.1, 0.2]), StatsInputError, "n_metrics"),
        (lambda: wald_p(0.1, 0.2), StatsInputError, "n_metrics"),
        (lambda: wald_p(0.1, []), UndefinedStatisticError, "nan, or empty"),
        (lambda: wald_p(0.1, [np.nan]), UndefinedStatisticError, "nan, or empty"),
        (lambda: wald_p(0.1, [0.1, np.inf]), StatsInputError, "finite"),
        (lambda: wald_p(np.nan, [0.1, 0.2]), StatsInputError, "finite"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_exceeding_is_tested_as_scipy_does() -> None:
    values = np.random.default_rng(4).normal(0.2, 1, 40)
    draws = bootstrap_means(values, replicates=20_000, seed=0)
    theirs = scipy.stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert exceeds_p(float(values.mean()), draws, n=40) == pytest.approx(theirs, rel=0.1)
    assert exceeds_p(-float(values.mean()), -draws, n=40) == pytest.approx(1 - theirs, rel=0.1)


def test_without_spread_what_exceeds_is_certain() -> None:
    assert [exceeds_p(value, [value] * 9, n=30) for value in (0.1, 0.0, -0.1)] == [0.0, 0.5, 1.0]
    with pytest.raises(UndefinedStatisticError, match="have no spread"):
        exceeds_p(0.1, [np.nan], n=30)
