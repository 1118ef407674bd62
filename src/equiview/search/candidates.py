"""MaxSim over a few candidates of each query: the items whose mean token is nearest to its own.

As the released notebooks of "Evaluating Perspectival Biases in Cross-Modal Retrieval" (P) search for
ColQwen2.5: Euclidean distance of mean token vectors picks 100 items, MaxSim ranks them. There FAISS picks;
here the pick is exact. An item that the means miss is never ranked, however high its MaxSim.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.data.vectors import TokenVectors, Vectors, one_each
from equiview.errors import InputError
from equiview.search.pairs import pair_scores
from equiview.search.topk import best, top_k

Floats = NDArray[np.float32]


def nearest_means(queries: TokenVectors, gallery: TokenVectors, count: int) -> NDArray[np.int64]:
    """Rows of the `count` items of least Euclidean distance between mean tokens, `(n_queries, count)`.

    Nearest first; equal distances in row order. InputError for a count that the gallery does not have.

    >>> near = TokenVectors.of([[[0, 1]], [[3, 0], [5, 0]], [[1, 1]]])
    >>> nearest_means(TokenVectors.of([[[0, 0], [2, 2]]]), near, 2).tolist()
    [[2, 0]]
    """
    return top_k(*by_distance(one_each(queries), one_each(gallery)), count).items.astype(np.int64)


def by_distance(queries: Floats, gallery: Floats) -> tuple[Floats, Floats]:
    """Queries and gallery, one number wider, whose dot products are the greater the less their distance is.

    >>> asked, offered = by_distance(np.array([[1.0]]), np.array([[3.0], [2.0]]))
    >>> (asked @ offered.T).tolist()
    [[-1.5, 0.0]]
    """
    # Least |q - g| is greatest q.g - |g|^2 / 2, a dot product with one number more.
    half = -np.square(gallery.astype(np.float64)).sum(axis=1, keepdims=True) / 2
    ones = np.ones((len(queries), 1), dtype=np.float32)
    return np.hstack([queries, ones]), np.hstack([gallery, half.astype(np.float32)])


def top_k_among(queries: Vectors, gallery: Vectors, k: int, count: int) -> Rankings:
    """The best `k` items by MaxSim of the `count` candidates of each query (`nearest_means`).

    InputError for vectors that are not one a token, and for fewer candidates than `k`.
    """
    if not isinstance(queries, TokenVectors) or not isinstance(gallery, TokenVectors):
        raise InputError("candidates are picked for encoders of one vector a token, which MaxSim compares")
    if k > count:
        raise InputError(f"cannot rank the best {k} of {count} candidates; ask for more candidates")
    columns = np.sort(nearest_means(queries, gallery, count), axis=1)  # equal scores in row order
    rows = np.repeat(np.arange(len(queries)), count)
    scores = pair_scores(queries, gallery, rows, columns.ravel()).reshape(columns.shape)
    first = best(scores, k)
    return Rankings(np.take_along_axis(columns, first.items, axis=1).astype(np.int32), first.scores)
