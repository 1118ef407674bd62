"""Arrays on disk: `.npy` files, read without trusting what they say of themselves."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.io.files import readable

MAGIC = b"\x93NUMPY"


def read_vectors(path: Path) -> NDArray[np.float32]:
    """The vectors of a `.npy` file, (n, width), n and width from 1, as floats. Float32 is mapped from disk.

    A vector of float64 that float32 cannot hold is scaled by a power of two, which keeps where it points.
    InputError for any other shape or type, for another format that is named `.npy`, and for a file with fewer
    or more bytes than its header says: a file that was written twice into has a right beginning.
    """
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
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating) or not array.size:
        raise InputError(f"{path}: holds {array.dtype} of shape {array.shape}; expected floats (n, width)")
    if (surplus := path.stat().st_size - array.offset - array.nbytes) > 0:
        raise InputError(
            f"{path}: has {surplus:,} bytes after its {array.shape[0]:,} vectors; was it written to twice? "
            "Write it again"
        )
    return _as_float32(array)


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
