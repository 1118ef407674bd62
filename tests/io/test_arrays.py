import io

import numpy as np
import pytest

from equiview.errors import InputError
from equiview.io.arrays import read_vectors


def saved(array, **more):
    buffer = io.BytesIO()
    np.save(buffer, array, **more)
    return buffer.getvalue()


def zipped():
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones((2, 3)))
    return buffer.getvalue()


RIGHT = saved(np.ones((2, 3), dtype=np.float32))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(), "is not a .npy file; write it with numpy.save"),
        (b"", "is not a .npy file"),
        (RIGHT + b"\0" * 12, "has 12 bytes after its 6 numbers"),
        (RIGHT + RIGHT, "bytes after its 6 numbers"),
        (RIGHT[:-1], "is it cut off"),
        (RIGHT[:20], "is it cut off"),
        (RIGHT.replace(b"(2, 3)", b"(2,-3)"), "expected floats|cannot be read"),
        (RIGHT.replace(b"(2, 3), }      ", b"(2, 9999999), }"), "is it cut off"),
        (RIGHT.replace(b"<f4", b"<i4"), "holds int32 of shape"),
        (saved(np.array([{}], dtype=object), allow_pickle=True), "is it cut off|cannot be read"),
        (saved(np.ones(3)), "holds float64 of shape"),
        (saved(np.ones((0, 3))), "expected floats"),
        (saved(np.ones((3, 0))), "expected floats"),
        (saved(np.zeros(2, dtype=[("a", "f4")])), "expected floats"),
    ],
)
def test_a_file_that_is_no_array_of_vectors_is_refused(tmp_path, content, message):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_vectors(path)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_float_in_any_order_of_bytes_and_rows_is_read(tmp_path, dtype, order):
    array = np.asarray([[1, 2, 3], [4, 5, 6]], dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    assert read_vectors(tmp_path / "x.npy").tolist() == [[1, 2, 3], [4, 5, 6]]


EIGHT = np.asarray([[1, -2, 3], [4, 0, -128]], dtype=np.int8)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (0.5, [[0.5, -1, 1.5], [2, 0, -64]]),
        ([2], [[2, -4, 6], [8, 0, -256]]),
        ([1.0, 0.25], [[1, -2, 3], [1, 0, -32]]),
        ([[1.0], [0.25]], [[1, -2, 3], [1, 0, -32]]),
        ([1, 2, 3], [[1, -4, 9], [4, 0, -384]]),
        ([[1, 2, 3]], [[1, -4, 9], [4, 0, -384]]),
    ],
)
def test_whole_numbers_are_multiplied_by_their_scale(tmp_path, scale, expected):
    np.save(tmp_path / "x.npy", EIGHT)
    np.save(tmp_path / "x.scale.npy", np.asarray(scale))
    assert read_vectors(tmp_path / "x.npy").tolist() == expected


def test_whole_numbers_without_a_scale_are_said(tmp_path, caplog):
    np.save(tmp_path / "x.npy", EIGHT)
    assert read_vectors(tmp_path / "x.npy").tolist() == EIGHT.tolist()
    assert "whole numbers (int8) are read as they are, since there is no x.scale.npy" in caplog.text


@pytest.mark.parametrize(
    ("array", "scale", "message"),
    [
        (EIGHT, [1.0, 0.0], r"x\.scale\.npy: holds what is no scale; expected numbers above 0"),
        (EIGHT, [1.0, np.nan], "holds what is no scale"),
        (EIGHT, ["a", "b"], "holds what is no scale"),
        (EIGHT, [1.0] * 4, r"has shape \(4,\); expected one number, \(2, 1\) for the vectors of x\.npy"),
        (
            EIGHT[:, :2],
            [1.0, 2.0],
            r"of each vector or of each dimension, there are 2 of both",
        ),
        (EIGHT.astype(np.float32), [1.0], r"scales whole numbers, but x\.npy holds float32; remove it"),
        (EIGHT.astype(np.uint8), [1.0], "holds uint8 of shape"),
    ],
)
def test_a_scale_that_is_none_is_refused(tmp_path, array, scale, message):
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "x.scale.npy", np.asarray(scale))
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "x.npy")


@pytest.mark.parametrize("size", [1e300, -1e300, 1e39, 1e-39, 1e-300, 1e-308, 5e-324])
def test_a_vector_of_any_size_points_where_it_did(tmp_path, size):
    array = np.asarray([[1, -2, 0], [3, 4, 5]], dtype=np.float64)
    array[0] *= size
    np.save(tmp_path / "x.npy", array)
    vectors = read_vectors(tmp_path / "x.npy")
    assert vectors.dtype == np.float32
    assert vectors[1].tolist() == [3, 4, 5]
    assert vectors[0] / np.abs(vectors[0]).max() == pytest.approx(
        np.sign(size) * np.array([0.5, -1, 0]), rel=1e-6
    )


def test_a_number_that_is_not_finite_stays_so(tmp_path):
    np.save(tmp_path / "x.npy", np.asarray([[1e300, np.inf], [np.nan, 1.0], [0.0, 0.0]]))
    vectors = read_vectors(tmp_path / "x.npy")
    assert np.isfinite(vectors).all(axis=1).tolist() == [False, False, True]
