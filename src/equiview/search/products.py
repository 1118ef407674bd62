"""Dot products that depend on the two vectors alone, not on the rows that they are in.

A BLAS library adds up the products of a pair in an order that depends on where in the matrices the pair is:
with many kernels, columns at the edge of a panel go another way than those inside. The last bit then differs
between identical vectors, and ties are broken by chance. Two remedies, the first where it works:

- Blocks of few shapes. Which of their columns are alike is tried out with vectors repeated over whole blocks;
  only those columns are used (95% and more of the large block with OpenBLAS, all with its AVX-512 kernels).
  What falls on the others, and what is left at the end, is computed once more in places that are alike.
- Exact sums in float64. Each vector is rounded to multiples of 2**-26 of the power of two above its length,
  so that every partial sum is a multiple of 2**-52 of the two powers, and below them: no order rounds.

A tile is a part of the columns times a block of the rows, held column by column: what follows goes through it
along the rows, which is how NumPy is fast. It is computed in that order where that gives the same numbers in
all places, as with AVX-512 kernels, and else turned afterwards. Each is the work of one thread
(`equiview.search.workers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equiview.search.halves import as_float32
from equiview.search.workers import at_once, one_thread_each

Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.floating[Any]]
Places: TypeAlias = NDArray[np.int64]

HEIGHTS = (96, 64)
"""Rows of a block; the first at which columns are alike is used."""
TALL = 512
"""Most rows of a block in a search: a library packs the columns anew for each block."""
UNIT = 48
"""Heights are multiples of it, and so of the 12 and 16 rows that kernels take at a time."""
NEAR = 16
"""Multiples of it are tried first, as they leave less of a block empty; kernels of 12 rows refuse them."""
LARGE, SMALL = 4096, 256
ENOUGH = 0.6
"""The least share of columns that must be alike, or sums are made exact."""
NARROW = 64
"""Narrower vectors are added up exactly: it costs little, and trials would seldom tell places apart."""
SHARES = 4
"""Into how many parts work is cut for each thread, at the least where it can be."""
TRIALS = 12
BITS = 26


@dataclass(frozen=True)
class Tile:
    """A block of `height` rows and `length` columns, of which those at `places` are alike."""

    height: int
    length: int
    places: Places

    @property
    def whole(self) -> bool:
        """Whether all columns are alike."""
        return len(self.places) == self.length


@dataclass(frozen=True)
class Piece:
    """Columns laid out for one product: those at `at` of `values` are columns `to` of the part."""

    values: Rows
    to: slice | Places
    at: slice | Places


def products(rows: Rows, columns: Rows, out: Floats | None = None) -> Floats:
    """Dot product of each of `rows` `(n, width)` with each of `columns` `(m, width)`: `(n, m)` float32.

    The same two vectors give the same number in every place and with any others beside them. `out` is
    written and returned if it is given.

    >>> products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[11.0, 2.0]]
    """
    scores = np.empty((len(rows), len(columns)), dtype=np.float32) if out is None else out
    height = height_of(rows.shape[1], 1)
    starts = range(0, len(rows), height)
    firsts = range(0, len(columns), LARGE)

    def work(mine: Iterator[tuple[int, range]]) -> None:
        for first, some in mine:
            to = scores[:, first : first + LARGE]
            for piece in pieces(columns[first : first + LARGE]):
                for start in some:
                    there = to[start : start + height]
                    there[:, piece.to] = np.matmul(blocks[start], piece.values.T)[: len(there), piece.at]

    with one_thread_each() as threads:
        blocks = {start: ready_block(rows[start : start + height], height) for start in starts}
        # Of few columns, the rows are shared out.
        step = max(1, len(starts) * len(firsts) // (SHARES * threads))
        parts = [(first, starts[at : at + step]) for first in firsts for at in range(0, len(starts), step)]
        at_once(work, parts, min(threads, len(parts)))
    return scores


def rounding(width: int) -> float:
    """How far a float32 product is from the true one, as a share of the product of the two lengths.

    Whatever the order of its sums (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); 8
    more than their terms, for what is rounded before and after them.
    """
    return (width + 8) * 2.0**-24


def apart(width: int, tokens: int = 1) -> float:
    """How far two float32 scores of one pair may be apart, as a share of the product of the two lengths.

    Both have rounded products, and of MaxSim sums over the tokens of a query; its length is then that of all
    its tokens together, and the item's that of its longest. One more sum is for the bound's own rounding.

    >>> round(apart(768), 6)
    9.4e-05
    """
    return 2 * rounding(width) + 3 * rounding(tokens)


def height_of(width: int, n_rows: int) -> int:
    """How many rows the blocks have into which `n_rows` are cut: no more than needed, where that works."""
    found = tiles(width)
    least = HEIGHTS[0] if found is None else found[0].height
    blocks = max(1, -(-n_rows // TALL))
    for unit in (NEAR, UNIT):
        height = -(-n_rows // (unit * blocks)) * unit
        if height > least and (found is None or _works(width, height)):
            return height
    return least


def tile_height(width: int, n_rows: int) -> int:
    """`height_of` for blocks given to `tile`, which is tried out before its callers take memory for tiles."""
    height = height_of(width, n_rows)
    _by_columns(width, height)
    return height


def ready_block(part: Rows, height: int, *, apart: bool = False) -> Rows:
    """A block of `height` rows for `tile` and `pieces`, those beyond `part` zero.

    Copied even where nothing is added, unless it lies `apart` from the memory of all columns: NumPy computes
    the product of a matrix with itself in another way.
    """
    found = tiles(part.shape[1])
    if apart and found and len(part) == height and part.dtype == np.float32 and part.flags.c_contiguous:
        return part
    block: Rows = np.zeros((height, part.shape[1]), dtype=np.float32 if found else np.float64)
    block[: len(part)] = part
    return block if found else _rounded(block)


def pieces(part: Rows, room: Floats | None = None) -> list[Piece]:
    """Columns `(m, width)`, at most `LARGE`, laid out so that each is in a place that is alike.

    `room` `(LARGE, width)` may be used for them, and then holds them until it is used again.
    """
    found, count = tiles(part.shape[1]), len(part)
    if found is None:
        return [Piece(_rounded(part), slice(0, count), slice(0, count))]
    large, small = found
    laid, left = [], np.arange(count)
    if (
        -(-count // len(small.places)) * small.length > large.length * 7 // 8
    ):  # fewer are cheaper in small ones
        values = as_float32(part, room)
        good = large.places[large.places < count]
        if count < large.length:
            values = ready_block(part, large.length)
        where = slice(0, count) if large.whole else good
        laid, left = [Piece(values, where, where)], np.setdiff1d(left, good)
    for start in range(0, len(left), len(small.places)):
        to = left[start : start + len(small.places)]
        at = small.places[: len(to)]
        if small.whole and large.whole:  # rows that follow one another
            where = slice(int(to[0]), int(to[-1]) + 1)
            values = as_float32(part[where])
            if len(to) < small.length:
                values = ready_block(values, small.length)
            laid.append(Piece(values, where, slice(0, len(to))))
            continue
        values = np.zeros((small.length, part.shape[1]), dtype=np.float32)
        values[at] = part[to]
        laid.append(Piece(values, to, at))
    return laid


def tile(laid: list[Piece], block: Rows, out: Floats) -> None:
    """Write the products of a part and a block of rows to `out` `(LARGE, height)`, column by column."""
    direct = block.dtype == out.dtype and _by_columns(block.shape[1], len(block))
    for piece in laid:
        if direct and isinstance(piece.to, slice):
            start = piece.to.start  # what is beyond the columns is written over, or beyond the part
            np.matmul(piece.values, block.T, out=out[start : start + len(piece.values)])
        else:
            out[piece.to] = np.matmul(block, piece.values.T).T[piece.at]


@lru_cache(maxsize=64)
def tiles(width: int) -> tuple[Tile, Tile] | None:
    """A large and a small block in which vectors of `width` have one product everywhere; None: no such."""
    for height in HEIGHTS if width >= NARROW else ():
        large, small = (Tile(height, len(places), np.flatnonzero(places)) for places in _tried(width, height))
        if min(len(large.places) / LARGE, len(small.places) / SMALL) >= ENOUGH:
            return large, small
    return None


@lru_cache(maxsize=64)
def _works(width: int, height: int) -> bool:
    """Whether blocks of `height` give the products that those of `tiles` give, in the same places."""
    found = tiles(width)
    assert found is not None
    alike = _tried(width, height, found[0].height)
    return all(places[tile.places].all() for tile, places in zip(found, alike, strict=True))


@lru_cache(maxsize=64)
def _by_columns(width: int, height: int) -> bool:
    """Whether columns times rows give what rows times columns give, in all places."""
    found = tiles(width)
    if found is None or not all(tile.whole for tile in found):
        return False
    return all(places.all() for places in _tried(width, height, found[0].height, by_columns=True))


def _tried(
    width: int, height: int, of_height: int | None = None, *, by_columns: bool = False
) -> list[NDArray[np.bool_]]:
    """Whether every row has its most usual product at each column of a large block, and of a small one.

    Some vectors take turns along the rows and along the columns, so that each place is tried with several.
    The usual products are those of a block of `of_height` rows; `by_columns` tries the other operand first.
    """
    rows, columns = np.random.default_rng(0).normal(size=(2, TRIALS, width)).astype(np.float32)
    turns = np.arange(LARGE) % TRIALS
    found = []
    with one_thread_each():
        right = columns[turns]
        base = np.matmul(rows[turns[: of_height or height]], right.T)
        usual = np.array(
            [[np.median(base[a::TRIALS, b::TRIALS]) for b in range(TRIALS)] for a in range(TRIALS)]
        )
        left = rows[turns[:height]]
        for length in (LARGE, SMALL):
            part, good = right[:length], np.ones(length, dtype=bool)
            block = np.matmul(part, left.T).T if by_columns else np.matmul(left, part.T)
            for a in range(TRIALS):
                good &= (block[a::TRIALS] == usual[a, turns[:length]]).all(axis=0)
            found.append(good)
    return found


def _rounded(part: Rows) -> NDArray[np.float64]:
    """The rows in float64, each rounded to multiples of 2**-26 of the power of two above its length."""
    block = part.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
    unit = np.ldexp(1.0, np.frexp(lengths)[1] - BITS)
    shift = (1.5 * 2.0**52 * unit)[:, None]  # adding and taking away a large number rounds to its last bit
    block += shift
    block -= shift
    return block
