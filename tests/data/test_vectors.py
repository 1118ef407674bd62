import numpy as np
import pytest

from equiview.data.vectors import TokenVectors, one_each, rows_with
from equiview.errors import InputError


def two(dtype=np.float32):
    return TokenVectors.of([np.array([[1, 0]], dtype), np.array([[0, 1], [1, 1]], dtype)])


def test_items_are_found_by_row_and_taken_in_any_order():
    vectors = two()
    assert (len(vectors), vectors.width, vectors.lengths.tolist()) == (2, 2, [1, 2])
    assert vectors[-1].tolist() == [[0, 1], [1, 1]]
    assert [len(tokens) for tokens in vectors] == [1, 2]
    taken = vectors.take([1, 0, 1])
    assert taken.lengths.tolist() == [2, 1, 2]
    assert taken[2].tolist() == [[0, 1], [1, 1]]
    with pytest.raises(IndexError):
        vectors[2]


def test_half_precision_is_kept_unless_mixed():
    assert two(np.float16).values.dtype == np.float16
    mixed = TokenVectors.of([np.ones((1, 2), np.float16), np.ones((1, 2), np.float32)])
    assert mixed.values.dtype == np.float32


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([[[1, 0]], [[1, 0, 0]]], r"item 2 has vectors of shape \(1, 3\)"),
        ([[[1, 0]], np.empty((0, 2))], r"item 2 has vectors of shape \(0, 2\)"),
        ([[1.0, 0.0]], r"item 1 has vectors of shape \(2,\)"),
    ],
)
def test_what_is_not_one_array_of_tokens_an_item_is_refused(items, message):
    with pytest.raises(InputError, match=message):
        TokenVectors.of(items)


@pytest.mark.parametrize("offsets", [[0, 1], [1, 3], [0, 2, 2, 3], []])
def test_offsets_that_do_not_cover_the_values_are_refused(offsets):
    with pytest.raises(InputError, match=r"offsets|no token vector"):
        TokenVectors(np.ones((3, 2), np.float32), np.asarray(offsets, dtype=np.int64))


def test_one_vector_each_is_the_mean_and_arrays_pass_through():
    assert one_each(two()).tolist() == [[1, 0], [0.5, 1]]
    plain = np.ones((2, 2), np.float32)
    assert one_each(plain) is plain


def test_bad_rows_are_found():
    vectors = np.array([[1, 0], [0, 0], [np.nan, 1], [np.inf, 0]], np.float32)
    assert rows_with("nan", vectors).tolist() == [False, False, True, True]
    assert rows_with("zero", vectors).tolist() == [False, True, False, False]
