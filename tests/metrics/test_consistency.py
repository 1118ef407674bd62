"""Consistency of answers and scores across languages, on tables one can check by eye and by plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import (
    answer_consistency,
    independent_consistency,
    independent_score_consistency,
    score_consistency,
)

TABLES = arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 4)))
SCORES = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(0, 2.5, width=16)
)


def by_loops(scores):
    """Both formulas of the paper at once: of scores 0 and 1 the sum of the smaller is the count of both."""
    n_items, n_languages = len(scores), len(scores[0])
    table = [[float("nan")] * n_languages for _ in range(n_languages)]
    for x in range(n_languages):
        for y in range(n_languages):
            both = sum(min(scores[i][x], scores[i][y]) for i in range(n_items))
            own_x, own_y = (sum(scores[i][z] for i in range(n_items)) for z in (x, y))
            if own_x and own_y:
                table[x][y] = (both / own_x + both / own_y) / 2
    return table


def test_what_is_right_in_one_language_is_right_in_the_other():
    # English knows four questions, Swahili two of them and one of its own.
    english, swahili = [1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0]
    consistency = answer_consistency(np.array([english, swahili]).T)
    assert consistency[0, 1] == consistency[1, 0] == (2 / 4 + 2 / 3) / 2
    assert consistency.diagonal().tolist() == [1, 1]


def test_a_language_that_knows_nothing_has_no_consistency():
    consistency = answer_consistency([[True, False], [True, False]])
    assert consistency[0, 0] == 1
    assert np.isnan(consistency[[0, 1, 1], [1, 0, 1]]).all()


@given(TABLES)
def test_answers_agree_with_plain_loops(correct):
    np.testing.assert_allclose(
        answer_consistency(correct), by_loops(correct.astype(float).tolist()), rtol=1e-12
    )


@given(SCORES)
def test_scores_agree_with_plain_loops(scores):
    np.testing.assert_allclose(score_consistency(scores), by_loops(scores.tolist()), rtol=1e-9)


@given(TABLES)
def test_answers_are_scores_of_0_and_1(correct):
    np.testing.assert_array_equal(score_consistency(correct.astype(float)), answer_consistency(correct))


def test_languages_that_know_independently_are_at_their_floor():
    rng = np.random.default_rng(0)
    correct = rng.random((200_000, 3)) < [0.8, 0.5, 0.3]
    np.testing.assert_allclose(answer_consistency(correct), independent_consistency(correct), atol=0.005)


def test_scores_lie_between_0_and_infinity():
    with pytest.raises(MetricInputError, match=r"item 1, language 0: -0\.5"):
        score_consistency([[1.0, 1.0], [-0.5, 1.0]])
    with pytest.raises(MetricInputError, match="bools"):
        answer_consistency([[0.5, 1.0]])
    with pytest.raises(UndefinedMetricError, match="nothing to measure"):
        answer_consistency(np.empty((0, 3), dtype=bool))


@given(SCORES)
def test_the_floor_of_scores_is_the_mean_over_all_pairings(scores):
    n_items, n_languages = scores.shape
    floor = independent_score_consistency(scores)
    for x in range(n_languages):
        for y in range(n_languages):
            whole_x, whole_y = scores[:, x].sum(), scores[:, y].sum()
            if not whole_x or not whole_y:
                assert np.isnan(floor[x, y])
                continue
            pairs = [(i, j) for i in range(n_items) for j in range(n_items)] if x != y else []
            both = sum(min(scores[i, x], scores[j, y]) for i, j in pairs) / n_items if pairs else whole_x
            assert floor[x, y] == pytest.approx((both / whole_x + both / whole_y) / 2)


@given(TABLES)
def test_the_floor_of_scores_of_0_and_1_is_that_of_answers(correct):
    np.testing.assert_allclose(
        independent_score_consistency(correct.astype(float)), independent_consistency(correct), atol=1e-12
    )
