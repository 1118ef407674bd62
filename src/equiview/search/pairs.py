"""Scores of chosen pairs, where not every query meets every item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.search.maxsim import maxsim_pair

BLOCK = 65_536
"""Pairs scored at a time, so that memory does not grow with their number."""


def pair_scores(
    queries: Vectors,
    gallery: Vectors,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Score of `queries[rows[i]]` and `gallery[columns[i]]` for each i, `(n_pairs,)`.

    The score is the dot product, or MaxSim where both have one vector a token.

    >>> eye = np.eye(2, dtype=np.float32)
    >>> pair_scores(eye, eye, np.array([0, 0]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    scores = np.empty(len(rows), dtype=np.float32)
    if isinstance(queries, TokenVectors) and isinstance(gallery, TokenVectors):
        for pair, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            scores[pair] = maxsim_pair(queries[row], gallery[column])
        return scores
    if isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors):
        raise InputError("queries and gallery must both have one vector an item, or both one a token")
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        scores[part] = np.einsum("ij,ij->i", queries[rows[part]], gallery[columns[part]])
    return scores
