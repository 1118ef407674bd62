"""Exact search: the best `k` of a gallery for each query, without ever holding all scores.

Equal scores are in row order, so that a ranking does not depend on the sorting routine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.search.coarse import coarse_to_fine
from equiview.search.kept import Kept, check_depth
from equiview.search.maxsim import maxsim_blocks
from equiview.search.products import products
from equiview.search.scaling import Gallery
from equiview.search.sweep import sweep
from equiview.search.targets import Targets

BLOCK_BYTES = 96 * 2**20
DEEP = 1024
"""Deeper lists are cut from whole rows of scores: to keep the best so far would cost more than it saves."""
Floats = NDArray[np.float32]


def score_blocks(
    queries: Vectors, gallery: Vectors, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[int, Floats]]:
    """Yield (first query row, scores `(block, n_gallery)`) until all queries are done.

    Scores are dot products, or MaxSim where both have one vector a token; they depend on the query and the
    item alone, not on their rows or on `block_bytes`. A block holds at most `block_bytes` of scores, though
    always at least one query.
    """
    if isinstance(queries, TokenVectors) and isinstance(gallery, TokenVectors):
        yield from maxsim_blocks(queries, gallery, block_bytes)
        return
    if isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors):
        raise InputError("queries and gallery must both have one vector an item, or both one a token")
    check_widths(queries, gallery)
    rows = max(1, block_bytes // (4 * len(gallery)))
    for start in range(0, len(queries), rows):
        yield start, products(queries[start : start + rows], gallery)


def deciding_blocks(
    queries: Vectors, gallery: Vectors, k: int, targets: Targets | None, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[int, Floats]]:
    """As `score_blocks`, exact in what the best `k` and the ranks of targets depend on (`search.coarse`)."""
    if isinstance(queries, TokenVectors) and isinstance(gallery, TokenVectors):
        return coarse_to_fine(queries, gallery, block_bytes, k, targets)
    return score_blocks(queries, gallery, block_bytes)


def check_widths(queries: Gallery, gallery: Gallery) -> None:
    """InputError for vectors of different widths."""
    if queries.shape[1] != gallery.shape[1]:
        raise InputError(
            f"queries are {queries.shape[1]} wide and the gallery {gallery.shape[1]}: "
            "they come from different encoders, or from towers that do not share a space"
        )


def best(scores: Floats, k: int) -> Rankings:
    """The best `k` columns of each row of `scores` `(n, n_gallery)`; equal scores in column order.

    >>> best(np.array([[0.1, 0.9, 0.9, 0.2]], dtype=np.float32), 3).items.tolist()
    [[1, 2, 3]]
    """
    n_queries, n_gallery = scores.shape
    check_depth(k, n_gallery)
    # All columns at least as good as the k-th best: k of them, and more only where scores tie at the cut.
    threshold = np.partition(scores, n_gallery - k, axis=1)[:, n_gallery - k, None]
    rows, columns = np.nonzero(scores >= threshold)
    kept = scores[rows, columns]
    order = np.lexsort((columns, -kept, rows))
    first = np.searchsorted(rows, np.arange(n_queries))
    picked = order[first[:, None] + np.arange(k)]
    return Rankings(columns[picked].astype(np.int32), kept[picked])


def top_k(queries: Vectors, gallery: Vectors, k: int, *, block_bytes: int = BLOCK_BYTES) -> Rankings:
    """The best `k` gallery rows for each query by dot product or MaxSim; give `unit` vectors for cosine.

    `queries` is `(n_queries, width)`, `gallery` `(n_gallery, width)`, or both are `TokenVectors`; memory does
    not grow with the product. A gallery of one vector an item may be mapped from disk, and of float16.
    """
    if k > DEEP or isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors):
        parts = [best(scores, k) for _, scores in deciding_blocks(queries, gallery, k, None, block_bytes)]
        return Rankings(np.concatenate([p.items for p in parts]), np.concatenate([p.scores for p in parts]))
    check_widths(queries, gallery)
    kept = Kept(len(queries), len(gallery), k)
    sweep(queries, gallery, kept.taker, kept.add)
    return kept.rankings()


def ranks_within(scores: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank, from 1, of each pair (row, column) among all columns of its row.

    `scores` is `(n_queries, n_gallery)`, `rows` and `columns` are `(n_pairs,)`; equal scores in column order.

    >>> scores = np.array([[0.5, 0.9, 0.5]], dtype=np.float32)
    >>> ranks_within(scores, np.array([0, 0]), np.array([2, 0])).tolist()
    [3, 2]
    """
    parts = [ahead.sum(axis=1) + 1 for ahead in _ahead(scores, rows, columns)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def ahead_within(
    scores: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64], members: Floats
) -> NDArray[np.int32]:
    """How many columns of each group are ranked before each pair's, `(n_pairs, n_groups)`.

    As `ranks_within`; `members`, `(n_gallery, n_groups)`, is 1 where a column is of a group, else 0.

    >>> scores = np.array([[0.5, 0.9, 0.7]], dtype=np.float32)
    >>> members = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    >>> ahead_within(scores, np.array([0]), np.array([0]), members).tolist()
    [[1, 1]]
    """
    parts = [ahead.astype(np.float32) @ members for ahead in _ahead(scores, rows, columns)]
    counts = np.concatenate(parts) if parts else np.empty((0, members.shape[1]))
    return np.rint(counts).astype(np.int32)


def _ahead(
    scores: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Iterator[NDArray[np.bool_]]:
    """Which columns are ranked before each pair's, some pairs at a time; equal scores in column order."""
    # A pair needs one row of comparisons; do as many pairs at a time as fit in a block.
    step = max(1, BLOCK_BYTES // (8 * scores.shape[1]))
    places = np.arange(scores.shape[1])
    for start in range(0, len(rows), step):
        pair = slice(start, start + step)
        row, column = rows[pair], columns[pair, None]
        score = scores[row, columns[pair]][:, None]
        yield (scores[row] > score) | ((scores[row] == score) & (places < column))
