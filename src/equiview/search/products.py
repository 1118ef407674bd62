"""Dot products that depend on the two vectors alone, not on the rows that they are in.

A BLAS library adds up the products of a pair in an order that depends on where in the matrices the pair is:
with many kernels, columns at the edge of a panel go another way than those inside. The last bit then differs
between identical vectors, and ties are broken by chance. Two remedies, the first where it works:

- Blocks of two shapes, a large and a small one. Which of their columns are alike is tried out with vectors
  repeated over whole blocks; only those columns are used (95% and more of the large block with OpenBLAS, all
  with its AVX-512 kernels). What falls on the others, and what is left at the end, is computed once more in
  places that are alike.
- Exact sums in float64. Each vector is rounded to multiples of 2**-26 of the power of two above its length,
  so that every partial sum is a multiple of 2**-52 of the two powers, and below them: no order rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.floating[Any]]
Places: TypeAlias = NDArray[np.int64]

HEIGHTS = (96, 64)
"""Rows of a block; the first at which columns are alike is used."""
LARGE, SMALL = 4096, 256
ENOUGH = 0.6
"""The least share of columns that must be alike, or sums are made exact."""
NARROW = 64
"""Narrower vectors are added up exactly: it costs little, and trials would seldom tell places apart."""
TRIALS = 12
BITS = 26


@dataclass(frozen=True)
class Tile:
    """A block of `height` rows and `length` columns, of which those at `places` are alike."""

    height: int
    length: int
    places: Places


def products(rows: Rows, columns: Rows, out: Floats | None = None) -> Floats:
    """Dot product of each of `rows` `(n, width)` with each of `columns` `(m, width)`: `(n, m)` float32.

    The same two vectors give the same number in every place and with any others beside them. `out` is
    written and returned if it is given.

    >>> products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[11.0, 2.0]]
    """
    scores = np.empty((len(rows), len(columns)), dtype=np.float32) if out is None else out
    found = tiles(rows.shape[1])
    if found is None:
        _exact(rows, columns, scores)
        return scores
    large, small = found
    # Copied even where nothing is padded: NumPy computes the product of a matrix with itself in another way.
    starts = range(0, len(rows), large.height)
    blocks = [(start, _padded(rows[start : start + large.height], large.height)) for start in starts]
    whole = len(columns) - len(columns) % large.length
    for first in range(0, whole, large.length):
        part = np.ascontiguousarray(columns[first : first + large.length], dtype=np.float32)
        for start, block in blocks:
            to = scores[start : start + large.height, first : first + large.length]
            to[:] = np.matmul(block, part.T)[: len(to)]
    for at, tile in _shares(_left_over(len(columns), large), large, small):
        part = np.zeros((tile.length, columns.shape[1]), dtype=np.float32)
        part[tile.places[: len(at)]] = columns[at]
        for start, block in blocks:
            found_there = np.matmul(block, part.T)[: len(rows) - start, tile.places[: len(at)]]
            scores[start : start + large.height, at] = found_there
    return scores


@lru_cache(maxsize=64)
def tiles(width: int) -> tuple[Tile, Tile] | None:
    """A large and a small block in which vectors of `width` have one product everywhere; None: no such."""
    for height in HEIGHTS if width >= NARROW else ():
        alike = [np.ones(length, dtype=bool) for length in (LARGE, SMALL)]
        rng = np.random.default_rng(0)
        for _ in range(TRIALS):
            row, column = rng.normal(size=(2, width)).astype(np.float32)
            left, right = np.tile(row, (height, 1)), np.tile(column, (LARGE, 1))
            blocks = [np.matmul(left, right[: len(places)].T) for places in alike]
            usual = np.median(blocks[0])
            for which, block in enumerate(blocks):
                alike[which] &= (block == usual).all(axis=0)
        if all(places.mean() >= ENOUGH for places in alike):
            large, small = (Tile(height, len(places), np.flatnonzero(places)) for places in alike)
            return large, small
    return None


def _left_over(count: int, large: Tile) -> Places:
    """Columns of `count` that whole large blocks do not give: those at bad places, and the rest."""
    blocks = count // large.length
    bad = np.setdiff1d(np.arange(large.length), large.places)
    inside = (np.arange(blocks)[:, None] * large.length + bad).ravel()
    return np.concatenate([inside, np.arange(blocks * large.length, count)])


def _shares(left: Places, large: Tile, small: Tile) -> Iterator[tuple[Places, Tile]]:
    """Columns that fit in the good places of one block, and that block: large ones, then small ones."""
    start = 0
    while start < len(left):
        tile = large if len(left) - start >= len(large.places) else small
        yield left[start : start + len(tile.places)], tile
        start += len(tile.places)


def _padded(part: Rows, size: int) -> Floats:
    """A new block of `size` rows, those beyond `part` zero."""
    block = np.zeros((size, part.shape[1]), dtype=np.float32)
    block[: len(part)] = part
    return block


def _exact(rows: Rows, columns: Rows, scores: Floats) -> None:
    left = _rounded(rows)
    for first in range(0, len(columns), LARGE):
        part = columns[first : first + LARGE]
        scores[:, first : first + LARGE] = np.matmul(left, _rounded(part).T)


def _rounded(part: Rows) -> NDArray[np.float64]:
    """The rows in float64, each rounded to multiples of 2**-26 of the power of two above its length."""
    block = part.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
    unit = np.ldexp(1.0, np.frexp(lengths)[1] - BITS)
    shift = (1.5 * 2.0**52 * unit)[:, None]  # adding and taking away a large number rounds to its last bit
    block += shift
    block -= shift
    return block
