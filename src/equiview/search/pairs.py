"""Scores of chosen pairs, where not every query meets every item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 65_536
"""Pairs scored at a time, so that memory does not grow with their number."""


def pair_scores(
    queries: NDArray[np.float32],
    gallery: NDArray[np.float32],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Dot product of `queries[rows[i]]` and `gallery[columns[i]]` for each i, `(n_pairs,)`.

    >>> eye = np.eye(2, dtype=np.float32)
    >>> pair_scores(eye, eye, np.array([0, 0]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    scores = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        scores[part] = np.einsum("ij,ij->i", queries[rows[part]], gallery[columns[part]])
    return scores
