"""Vectors made ready for search: of length 1 where they are compared by cosine, as they are otherwise."""

import numpy as np
import polars as pl
import pytest

from equiview.data.items import Items
from equiview.data.vectors import TokenVectors
from equiview.search import comparable, ready, top_k, unit
from equiview.search.scaling import CHUNK
from equiview.subjects import load_subject
from tests.conftest import write_world

TEXTS = Items("text", pl.DataFrame({"id": ["a", "b"], "text": ["one", "two"], "language": ["en", "en"]}))


class Given:
    """Gives the vectors it was made with: it need not be an encoder of ours."""

    def __init__(self, vectors, similarity):
        self.vectors, self.similarity, self.asked = vectors, similarity, []

    def embed(self, items, progress):
        self.asked.append(items)
        progress("encoding", len(items), len(items))
        return self.vectors


def test_vectors_compared_by_cosine_become_unit_vectors():
    told = []
    given = Given(np.array([[3.0, 4.0], [0.0, 0.5]], dtype=np.float32), "cosine")
    vectors = comparable(given, TEXTS, lambda *what: told.append(what))
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)
    assert given.asked == [TEXTS]
    assert told == [("encoding", 2, 2)]
    assert given.vectors.tolist() == [[3.0, 4.0], [0.0, 0.5]]  # which may be kept by who gave them


@pytest.mark.parametrize("similarity", ["dot", "maxsim"])
def test_lengths_that_mean_something_are_kept(similarity):
    vectors = np.array([[3.0, 4.0], [0.0, 0.5]], dtype=np.float32)
    given = TokenVectors.of([vectors, vectors]) if similarity == "maxsim" else vectors
    assert comparable(Given(given, similarity), TEXTS) is given


def test_tokens_compared_by_cosine_are_scaled_each():
    tokens = TokenVectors.of([[[3.0, 4.0]], [[0.0, 0.5], [2.0, 0.0]]])
    vectors = comparable(Given(tokens, "cosine"), TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors.values, axis=1), 1, rtol=1e-6)
    assert vectors.lengths.tolist() == [1, 2]


def test_an_encoder_of_the_package_is_taken_as_it_is(tmp_path):
    encoder = load_subject(f"embeddings:{write_world(tmp_path / 'world')}")
    images = Items("image", pl.DataFrame({"id": ["i0", "i7"]}))
    vectors = comparable(encoder, images)
    assert top_k(vectors, vectors, 1).items.tolist() == [[0], [1]]
    np.testing.assert_allclose(top_k(vectors, vectors, 1).scores, 1, atol=1e-6)


def test_many_vectors_are_scaled_in_pieces_as_few_are():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, CHUNK // 8)).astype(np.float32)
    whole = unit(vectors)
    for row in range(0, 40, 7):
        np.testing.assert_array_equal(whole[row], unit(vectors[row : row + 1])[0])


@pytest.mark.parametrize("size", [1e-44, 1e-40, 1e-25, 1e-12, 1.0, 1e12, 1e25, 8e37])
def test_vectors_of_any_size_become_one_long(size):
    long, short = np.array([[3.0, -4.0], [0.0, 1.0]]) * size, np.array([[3.0, -4.0], [0.0, 1.0]])
    rough = 0.05 if size < 1e-43 else 1e-4 if size < 1e-38 else 1e-6  # the smallest hold few bits
    np.testing.assert_allclose(unit(long.astype(np.float32)), unit(short), atol=rough)
    np.testing.assert_allclose(np.linalg.norm(unit(long.astype(np.float32)), axis=1), 1, rtol=1e-6)


def test_doubles_that_no_float32_holds_are_scaled_as_well():
    vectors = np.array([[3.0, 4.0]])
    for size in (1e-300, 1e-60, 1e60, 1e300):
        np.testing.assert_allclose(unit(vectors * size), [[0.6, 0.8]], rtol=1e-6)


def test_scaling_a_long_row_leaves_the_bytes_of_others():
    rows = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    beside = np.vstack([rows, rows[:1] * np.float32(1e30)])
    assert unit(beside)[:5].tobytes() == unit(rows).tobytes()
    assert unit(rows * np.float32(2.0**100)).tobytes() == unit(rows).tobytes()


@pytest.mark.parametrize("similarity", ["cosine", "dot", "maxsim"])
@pytest.mark.parametrize("power", [-110, -75, 66, 120])
def test_vectors_of_any_size_have_the_order_of_ordinary_ones(similarity, power):
    rng = np.random.default_rng(0)
    queries, gallery = rng.normal(size=(2, 60, 9)).astype(np.float32)

    def ranked(exponent):
        offsets = np.arange(0, 61, 3)
        scaled = [np.ldexp(part, exponent) for part in (queries, gallery)]
        if similarity == "maxsim":
            scaled = [TokenVectors(part, offsets) for part in scaled]
        return top_k(*(ready(part, similarity) for part in scaled), 5)

    assert np.isfinite(ranked(power).scores).all()
    np.testing.assert_array_equal(ranked(power).items, ranked(0).items)


def test_what_is_neither_long_nor_short_is_not_copied():
    vectors = np.ones((3, 4), dtype=np.float32)
    assert ready(vectors, "dot") is vectors
