"""Which vectors repeat an earlier one, and the perceptual hash by which pictures are compared.

The first of those that are alike is kept. Comparisons are made in blocks: beside the vectors themselves,
memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.io.progress import Progress, silent
from equiview.search import unit
from equiview.subjects import Encoder

if TYPE_CHECKING:
    from PIL.Image import Image

BLOCK = 2048
BITS = 64
"""Bits of the hash."""
SIDE = 32
"""Pixels of the side to which a picture is reduced for its hash."""


def repeats(vectors: NDArray[np.generic], least: float, block: int = BLOCK) -> NDArray[np.int64]:
    """For each vector the first one kept whose dot product with it is `least` or more, or -1: it is kept.

    `vectors` is `(n, width)`, of any type that float32 holds, in the order in which they are kept.

    >>> turns = np.radians([0, 50, 2, 51, 90])
    >>> repeats(np.stack([np.cos(turns), np.sin(turns)], axis=1), np.cos(np.radians(10))).tolist()
    [-1, -1, 0, 1, -1]
    """
    count = len(vectors)
    found = np.full(count, -1, dtype=np.int64)
    kept = np.empty(count, dtype=np.int64)
    n_kept = 0
    for start in range(0, count, block):
        rows = np.arange(start, min(start + block, count))
        part = vectors[rows].astype(np.float32)
        for first in range(0, n_kept, block):
            earlier = kept[first : min(first + block, n_kept)]
            left = np.flatnonzero(found[rows] < 0)
            alike = part[left] @ vectors[earlier].astype(np.float32).T >= least
            hit = alike.any(axis=1)
            found[rows[left[hit]]] = earlier[alike[hit].argmax(axis=1)]
        left = np.flatnonzero(found[rows] < 0)
        alike = part[left] @ part[left].T >= least
        for place, row in enumerate(rows[left]):
            if found[row] < 0:
                kept[n_kept] = row
                n_kept += 1
                after = rows[left[place + 1 :]][alike[place, place + 1 :]]
                found[after[found[after] < 0]] = row
    return found


def perceptual_hash(image: Image) -> NDArray[np.int8]:
    """64 signs, 1 or -1: which low frequencies of the picture are above their median.

    The `phash` of ImageHash (Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions",
    2010), so that the dot product of two is 64 - 2 x the bits in which they differ.
    """
    from PIL.Image import Resampling
    from scipy.fft import dct

    small = np.asarray(image.convert("L").resize((SIDE, SIDE), Resampling.LANCZOS))
    low = dct(dct(small, axis=0), axis=1)[:8, :8]
    return np.where(low > np.median(low), 1, -1).astype(np.int8).ravel()


def least_of(bits: int) -> float:
    """The dot product of two hashes that differ in so many bits.

    >>> least_of(6)
    52
    """
    return BITS - 2 * bits


def rows_by(groups: Sequence[object]) -> list[NDArray[np.int64]]:
    """The rows of each group, in the order in which the groups begin.

    >>> [rows.tolist() for rows in rows_by(["train", "food", "train"])]
    [[0, 2], [1]]
    """
    rows_of: dict[object, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    return [np.asarray(rows, dtype=np.int64) for rows in rows_of.values()]


def cosines(encoder: Encoder, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
    """Vectors `(n, width)` of length 1, however the encoder itself compares."""
    vectors = unit(encoder.embed(items, progress))
    assert isinstance(vectors, np.ndarray)
    return vectors
