import numpy as np
import pytest
import scipy.stats

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import pearson_interval, spearman_interval


def correlated(n: int, rho: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x, noise = np.random.default_rng(seed).normal(size=(2, n))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


def test_pearson_agrees_with_scipy() -> None:
    x, y = correlated(16, 0.6, 0)
    ours, theirs = pearson_interval(x, y, level=0.9), scipy.stats.pearsonr(x, y)
    assert (ours.value, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.9)))
    assert ours.n == 16


def test_spearman_agrees_with_scipy() -> None:
    x, y = correlated(16, 0.6, 0)
    ours, theirs = spearman_interval(x, y, seed=0), scipy.stats.spearmanr(x, y)
    assert (ours.value, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert -1 <= ours.low < ours.value < ours.high <= 1


def test_spearman_resamples_pairs() -> None:
    x, y = correlated(12, 0.5, 3)
    rng, values = np.random.default_rng(9), []
    for drawn in rng.integers(0, 12, size=(300, 12)):
        values.append(scipy.stats.spearmanr(x[drawn], y[drawn]).statistic)
    found = spearman_interval(x, y, replicates=300, seed=9)
    np.testing.assert_allclose([found.low, found.high], np.quantile(values, [0.025, 0.975]), atol=1e-9)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(300):
        found = pearson_interval(*correlated(20, 0.5, seed))
        covered += found.low <= 0.5 <= found.high
    assert 0.92 <= covered / 300 <= 0.98


def test_a_line_has_an_interval_without_width() -> None:
    found = pearson_interval([1, 2, 3, 4], [2, 4, 6, 8])
    assert (found.low, found.value, found.high) == (1, 1, 1)


def test_draws_in_which_a_series_is_constant_are_left_out() -> None:
    found = spearman_interval([1, 1, 1, 2], [1, 2, 3, 4], seed=0)
    assert np.isfinite([found.low, found.high]).all()


def test_draws_are_seeded() -> None:
    x, y = correlated(9, 0.2, 1)
    assert spearman_interval(x, y, seed=3) == spearman_interval(x, y, seed=3)


@pytest.mark.parametrize(
    "correlate", [pearson_interval, lambda x, y, **o: spearman_interval(x, y, seed=0, **o)]
)
def test_bad_input_is_named(correlate) -> None:
    with pytest.raises(UndefinedStatisticError, match="at least 4 pairs"):
        correlate([1, 2, 3], [1, 2, 4])
    with pytest.raises(UndefinedStatisticError, match="y is constant"):
        correlate([1, 2, 3, 4], [5, 5, 5, 5])
    with pytest.raises(StatsInputError, match="both have shape"):
        correlate([1, 2, 3, 4], [1, 2, 3])
    with pytest.raises(StatsInputError, match="not finite, at 2"):
        correlate([1, 2, np.nan, 4], [1, 2, 3, 4])
    with pytest.raises(StatsInputError, match="level"):
        correlate([1, 2, 3, 4], [1, 2, 4, 3], level=95)


@pytest.mark.parametrize(
    "correlate", [pearson_interval, lambda x, y: spearman_interval(x, y, replicates=100, seed=0)]
)
def test_four_pairs_are_the_fewest(correlate) -> None:
    assert correlate([1, 2, 3, 4], [1, 3, 2, 4]).n == 4
