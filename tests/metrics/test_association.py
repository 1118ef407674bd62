import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import preference_ratio, self_preference, win_rates, wins

TRIALS = np.array(
    [
        [0.9, 0.1, 0.2],  # semantic
        [0.1, 0.9, 0.2],  # cultural
        [0.1, 0.2, 0.9],  # non-relevant
        [0.5, 0.5, 0.1],  # semantic and cultural
        [0.1, 0.5, 0.5],  # cultural and non-relevant
        [0.5, 0.5, 0.5],  # all
    ]
)
trials = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.sampled_from([-1.0, 0, 0.5])
)


def test_ties_by_hand() -> None:
    assert (win_rates(TRIALS) * 6).tolist() == pytest.approx([3, 2, 1])
    assert (win_rates(TRIALS, ties="all") * 6).tolist() == pytest.approx([3, 4, 3])
    assert (win_rates(TRIALS, ties="split") * 6).tolist() == pytest.approx([11 / 6, 7 / 3, 11 / 6])
    assert wins(TRIALS, ties="split")[5].tolist() == [1 / 3] * 3
    assert wins(TRIALS)[4].tolist() == [0, 1, 0]


def test_self_preference_by_hand() -> None:
    assert self_preference(TRIALS) == pytest.approx(2 / 3)
    assert self_preference(TRIALS, ties="all") == pytest.approx(4 / 3)
    assert self_preference(TRIALS, ties="split") == pytest.approx(14 / 11)


@given(trials)
def test_the_ratio_of_the_rates_is_self_preference(scores: np.ndarray) -> None:
    for ties in ("first", "all", "split"):
        semantic, cultural, _ = win_rates(scores, ties=ties)
        assume(semantic > 0)
        ratio = preference_ratio(cultural, semantic)
        assert float(ratio) == pytest.approx(self_preference(scores, ties=ties), rel=1e-12)


def test_a_ratio_without_a_semantic_win_is_infinite_or_none() -> None:
    ratios = preference_ratio([[0.5, 0.2], [0.0, 0.0]], [[0.25, 0.0], [0.5, 0.0]])
    np.testing.assert_array_equal(ratios, [[2, np.inf], [0, np.nan]])


@given(trials)
def test_shares_add_up(scores: np.ndarray) -> None:
    assert win_rates(scores).sum() == pytest.approx(1)
    assert win_rates(scores, ties="split").sum() == pytest.approx(1)
    assert win_rates(scores, ties="all").sum() >= 1
    assert (wins(scores) <= wins(scores, ties="all")).all()


@given(trials)
def test_without_ties_the_readings_agree(scores: np.ndarray) -> None:
    scores = scores[[len(set(row)) == 3 for row in scores.tolist()]]
    assume(len(scores))
    for ties in ("all", "split"):
        np.testing.assert_array_equal(wins(scores), wins(scores, ties=ties))


@given(trials, st.floats(0.1, 10), st.floats(-5, 5))
def test_only_the_order_within_a_trial_counts(scores: np.ndarray, scale: float, shift: float) -> None:
    moved = np.round(scores * scale + shift, 12)
    for ties in ("first", "all", "split"):
        np.testing.assert_array_equal(wins(moved, ties=ties), wins(scores, ties=ties))


@given(trials, st.permutations(range(3)))
def test_fair_ties_are_blind_to_the_order_of_candidates(scores: np.ndarray, order: list[int]) -> None:
    for ties in ("all", "split"):
        np.testing.assert_allclose(wins(scores[:, order], ties=ties), wins(scores, ties=ties)[:, order])


def test_overall_is_pooled_and_not_the_mean_of_countries() -> None:
    one, other = TRIALS[:1], TRIALS[[1, 1, 1]]
    assert win_rates(np.concatenate([one, other]))[0] == pytest.approx(1 / 4)


def test_no_semantic_win_is_infinite_and_said() -> None:
    with pytest.warns(RuntimeWarning, match="infinite"):
        assert self_preference(TRIALS[1:2]) == float("inf")


def test_no_win_of_either_kind_is_an_error() -> None:
    with pytest.raises(UndefinedMetricError, match="0 / 0"):
        self_preference(TRIALS[2:3])


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        ([[0.1, 0.2]], {}, "3 columns"),
        ([[0.1, 0.2, np.nan]], {}, "trial 0 has a score"),
        ([[0.1, 0.2, 0.3]], {"ties": "last"}, "ties must be one of"),
    ],
)
def test_bad_input_is_named(scores, options, words) -> None:
    with pytest.raises(MetricInputError, match=words):
        win_rates(scores, **options)


def test_rates_that_cannot_be_are_named() -> None:
    with pytest.raises(MetricInputError, match="semantic must hold rates"):
        preference_ratio([0.1], [-0.1])
    with pytest.raises(MetricInputError, match="one shape"):
        preference_ratio([0.1, 0.2], 0.5)
