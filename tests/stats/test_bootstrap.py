import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import bootstrap, bootstrap_interval, bootstrap_means, interval

tables = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(-100, 100, width=32)
)


def with_gaps(seed: int = 0, n: int = 60, columns: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, columns))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[:, 0] = np.nan_to_num(values[:, 0])
    return values


def slow_means(values: np.ndarray, labels: np.ndarray, replicates: int, seed: int) -> np.ndarray:
    """Lay out the queries that each replicate drew, copy by copy, and average what they hold."""
    same = (labels[:, None] == np.unique(labels)).astype(float)  # (n_queries, n_clusters)
    shares = bootstrap_means(same, clusters=labels, replicates=replicates, seed=seed)
    means = []
    for share in shares:  # of cluster c: how often drawn x size over all that was drawn
        drawn = share / same.sum(axis=0)
        drawn = np.rint(drawn / drawn.sum() * same.shape[1]).astype(int)
        sample = np.repeat(values, drawn[same.argmax(axis=1)], axis=0)
        means.append([np.mean(column[~np.isnan(column)]) for column in sample.T])
    return np.array(means)


def test_replicates_are_means_of_drawn_queries() -> None:
    values = with_gaps()
    expected = slow_means(values, np.arange(60), 50, seed=3)
    np.testing.assert_allclose(bootstrap_means(values, replicates=50, seed=3), expected, atol=1e-10)


def test_replicates_are_means_of_drawn_clusters() -> None:
    values, labels = with_gaps(), np.arange(60) % 17 * 10 - 40
    expected = slow_means(values, labels, 50, seed=3)
    found = bootstrap_means(values, clusters=labels, replicates=50, seed=3)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("n", [3, 60])
def test_the_draws_are_multinomial(n: int) -> None:
    counts = n * bootstrap_means(np.eye(n), replicates=20_000, seed=0)
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), n)
    found = np.bincount(np.rint(counts[:, 0]).astype(int), minlength=n + 1)[:4]
    expected = 20_000 * scipy.stats.binom.pmf(np.arange(4), n, 1 / n)
    assert (np.abs(found - expected) < 5 * np.sqrt(expected)).all()
    pair = np.cov(counts[:, 0], counts[:, 1])
    np.testing.assert_allclose(pair, [[1 - 1 / n, -1 / n], [-1 / n, 1 - 1 / n]], atol=0.06)


@pytest.mark.parametrize("block_bytes", [1, 10_000, 10**9])
def test_the_same_bytes_whatever_the_block(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    values = with_gaps(n=200, columns=9)
    expected = bootstrap_means(values, replicates=300, seed=1).tobytes()
    monkeypatch.setattr(bootstrap, "BLOCK_BYTES", block_bytes)
    assert bootstrap_means(values, replicates=300, seed=1).tobytes() == expected


def test_the_same_bytes_whatever_stands_beside_a_column() -> None:
    values = with_gaps(n=200, columns=9)
    together = bootstrap_means(values, replicates=300, seed=1)
    for column in range(9):
        alone = bootstrap_means(values[:, column], replicates=300, seed=1)
        assert alone.shape == (300,)
        assert alone.tobytes() == together[:, column].tobytes()


def test_the_same_bytes_whatever_the_order_within_clusters() -> None:
    values, labels = with_gaps(), np.arange(60) % 7
    order = np.random.default_rng(0).permutation(60)
    expected = bootstrap_means(values, clusters=labels, replicates=99, seed=1).tobytes()
    assert bootstrap_means(values[order], clusters=labels[order], replicates=99, seed=1).tobytes() == expected


def test_fewer_replicates_are_the_first_of_more() -> None:
    values = with_gaps()
    few, many = (bootstrap_means(values, replicates=r, seed=1) for r in (10, 500))
    np.testing.assert_array_equal(few, many[:10])
    assert (bootstrap_means(values, replicates=10, seed=2) != few).any()


@given(tables)
def test_replicates_lie_between_the_extremes(values: np.ndarray) -> None:
    means = bootstrap_means(values, replicates=20, seed=0)
    assert (means >= values.min(axis=0) - 1e-9).all()
    assert (means <= values.max(axis=0) + 1e-9).all()


@given(tables, st.floats(0.01, 50), st.floats(-10, 10))
def test_units_carry_over(values: np.ndarray, scale: float, shift: float) -> None:
    expected = bootstrap_means(values, replicates=20, seed=0) * scale + shift
    found = bootstrap_means(values * scale + shift, replicates=20, seed=0)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_repeating_every_query_in_its_cluster_changes_nothing() -> None:
    values = with_gaps()
    expected = bootstrap_means(values, replicates=99, seed=1)
    found = bootstrap_means(
        np.repeat(values, 4, axis=0), clusters=np.repeat(np.arange(60), 4), replicates=99, seed=1
    )
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_more_clusters_than_two_bytes_can_name() -> None:
    values = np.random.default_rng(0).random(70_000)
    spread = bootstrap_means(values, replicates=60, seed=0).std()
    assert spread == pytest.approx(values.std() / np.sqrt(70_000), rel=0.4)


def test_values_of_any_size() -> None:
    for scale in (1e-250, 1e-9, 1e9, 1e250):
        means = bootstrap_means(np.array([1.0, 2, 3]) * scale, replicates=50, seed=0)
        np.testing.assert_allclose(means, bootstrap_means([1.0, 2, 3], replicates=50, seed=0) * scale)
    assert bootstrap_means(np.zeros(5), replicates=3, seed=0).tolist() == [0] * 3


def test_a_replicate_without_a_query_asked_is_nan_and_left_out() -> None:
    values = np.array([3.0, np.nan, np.nan, np.nan])
    means = bootstrap_means(values, replicates=400, seed=0)
    missing = np.isnan(means).mean()
    assert missing == pytest.approx(0.75**4, abs=0.07)
    low, high = interval(means)
    assert (float(low), float(high)) == (3, 3)


def test_the_spread_is_that_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(size=(400, 3)) * [1, 5, 0.1]
    spread = bootstrap_means(values, seed=0).std(axis=0)
    np.testing.assert_allclose(spread, values.std(axis=0) / 20, rtol=0.03)


def test_the_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(1).exponential(size=300)
    ours = bootstrap_interval(values, seed=0)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    spread = values.std() / np.sqrt(300)
    assert float(ours.low) == pytest.approx(theirs.low, abs=0.1 * spread)
    assert float(ours.high) == pytest.approx(theirs.high, abs=0.1 * spread)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(7)
    samples = rng.normal(size=(80, 400))  # 400 studies of 80 queries, truth 0
    found = bootstrap_interval(samples, replicates=2000, seed=0)
    covered = np.mean((found.low <= 0) & (found.high >= 0))
    assert 0.91 <= covered <= 0.98


def test_clusters_widen_the_interval_that_ignores_them() -> None:
    rng = np.random.default_rng(2)
    images = np.repeat(np.arange(50), 10)
    values = rng.normal(size=50)[images] + 0.1 * rng.normal(size=500)
    apart = bootstrap_interval(values, replicates=2000, seed=0)
    together = bootstrap_interval(values, clusters=images, replicates=2000, seed=0)
    assert together.high - together.low > 2 * (apart.high - apart.low)
    assert float(apart.value) == float(together.value)
    assert (int(apart.n), int(apart.n_clusters)) == (500, 500)
    assert (int(together.n), int(together.n_clusters)) == (500, 50)


def test_counts_are_per_column() -> None:
    values = np.array([[1.0, np.nan], [2, 4], [3, np.nan], [4, 8]])
    found = bootstrap_interval(values, clusters=[0, 0, 1, 1], replicates=50, seed=0)
    assert found.value.tolist() == [2.5, 6]
    assert found.n.tolist() == [4, 2]
    assert found.n_clusters.tolist() == [2, 2]
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


def test_a_ratio_of_means_from_the_replicates() -> None:
    wins = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    semantic, cultural, _ = bootstrap_means(wins, seed=0).T
    low, high = interval(cultural / semantic)
    # the delta method on the log of the ratio: sqrt(1/60 + 1/30)
    reach = 1.96 * np.sqrt(1 / 60 + 1 / 30)
    assert np.log(low) == pytest.approx(np.log(0.5) - reach, abs=0.05)
    assert np.log(high) == pytest.approx(np.log(0.5) + reach, abs=0.05)


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-9, 9)), st.floats(0.05, 0.99))
def test_the_ends_are_numpys_quantiles(replicates: np.ndarray, level: float) -> None:
    low, high = interval(replicates, level)
    expected = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    np.testing.assert_allclose([low, high], expected, atol=1e-9)
    gaps = np.concatenate([replicates, [np.nan] * 5])
    np.testing.assert_array_equal(interval(gaps, level), [low, high])


def test_the_ends_of_many_replicates_are_numpys_quantiles_where_a_sample_of_them_misleads_too() -> None:
    rng, many = np.random.default_rng(0), 8000
    replicates = np.stack(
        [
            rng.normal(size=many),
            np.where(np.arange(many) % bootstrap.STRIDE == 0, -9.0, rng.normal(size=many)),
            np.where(np.arange(many) % bootstrap.STRIDE == 0, 9.0, rng.normal(size=many)),
            rng.integers(0, 3, many),
            np.arange(many),
            np.where(rng.random(many) < 0.1, np.inf, 1.0),
        ]
    )
    low, high = interval(replicates.T)
    np.testing.assert_allclose(low, np.quantile(replicates, 0.025, axis=1))
    np.testing.assert_array_equal(high[:-1], np.quantile(replicates[:-1], 0.975, axis=1))
    assert high[-1] == np.inf


def test_infinite_replicates_take_part() -> None:
    replicates = np.array([0.0, 1, 2, np.inf, np.inf])
    low, high = interval(replicates, 0.5)
    assert (float(low), float(high)) == (1, np.inf)
    assert float(interval([0, 1, 2, 3, np.inf], 0.5)[1]) == 3
    assert float(interval([0, 1, 2, 3, np.inf], 0.6)[1]) == np.inf  # between 3 and infinity
    assert float(interval([-np.inf, 1, 2, 3], 0.6)[0]) == -np.inf


def test_the_shape_follows_the_columns() -> None:
    assert bootstrap_means(np.zeros((3, 2)), replicates=5, seed=0).shape == (5, 2)
    assert bootstrap_means(np.zeros((3, 1)), replicates=5, seed=0).shape == (5, 1)
    assert bootstrap_interval(np.zeros((3, 1)), replicates=5, seed=0).low.shape == (1,)
    assert bootstrap_interval(np.zeros(3), replicates=5, seed=0).low.shape == ()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: bootstrap_means(np.zeros((0, 2)), seed=0), UndefinedStatisticError, "no rows"),
        (lambda: bootstrap_means(np.zeros(0), seed=0), UndefinedStatisticError, "no rows"),
        (lambda: bootstrap_means(np.zeros((2, 0)), seed=0), UndefinedStatisticError, "no columns"),
        (
            lambda: bootstrap_means([[1, np.nan]] * 2, seed=0),
            UndefinedStatisticError,
            "column 1 is nan",
        ),
        (lambda: bootstrap_means([1, np.inf], seed=0), StatsInputError, "row 1, column 0 is infinite"),
        (lambda: bootstrap_means([1e308] * 9, seed=0), StatsInputError, "too large"),
        (lambda: bootstrap_means(np.zeros((2, 2, 2)), seed=0), StatsInputError, "must be"),
        (lambda: bootstrap_means(1.0, seed=0), StatsInputError, "must be"),
        (lambda: bootstrap_means([1, 2], clusters=[1], seed=0), StatsInputError, "one label for each of 2"),
        (lambda: bootstrap_means([1, 2], clusters=["a", "b"], seed=0), StatsInputError, "whole numbers"),
        (lambda: bootstrap_means([1, 2], replicates=0, seed=0), StatsInputError, "at least 1"),
        (lambda: bootstrap_means([1, 2], seed=-1), StatsInputError, "seed"),
        (lambda: bootstrap_means([1, 2], seed=0.5), StatsInputError, "seed must be a whole number"),
        (lambda: interval([1, 2], level=95), StatsInputError, "level"),
        (lambda: interval([]), StatsInputError, "not empty"),
        (lambda: interval([np.nan, np.nan]), UndefinedStatisticError, "nan in every replicate"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()
