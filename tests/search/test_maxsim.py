import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search import score_blocks, top_k, unit
from equiview.search.maxsim import maxsim_blocks
from equiview.search.pairs import pair_scores
from equiview.search.products import products


def tokens(rng, lengths, width=4, dtype=np.float32):
    return TokenVectors.of([rng.normal(size=(n, width)).astype(dtype) for n in lengths])


def by_hand(queries, gallery):
    return [[float(np.max(q @ g.T, axis=1).sum()) for g in gallery] for q in queries]


def test_a_literal_case():
    query = TokenVectors.of([[[1, 0], [0, 1]]])
    gallery = TokenVectors.of([[[1, 0]], [[0.5, 0.5]], [[1, 0], [0, 1]]])
    ((start, scores),) = score_blocks(query, gallery)
    assert start == 0
    assert scores.tolist() == [[1.0, 1.0, 2.0]]
    assert top_k(query, gallery, 3).items.tolist() == [[2, 0, 1]]


lengths = st.lists(st.integers(1, 5), min_size=1, max_size=9)


@given(lengths, lengths, st.sampled_from([1, 64, 300, 4096]), st.integers(0, 9))
def test_blocks_of_any_size_agree_with_the_definition(asked, offered, block_bytes, seed):
    rng = np.random.default_rng(seed)
    queries, gallery = tokens(rng, asked), tokens(rng, offered)
    blocks = list(score_blocks(queries, gallery, block_bytes))
    assert [start for start, _ in blocks] == np.cumsum([0, *(len(b) for _, b in blocks)])[:-1].tolist()
    whole = np.concatenate([scores for _, scores in blocks])
    np.testing.assert_allclose(whole, by_hand(queries, gallery), rtol=1e-5, atol=1e-5)
    for _, scores in blocks:
        assert len(scores) == 1 or scores.nbytes <= block_bytes


def test_chosen_pairs_agree_with_blocks():
    rng = np.random.default_rng(0)
    queries, gallery = tokens(rng, [2, 3]), tokens(rng, [1, 4, 2])
    ((_, scores),) = score_blocks(queries, gallery)
    rows, columns = np.indices(scores.shape).reshape(2, -1)
    np.testing.assert_allclose(pair_scores(queries, gallery, rows, columns), scores.ravel(), rtol=1e-6)


def test_half_precision_is_scored_in_single():
    rng = np.random.default_rng(0)
    half = tokens(rng, [2, 3], dtype=np.float16)
    ((_, scores),) = score_blocks(half, half)
    assert scores.dtype == np.float32
    single = TokenVectors(half.values.astype(np.float32), half.offsets)
    np.testing.assert_allclose(scores, by_hand(single, single), rtol=1e-5)


def test_unit_makes_every_token_one_long():
    made = unit(tokens(np.random.default_rng(0), [2, 3]))
    np.testing.assert_allclose(np.linalg.norm(made.values, axis=1), 1, rtol=1e-6)


def test_a_mixture_of_kinds_is_refused():
    several, one = TokenVectors.of([[[1, 0]]]), np.ones((1, 2), np.float32)
    for queries, gallery in ((several, one), (one, several)):
        with pytest.raises(InputError, match="both one a token"):
            list(score_blocks(queries, gallery))
        with pytest.raises(InputError, match="both one a token"):
            pair_scores(queries, gallery, np.array([0]), np.array([0]))
    with pytest.raises(InputError, match="2 wide and of the gallery 3"):
        list(score_blocks(several, TokenVectors.of([[[1, 0, 0]]])))


def plain(queries, gallery):
    """The definition, pair by pair, of products that depend on the two vectors alone."""
    scores = np.empty((len(queries), len(gallery)), dtype=np.float32)
    for row, query in enumerate(queries):
        for column, item in enumerate(gallery):
            near = products(np.asarray(item, np.float32), np.asarray(query, np.float32)).max(axis=0)
            scores[row, column] = np.add.reduceat(near, [0])[0]
    return scores


@pytest.mark.parametrize("width", [8, 96])
@pytest.mark.parametrize("kind", ["ragged", "one token", "long", "ties", "zeros", "half", "huge"])
def test_no_way_of_cutting_changes_a_bit(width: int, kind: str, monkeypatch) -> None:
    """Narrow vectors are added up exactly, wide ones in tiles; long items lie across several tiles."""
    rng = np.random.default_rng(5)
    lengths = {"one token": [1] * 40, "long": [3, 9000, 1, 4096, 200]}.get(kind, [1, 30, 2, 7, 300, 1, 64])
    queries, gallery = tokens(rng, [3, 1, 40, 2], width), tokens(rng, lengths, width)
    values = gallery.values
    if kind == "ties":
        values[:] = values[0]
    elif kind == "zeros":
        values[:] = np.where(rng.random(values.shape) < 0.5, -0.0, 0.0)
    elif kind == "half":
        gallery = TokenVectors(values.astype(np.float16), gallery.offsets)
    elif kind == "huge":
        values *= np.where(rng.random((len(values), 1)) < 0.5, 1e-40, 1e15)  # denormals among long ones
    wanted = plain(queries, gallery)
    for block_bytes in (1, 2**16, 2**26):
        for most in (1, 3, 1024):
            monkeypatch.setattr("equiview.search.maxsim.ITEMS", most)
            found = np.concatenate([scores for _, scores in maxsim_blocks(queries, gallery, block_bytes)])
            np.testing.assert_array_equal(found, wanted)
    if kind in {"ties", "zeros"}:
        assert (top_k(queries, gallery, len(lengths)).items == np.arange(len(lengths))).all()  # in row order


@given(lengths, lengths, st.integers(0, 9))
def test_threads_change_nothing(asked, offered, seed):
    rng = np.random.default_rng(seed)
    queries, gallery = tokens(rng, asked, 64), tokens(rng, offered, 64)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), pytest.MonkeyPatch.context() as patch:
            patch.setattr("equiview.search.maxsim.ITEMS", 1)  # so that there is work for two
            found.append(np.concatenate([scores for _, scores in maxsim_blocks(queries, gallery, 4096)]))
    np.testing.assert_array_equal(*found)


def test_an_empty_shard_has_no_scores_and_nan_is_not_lost():
    query, item = TokenVectors.of([[[1.0, 0.0]]]), TokenVectors.of([[[1.0, 0.0], [np.nan, 0.0]]])
    empty = TokenVectors(np.empty((0, 2), np.float32), np.zeros(1, np.int64))
    ((_, scores),) = maxsim_blocks(query, empty, 64)
    assert scores.shape == (1, 0)
    assert list(maxsim_blocks(empty, query, 64)) == []
    ((_, scores),) = maxsim_blocks(query, item, 64)
    assert np.isnan(scores).all()
