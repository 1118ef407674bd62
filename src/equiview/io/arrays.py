"""Arrays on disk: `.npy` files, read without trusting what they say of themselves."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.io.files import readable
from equiview.io.notices import notice

MAGIC = b"\x93NUMPY"


def read_vectors(path: Path) -> NDArray[np.float32]:
    """The vectors of a `.npy` file, (n, width), n and width from 1, as floats. Float32 is mapped from disk.

    A vector of float64 that float32 cannot hold is scaled by a power of two, which keeps where it points.
    Whole numbers (int8) are multiplied by the scale in `NAME.scale.npy` beside `NAME.npy`: one number, one
    for each vector `(n,)` or `(n, 1)`, or one for each dimension `(width,)` or `(1, width)`. Without it they
    are read as they are, and a notice says so: cosine does not ask how long a vector is, but dimensions that
    were scaled apart then stay so.

    InputError for any other shape or type, for another format that is named `.npy`, and for a file with fewer
    or more bytes than its header says: a file that was written twice into has a right beginning.
    """
    array = _opened(path)
    if array.ndim != 2 or not (np.issubdtype(array.dtype, np.floating) or array.dtype == np.int8):
        raise InputError(
            f"{path}: holds {array.dtype} of shape {array.shape}; expected floats or int8 of shape (n, width)"
        )
    if not array.size:
        raise InputError(f"{path}: holds no vector, its shape is {array.shape}; expected floats (n, width)")
    scale = path.with_suffix(f".scale{path.suffix}")
    if array.dtype == np.int8:
        return _scaled(array, path, scale)
    if scale.exists():
        raise InputError(f"{scale}: scales whole numbers, but {path.name} holds {array.dtype}; remove it")
    return _as_float32(array)


def _opened(path: Path) -> NDArray[Any]:
    """The array of a file, mapped; InputError where the file is not what its header says."""
    with readable(path).open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}: is not a .npy file; write it with numpy.save(path, array)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header of Python 2, or a literal with a doubtful escape
            array: np.memmap[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header is a Python literal, and fails in as many ways
        reason = str(error) or type(error).__name__
        raise InputError(f"{path}: cannot be read as .npy, is it cut off? ({reason[:200]})") from None
    if (surplus := path.stat().st_size - array.offset - array.nbytes) > 0:
        raise InputError(
            f"{path}: has {surplus:,} bytes after its {array.size:,} numbers; was it written to twice? "
            "Write it again"
        )
    return array


def _scaled(array: NDArray[np.int8], path: Path, beside: Path) -> NDArray[np.float32]:
    """Vectors of whole numbers, multiplied by their scale where there is one."""
    n, width = array.shape
    if not beside.exists():
        notice(
            f"{path}: vectors of whole numbers (int8) are read as they are, since there is no {beside.name}; "
            "cosine then holds if all dimensions have one scale"
        )
        return array.astype(np.float32)
    scale = _opened(beside)
    if not np.issubdtype(scale.dtype, np.number) or not np.isfinite(scale).all() or not (scale > 0).all():
        raise InputError(f"{beside}: holds what is no scale; expected numbers above 0")
    if scale.ndim == 1 and scale.size == n == width > 1:
        raise InputError(
            f"{beside}: could be a scale of each vector or of each dimension, there are {n} of both; save it "
            f"as ({n}, 1) or as (1, {n})"
        )
    if scale.size == 1:
        scale = scale.reshape(1, 1)
    elif scale.shape == (n,):
        scale = scale[:, None]
    elif scale.shape not in ((n, 1), (1, width), (width,)):
        raise InputError(
            f"{beside}: has shape {scale.shape}; expected one number, ({n}, 1) for the vectors of "
            f"{path.name}, or (1, {width}) for their dimensions"
        )
    return _as_float32(array.astype(np.float64) * scale)


def _as_float32(array: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    if array.dtype.itemsize <= 4:
        return np.asarray(array, dtype=np.float32)
    largest = np.maximum(array.max(axis=1), -array.min(axis=1))
    outside = np.isfinite(largest) & (largest > 0) & ((largest > 2.0**126) | (largest < 2.0**-100))
    exponents = np.frexp(largest[outside])[1]
    with np.errstate(over="ignore", under="ignore"):
        vectors = array.astype(np.float32)
        vectors[outside] = np.ldexp(array[outside], -exponents[:, None])
    return vectors
