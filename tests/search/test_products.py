"""A dot product is a matter of two vectors: neither their rows nor their neighbours change its last bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.data.vectors import TokenVectors
from equiview.search import products as module
from equiview.search import score_blocks, top_k, unit
from equiview.search.pairs import pair_scores
from equiview.search.products import products


@pytest.fixture(params=["tried out", "exact"])
def way(request, monkeypatch):
    """Both ways to a product; the second is for machines on which no columns of a block are alike."""
    if request.param == "exact":
        monkeypatch.setattr(module, "tiles", lambda width: None)
    return request.param


def vectors(n, width=80, seed=0, of_unit=True):
    drawn = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    return unit(drawn) if of_unit else drawn * 7


@pytest.mark.parametrize("of_unit", [True, False])
def test_permuting_queries_and_gallery_permutes_the_scores(way, of_unit):
    queries, gallery = vectors(150, of_unit=of_unit), vectors(8700, seed=1, of_unit=of_unit)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(150), rng.permutation(8700)
    np.testing.assert_array_equal(
        products(queries[rows], gallery[columns]), products(queries, gallery)[rows][:, columns]
    )


def test_a_pair_alone_has_the_score_it_has_among_thousands(way):
    queries, gallery = vectors(70), vectors(9000, seed=1)
    whole = products(queries, gallery)
    for row, column in ((0, 0), (69, 8999), (63, 4095), (64, 8192), (5, 8447), (95 - 30, 320)):
        alone = products(queries[row : row + 1], gallery[column : column + 1])
        assert alone.tolist() == [[whole[row, column]]]


def test_equal_vectors_have_equal_scores_and_stand_in_row_order(way):
    gallery = np.repeat(vectors(20, seed=3), 40, axis=0)
    queries = np.repeat(vectors(3), 30, axis=0)
    scores = products(queries, gallery)
    assert (scores.reshape(3, 30, 20, 40) == scores.reshape(3, 30, 20, 40)[:, :1, :, :1]).all()
    ranked = top_k(queries, gallery, 40).items
    assert (np.diff(ranked, axis=1) == 1).all()


def test_a_matrix_with_itself_is_no_special_case(way):
    same = vectors(64)
    other = same.copy()[::-1]
    np.testing.assert_array_equal(products(same, same), products(same, other)[:, ::-1])
    np.testing.assert_array_equal(products(same, same), products(same, same).T)


@given(
    st.integers(1, 9),
    st.integers(1, 300),
    st.sampled_from([1, 7, 80]),
    st.integers(1, 5000),
    st.integers(0, 99),
)
@settings(max_examples=15, deadline=None)
def test_the_block_size_changes_nothing(n_queries, n_gallery, width, block_bytes, seed):
    queries, gallery = vectors(n_queries, width, seed), vectors(n_gallery, width, seed + 1)
    whole = top_k(queries, gallery, 1)
    small = top_k(queries, gallery, 1, block_bytes=block_bytes)
    assert whole.items.tobytes() == small.items.tobytes()
    assert whole.scores.tobytes() == small.scores.tobytes()


def test_exact_sums_are_the_rounded_fractions(monkeypatch):
    monkeypatch.setattr(module, "tiles", lambda width: None)
    queries, gallery = vectors(3, 9, of_unit=False), vectors(4, 9, seed=1, of_unit=False) * np.float32(1e-20)
    rounded = [module._rounded(rows) for rows in (queries, gallery)]
    scores = products(queries, gallery)
    for row in range(3):
        for column in range(4):
            pairs = zip(rounded[0][row], rounded[1][column], strict=True)
            exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in pairs)
            assert scores[row, column] == np.float32(float(exact))
    np.testing.assert_allclose(rounded[0], queries, atol=2e-7 * np.linalg.norm(queries, axis=1).max())


def test_both_ways_are_near_the_truth(way):
    queries, gallery = vectors(20, 512), vectors(300, 512, seed=1)
    truth = queries.astype(np.float64) @ gallery.astype(np.float64).T
    np.testing.assert_allclose(products(queries, gallery), truth, atol=2e-7)


def test_late_interaction_does_not_depend_on_rows_or_blocks_either(way):
    rng = np.random.default_rng(0)
    queries, gallery = (
        TokenVectors.of([rng.normal(size=(length, 80)).astype(np.float32) for length in lengths])
        for lengths in (rng.integers(1, 9, 12), rng.integers(1, 30, 90))
    )
    ((_, whole),) = score_blocks(queries, gallery)
    small = np.concatenate([scores for _, scores in score_blocks(queries, gallery, 3000)])
    assert whole.tobytes() == small.tobytes()
    rows, columns = rng.permutation(12), rng.permutation(90)
    ((_, permuted),) = score_blocks(queries.take(rows), gallery.take(columns))
    np.testing.assert_array_equal(permuted, whole[rows][:, columns])


def test_chosen_pairs_do_not_depend_on_their_place():
    queries, gallery = vectors(37), vectors(61, seed=1)
    rows, columns = np.indices((37, 61)).reshape(2, -1)
    scores = pair_scores(queries, gallery, rows, columns)
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(pair_scores(queries, gallery, rows[order], columns[order]), scores[order])
    one = np.array([5]), np.array([7])
    assert pair_scores(queries, gallery, *one)[0] == scores[5 * 61 + 7]


def test_no_rows_give_no_scores():
    assert products(vectors(0), vectors(3)).shape == (0, 3)
    assert products(vectors(3), vectors(0)).shape == (3, 0)
