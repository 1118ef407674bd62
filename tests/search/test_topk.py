import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import InputError
from equiview.search import best, ranks_within, score_blocks, top_k, unit


def test_top_k_of_a_literal_case():
    gallery = np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32)
    found = top_k(np.array([[1, 0], [0, 1]], dtype=np.float32), gallery, 2)
    assert found.items.tolist() == [[0, 2], [1, 2]]
    np.testing.assert_allclose(found.scores, [[1, 0.8], [1, 0.6]])


def test_equal_scores_stand_in_row_order():
    scores = np.array([[5, 7, 7, 5, 7]], dtype=np.float32)
    assert best(scores, 5).items.tolist() == [[1, 2, 4, 0, 3]]
    assert best(scores, 2).items.tolist() == [[1, 2]]


@given(
    arrays(np.float32, st.tuples(st.integers(1, 7), st.integers(1, 9)), elements=st.integers(-3, 3)),
    st.integers(1, 9),
)
def test_best_is_a_stable_sort_cut_at_k(scores, k):
    k = min(k, scores.shape[1])
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    found = best(scores, k)
    np.testing.assert_array_equal(found.items, expected)
    np.testing.assert_array_equal(found.scores, np.take_along_axis(scores, expected, axis=1))


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(-3, 3)))
def test_ranks_within_agree_with_best(scores):
    order = best(scores, scores.shape[1]).items
    rows, columns = np.indices(scores.shape).reshape(2, -1)
    ranks = ranks_within(scores, rows, columns).reshape(scores.shape)
    np.testing.assert_array_equal(
        np.take_along_axis(ranks, order, axis=1), np.arange(scores.shape[1]) + 1 + 0 * order
    )


def test_block_size_changes_nothing_and_bounds_each_block():
    rng = np.random.default_rng(0)
    queries, gallery = (unit(rng.normal(size=(n, 16)).astype(np.float32)) for n in (50, 300))
    whole = top_k(queries, gallery, 10)
    small = top_k(queries, gallery, 10, block_bytes=300 * 4 * 7)
    np.testing.assert_array_equal(whole.items, small.items)
    assert max(len(block) for _, block in score_blocks(queries, gallery, 300 * 4 * 7)) == 7


def test_towers_of_different_widths_are_refused():
    with pytest.raises(InputError, match="3 wide and the gallery 4"):
        top_k(np.ones((1, 3), np.float32), np.ones((1, 4), np.float32), 1)


def test_asking_for_more_than_there_is_says_how_many_there_are():
    with pytest.raises(InputError, match="best 3 of 2 items"):
        best(np.ones((1, 2), np.float32), 3)
