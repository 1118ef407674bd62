"""Late interaction: the score of a query and an item that have one vector a token each.

MaxSim adds up, over the tokens of the query, the dot product with the item's nearest token (Khattab and
Zaharia, "ColBERT", SIGIR 2020, equation 3). The query is whatever is being ranked for: for image to text the
image, so that a long caption gains nothing by its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search.products import LARGE, SHARES, pieces, ready_block, tile, tile_height
from equiview.search.workers import at_once, one_thread_each

Floats = NDArray[np.float32]
TOKENS, ITEMS = 8 * LARGE, 1024
"""Most tokens, and most items, of the gallery that a thread takes at a time."""


def maxsim_blocks(
    queries: TokenVectors, gallery: TokenVectors, block_bytes: int
) -> Iterator[tuple[int, Floats]]:
    """Yield (first query row, MaxSim scores `(block, n_gallery)`) until all queries are done.

    A block holds at most `block_bytes` of scores, though always at least one query. Exact: every token meets
    every token.
    """
    if queries.width != gallery.width:
        raise InputError(
            f"token vectors of queries are {queries.width} wide and of the gallery {gallery.width}"
        )
    most = max(1, block_bytes // (4 * max(1, len(gallery))))
    for start, stop in runs(queries.offsets, max(1, block_bytes // (4 * LARGE)), most):
        yield start, _scores(queries, start, stop, gallery)


def _scores(queries: TokenVectors, start: int, stop: int, gallery: TokenVectors) -> Floats:
    """MaxSim of queries `start` to `stop` and every item: a tile is looked at while it lies in a cache."""
    asked = _floats(queries, start, stop)
    ends = queries.offsets[start:stop] - queries.offsets[start]
    scores = np.empty((stop - start, len(gallery)), dtype=np.float32)
    height = tile_height(queries.width, len(asked))
    with one_thread_each() as threads:
        blocks = ready_blocks(asked, height)
        share = -(-len(gallery.values) // (SHARES * threads))
        parts = list(runs(gallery.offsets, min(max(share, LARGE), TOKENS), ITEMS))

        def work(mine: Iterator[tuple[int, int]]) -> None:
            near = np.empty((LARGE, height), dtype=np.float32)
            for first, last in mine:
                best = nearest(blocks, len(asked), gallery.part(first, last), near)
                scores[:, first:last] = np.add.reduceat(best, ends, axis=1).T

        at_once(work, parts, min(threads, len(parts)))
    return scores


def ready_blocks(asked: Floats, height: int) -> list[NDArray[Any]]:
    """Tokens of queries in blocks of `height`, the last one filled with zeros."""
    return [ready_block(asked[at : at + height], height) for at in range(0, len(asked), height)]


def nearest(blocks: list[NDArray[Any]], n_asked: int, offered: TokenVectors, near: Floats) -> Floats:
    """Largest product of each of the `n_asked` tokens in `blocks` with any of an item, `(n_items, n_asked)`.

    `near` `(LARGE, height of a block)` is written over.
    """
    best = np.empty((len(offered), n_asked), dtype=np.float32)
    for at in range(0, len(offered.values), LARGE):
        laid = pieces(offered.values[at : at + LARGE])
        within = spans(offered.offsets, at, LARGE)
        for first, block in zip(range(0, n_asked, len(blocks[0])), blocks, strict=True):
            tile(laid, block, near)
            place = slice(first, min(first + len(block), n_asked))
            raise_to(best[:, place], near[:, : place.stop - first], within)
    return best


def spans(offsets: NDArray[np.int64], at: int, size: int) -> list[tuple[int, int, int, bool]]:
    """Items with tokens in a tile of `size` that begins at `at`: (item, begin and end there, its first).

    >>> spans(np.array([0, 3, 5, 9]), 4, 4)
    [(1, 0, 1, False), (2, 1, 4, True)]
    """
    first = int(np.searchsorted(offsets, at, side="right")) - 1
    last = int(np.searchsorted(offsets[:-1], at + size))
    bounds = (offsets[first : last + 1] - at).tolist()
    return [
        (item, max(begin, 0), min(end, size), begin >= 0)
        for item, (begin, end) in enumerate(pairwise(bounds), first)
    ]


def raise_to(best: NDArray[Any], near: NDArray[Any], within: list[tuple[int, int, int, bool]]) -> None:
    """Make `best` `(n_items, n)` the largest so far of each item's rows of `near`, which are `within`."""
    for item, begin, end, new in within:  # one call an item is ten times as fast as np.maximum.reduceat
        if new:
            np.maximum.reduce(near[begin:end], axis=0, out=best[item])
        else:
            np.maximum(best[item], np.maximum.reduce(near[begin:end], axis=0), out=best[item])


def maxsim_pair(query: NDArray[np.floating], item: NDArray[np.floating]) -> float:
    """MaxSim of one query `(n_tokens, width)` and one item `(m_tokens, width)`.

    >>> maxsim_pair(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.0], [1.0, 0.25]]))
    1.25
    """
    near = np.asarray(query, dtype=np.float32) @ np.asarray(item, dtype=np.float32).T
    return float(near.max(axis=1).sum())


def runs(offsets: NDArray[np.int64], tokens: int, items: int = 2**31) -> Iterator[tuple[int, int]]:
    """Runs of items with at most `tokens` tokens together, and at most `items` items; at least one each."""
    start, count = 0, len(offsets) - 1
    while start < count:
        fits = int(np.searchsorted(offsets, offsets[start] + tokens, side="right")) - 1
        stop = min(max(fits, start + 1), start + items, count)
        yield start, stop
        start = stop


def _floats(vectors: TokenVectors, start: int, stop: int) -> Floats:
    return np.asarray(vectors.values[vectors.offsets[start] : vectors.offsets[stop]], dtype=np.float32)
