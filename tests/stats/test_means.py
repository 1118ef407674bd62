import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import bootstrap_interval, mean_interval
from equiview.stats.means import LEAST

tables = arrays(np.float64, st.tuples(st.integers(10, 30), st.integers(1, 3)), elements=st.floats(-50, 50))


def test_a_rate_has_wilsons_interval() -> None:
    for hits, trials in ((0, 10), (1, 20), (5, 20), (40, 400), (20, 20)):
        found = mean_interval(np.arange(trials) < hits)
        theirs = scipy.stats.binomtest(hits, trials).proportion_ci(method="wilson")
        assert (float(found.low), float(found.high)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_two_values_of_any_size_are_a_rate_between_them() -> None:
    hits = (np.arange(50) < 7).astype(float)
    rate, scaled = mean_interval(hits), mean_interval(3 + 5 * hits)
    assert float(scaled.low) == pytest.approx(3 + 5 * float(rate.low))
    assert float(scaled.high) == pytest.approx(3 + 5 * float(rate.high))


def test_without_skewness_it_is_students() -> None:
    half = np.random.default_rng(0).normal(size=15)
    values = np.concatenate([half, -half]) + 2
    low, high = scipy.stats.t.interval(0.9, 29, values.mean(), scipy.stats.sem(values))
    found = mean_interval(values, level=0.9)
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))


def test_by_hand() -> None:
    # Nine values of 1 and one of 21 would be two kinds; so 1 to 9 and 65: mean 11, skewed far to the right.
    found = mean_interval([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 65])
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 65])
    skew, reach = scipy.stats.skew(values), scipy.stats.t.ppf(0.975, 9) / np.sqrt(10)
    for end, sign in ((found.low, 1), (found.high, -1)):
        # Hall's cubic of the studentised end, s + g s^2 / 3 + g^2 s^3 / 27 + g / 6n, is Student's quantile.
        s = (11 - float(end)) / values.std(ddof=1)
        assert s + skew * s**2 / 3 + skew**2 * s**3 / 27 + skew / 60 == pytest.approx(sign * reach)
    assert found.high - 11 > 2 * (11 - found.low)


def test_below_ten_clusters_there_is_no_interval() -> None:
    assert LEAST == 10
    nine, ten = mean_interval(np.arange(9.0)), mean_interval(np.arange(10.0))
    assert np.isnan([nine.low, nine.high]).all()
    assert float(nine.value) == 4
    assert np.isfinite([ten.low, ten.high]).all()
    clustered = mean_interval(np.arange(30.0), clusters=np.arange(30) % 9)
    assert np.isnan(clustered.low)
    assert (int(clustered.n), int(clustered.n_clusters)) == (30, 9)
    assert np.isfinite(mean_interval(np.arange(9.0), least=2).low)


@given(tables)
def test_an_interval_holds_its_mean(values: np.ndarray) -> None:
    found = mean_interval(values)
    known = ~np.isnan(found.low)  # where values are all the same there is none
    assert (found.low <= found.value)[known].all()
    assert (found.value <= found.high)[known].all()
    np.testing.assert_allclose(found.value, values.mean(axis=0), atol=1e-9)


@given(arrays(np.float64, st.tuples(st.integers(10, 30), st.integers(1, 3)), elements=st.floats(0, 1)))
def test_shares_stay_shares(values: np.ndarray) -> None:
    found = mean_interval(values)
    known = ~np.isnan(found.low)
    assert (found.low >= 0)[known].all()
    assert (found.high <= 1)[known].all()


def test_one_value_throughout_has_no_width_but_for_rates() -> None:
    found = mean_interval(np.tile([0.3, 1.0, 7.0], (150, 1)))
    assert found.low.tolist()[::2] == found.high.tolist()[::2] == [0.3, 7.0]
    assert 0.97 < found.low[1] < found.high[1] == 1
    few = mean_interval(np.tile([0.3, 1.0, 7.0], (149, 1)))
    assert np.isnan(few.low).tolist() == [True, False, True]
    assert few.value.tolist() == [0.3, 1.0, 7.0]


def test_noise_in_the_last_bits_makes_no_third_value() -> None:
    noise = 1 + np.random.default_rng(0).normal(size=(200, 2)) * 1e-15
    values = np.array([16.1, 16.1]) * noise
    values[:5, 1] = 15.6
    found = mean_interval(values)
    plain = mean_interval(values.round(9))
    np.testing.assert_allclose([found.low, found.high], [plain.low, plain.high], rtol=1e-12)
    assert np.isnan(mean_interval(values[:100, 0]).low)


def test_clusters_count_as_the_queries_their_spread_is_worth() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=60), (rng.random(60) < 0.3).astype(float)):
        alone = mean_interval(values)
        repeated = mean_interval(np.repeat(values, 5), clusters=np.repeat(np.arange(60), 5))
        assert float(repeated.low) == pytest.approx(float(alone.low), abs=6e-3)
        assert float(repeated.high) == pytest.approx(float(alone.high), abs=6e-3)
        blind = mean_interval(np.repeat(values, 5))
        assert blind.high - blind.low < 0.6 * (repeated.high - repeated.low)


def test_a_column_has_the_interval_it_has_alone() -> None:
    values = np.random.default_rng(1).normal(size=(40, 3))
    values[::3, 1] = np.nan
    values[:, 2] = values[:, 2] > 0
    together = mean_interval(values)
    for column in range(3):
        alone = mean_interval(values[~np.isnan(values[:, column]), column])
        assert float(alone.low) == pytest.approx(float(together.low[column]), abs=1e-12)
        assert float(alone.high) == pytest.approx(float(together.high[column]), abs=1e-12)
    assert together.n.tolist() == [40, 26, 40]


def test_the_order_of_queries_changes_no_bit() -> None:
    rng = np.random.default_rng(4)
    values, labels = rng.lognormal(size=(200, 3)), rng.integers(0, 40, 200)
    values[rng.random(values.shape) < 0.1] = np.nan
    order = rng.permutation(200)
    for clusters in (None, labels):
        first = mean_interval(values, clusters=clusters)
        again = mean_interval(values[order], clusters=None if clusters is None else clusters[order])
        for name in ("value", "low", "high"):
            assert getattr(first, name).tobytes() == getattr(again, name).tobytes()


def test_of_many_values_it_agrees_with_the_bootstrap() -> None:
    values = np.random.default_rng(2).exponential(size=(2000, 4))
    ours, theirs = mean_interval(values), bootstrap_interval(values, replicates=4000, seed=0)
    width = ours.high - ours.low
    assert (np.abs(ours.low - theirs.low) < 0.06 * width).all()
    assert (np.abs(ours.high - theirs.high) < 0.06 * width).all()


@pytest.mark.parametrize(
    ("kind", "least"), [("rate .5", 0.93), ("rate .02", 0.9), ("lognormal", 0.87), ("normal", 0.93)]
)
def test_it_covers_the_truth_where_percentiles_do_not(kind: str, least: float) -> None:
    rng = np.random.default_rng(3)
    shape = (20, 4000)
    values, truth = {
        "rate .5": (rng.random(shape) < 0.5, 0.5),
        "rate .02": (rng.random(shape) < 0.02, 0.02),
        "lognormal": (rng.lognormal(size=shape), np.exp(0.5)),
        "normal": (rng.normal(size=shape), 0.0),
    }[kind]
    found = mean_interval(np.asarray(values, dtype=float))
    assert least <= np.mean((found.low <= truth) & (truth <= found.high)) <= 0.985


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mean_interval([]), UndefinedStatisticError, "no rows"),
        (lambda: mean_interval([[1, np.nan]] * 2), UndefinedStatisticError, "column 1 is nan"),
        (lambda: mean_interval([1, np.inf]), StatsInputError, "infinite"),
        (lambda: mean_interval([1e308] * 9), StatsInputError, "too large"),
        (lambda: mean_interval([1.0, 2.0], level=95), StatsInputError, "level"),
        (lambda: mean_interval([1.0, 2.0], clusters=[1]), StatsInputError, "one label"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()
