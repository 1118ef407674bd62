import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import maximum_interval, quantile_interval

samples = arrays(np.float64, st.integers(10, 30), elements=st.floats(-100, 100, width=32))


def test_a_maximum_is_resampled_exactly() -> None:
    values = np.random.default_rng(0).exponential(size=40)
    drawn = np.random.default_rng(1).choice(values, (200_000, 40)).max(axis=1)
    for level in (0.5, 0.8, 0.95):
        expected = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        assert maximum_interval(values, level) == tuple(expected)


def test_a_maximum_by_hand() -> None:
    # (k / 3)^3 first reaches .025 at k = 1, where it is .037; of 100 values at k = 97: (.97)^100 = .048
    assert maximum_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert maximum_interval(np.arange(100.0)) == (96.0, 99.0)
    assert maximum_interval([7.0]) == (7.0, 7.0)


@pytest.mark.parametrize("clustered", [False, True])
def test_quantiles_are_covered_as_often_as_they_say(clustered: bool) -> None:
    rng, covered = np.random.default_rng(2), np.zeros(2)
    labels = np.arange(200) // (4 if clustered else 1)
    for _ in range(1000):
        values = rng.normal(size=200)
        if clustered:  # values of a cluster lie together: the same marginal, far fewer independent draws
            values = 0.6 * values + 0.8 * rng.normal(size=50)[labels]
        result = quantile_interval(values, [0.5, 0.9], clusters=labels)
        covered += (result.low <= [0, 1.2815516]) & (result.high >= [0, 1.2815516])
    assert (covered / 1000 >= 0.9).all()
    assert (covered / 1000 <= 0.99).all()


def test_values_that_hang_together_are_known_less_well() -> None:
    values, labels = np.repeat(np.random.default_rng(3).normal(size=100), 5), np.repeat(np.arange(100), 5)
    alone = quantile_interval(values, [0.5])
    together = quantile_interval(values, [0.5], clusters=labels)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


@given(samples)
def test_an_interval_holds_its_value_and_lies_within_the_sample(values: np.ndarray) -> None:
    result = quantile_interval(values, [0.3, 0.5])
    known = ~np.isnan(result.low)
    assert (values.min() <= result.low[known]).all()
    assert (result.low <= result.value)[known].all()
    assert (result.value <= result.high)[known].all()
    assert (result.high[known] <= values.max()).all()
    np.testing.assert_array_equal(result.value, np.quantile(values, [0.3, 0.5]))
    low, high = maximum_interval(values)
    assert low <= high == values.max()


@given(samples)
def test_a_narrower_level_lies_within_a_wider(values: np.ndarray) -> None:
    half, most = (quantile_interval(values, [0.5], level=level) for level in (0.5, 0.95))
    assert most.low <= half.low <= half.high <= most.high
    assert maximum_interval(values, 0.95)[0] <= maximum_interval(values, 0.5)[0]


@pytest.mark.parametrize("call", [maximum_interval, lambda values: quantile_interval(values, [0.5])])
def test_bad_samples_are_named(call) -> None:
    with pytest.raises(UndefinedStatisticError, match="values is empty"):
        call([])
    with pytest.raises(StatsInputError, match="not finite, at 1"):
        call([0.0, np.nan])
    with pytest.raises(StatsInputError, match=r"must have shape \(n,\)"):
        call([[0.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: maximum_interval([1.0, 2.0], level=95), "level must lie"),
        (lambda: quantile_interval([1.0, 2.0], [0.5], level=0), "level must lie"),
        (lambda: quantile_interval([1.0, 2.0], [1.5]), "between 0 and 1"),
        (lambda: quantile_interval([1.0, 2.0], [np.nan]), "between 0 and 1"),
        (lambda: quantile_interval([1.0, 2.0], []), "n_quantiles"),
        (lambda: quantile_interval([1.0, 2.0], 0.5), "n_quantiles"),
        (lambda: quantile_interval([1.0, 2.0], [0.5], clusters=[1]), "one label for each"),
    ],
)
def test_bad_options_are_named(call, words) -> None:
    with pytest.raises(StatsInputError, match=words):
        call()


def test_too_few_values_have_no_interval() -> None:
    few, enough = (quantile_interval(np.arange(n) * 1.0, [0.5]) for n in (9, 10))
    assert few.value.tolist() == [4.0]
    assert np.isnan([few.low, few.high]).all()
    assert 0 < enough.low < 4.5 < enough.high < 9


def test_a_quantile_that_a_sample_may_not_reach_has_no_interval() -> None:
    # .99 ** 367 is the first power of .99 at or below .025, .9 ** 36 of .9; a maximum is always beyond.
    for quantile, least in ((0.99, 368), (0.01, 368), (0.9, 36), (0.5, 10)):
        few, enough = (quantile_interval(np.arange(n) * 1.0, [quantile]) for n in (least - 1, least))
        assert np.isnan([few.low, few.high]).all()
        assert np.isfinite([enough.low, enough.high]).all()
    assert np.isnan(quantile_interval(np.arange(5000.0), [0.0, 1.0]).high).all()
