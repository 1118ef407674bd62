import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.metrics import demographic_divergence
from equiview.stats import squares_interval


def divergences(rates: list[float], n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.binomial(n, rates, size=(draws, len(rates))) / n
    return np.array([demographic_divergence(row) for row in rows])


@pytest.mark.parametrize("rates", [[0.6, 0.6], [0.6, 0.5], [0.6, 0.5, 0.4], [0.6] * 6 + [0.5]])
def test_it_holds_the_truth_as_often_as_it_says(rates: list[float]) -> None:
    rng, truth, held = np.random.default_rng(0), demographic_divergence(rates), 0
    for _ in range(200):
        scores = (rng.binomial(100, rates) / 100).tolist()
        draws = divergences(scores, 100, 200, rng)
        low, high = squares_interval(demographic_divergence(scores), draws, len(rates) - 1)
        held += low - 1e-12 <= truth <= high + 1e-12
    assert held >= 182  # 91%: 1 in 100 with a coverage of 95%


def test_a_large_estimate_has_ends_like_its_percentiles() -> None:
    rng = np.random.default_rng(1)
    draws = divergences([0.9, 0.3], 500, 4000, rng)
    ends = squares_interval(demographic_divergence([0.9, 0.3]), draws, 1)
    np.testing.assert_allclose(ends, np.quantile(draws, [0.025, 0.975]), rtol=0.1)


def test_an_estimate_of_nothing_excludes_only_what_is_large() -> None:
    # Two groups of 100 at 60% each: resampling adds .0017 on average.
    draws = divergences([0.6, 0.6], 100, 4000, np.random.default_rng(2))
    low, high = squares_interval(0.0, draws, 1)
    assert low == 0
    assert 4 * draws.mean() < high < 8 * draws.mean()


def test_without_spread_it_has_no_width() -> None:
    assert squares_interval(0.25, [0.25, np.nan, 0.25], 3) == (0.25, 0.25)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UndefinedStatisticError, match="all nan"):
        squares_interval(0.1, [np.nan], 1)
    with pytest.raises(StatsInputError, match="0 or more"):
        squares_interval(-0.1, [0.1], 1)
    with pytest.raises(StatsInputError, match="0 or more"):
        squares_interval(float("nan"), [0.1], 1)
