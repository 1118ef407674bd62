"""Vectors made ready for search: scaled to length 1 where their similarity is the cosine."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.progress import Progress, silent
from equiview.data.vectors import CHUNK, TokenVectors, Vectors

SAFE = (1e-10, 1e10)
"""Sizes of the largest entry at which a sum of squares neither overflows nor loses what is small."""

V = TypeVar("V", NDArray[np.float32], TokenVectors, Vectors)


class Embeds(Protocol):
    """Whatever gives vectors of items and says how they are compared: every encoder does."""

    @property
    def similarity(self) -> str:
        """How two vectors are compared: cosine, dot or maxsim."""

    def embed(self, items: Items, progress: Progress = silent, /) -> Vectors:
        """Vectors of items in row order."""


def comparable(encoder: Embeds, items: Items, progress: Progress = silent) -> Vectors:
    """Vectors of `items` in row order, ready for `top_k`, `score_blocks` and `pair_scores`.

    `(len(items), width)` float32, of length 1 if the encoder compares by cosine, or `TokenVectors`.
    """
    vectors = encoder.embed(items, progress)
    return unit(vectors) if encoder.similarity == "cosine" else vectors


def unit(vectors: V) -> V:
    """Vectors `(n, width)` scaled to length 1, so that a dot product is a cosine; of tokens, each of them.

    >>> unit(np.array([[3.0, 4.0]], dtype=np.float32)).round(6).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if isinstance(vectors, TokenVectors):
        return TokenVectors(_unit(vectors.values), vectors.offsets)
    return _unit(vectors)


def _unit(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    scaled = np.empty(vectors.shape, dtype=np.float32)
    # In pieces, since squares of the whole would take as much memory again.
    step = max(1, 2 * CHUNK // vectors.shape[1])
    for start in range(0, len(vectors), step):
        part = np.asarray(_near_one(vectors[start : start + step]), dtype=np.float32)
        np.divide(part, np.linalg.norm(part, axis=1, keepdims=True), out=scaled[start : start + step])
    return scaled


def _near_one(vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The same directions, with rows so long or short that their squares are not finite or 0 scaled first.

    By a power of two, which rounds nothing.
    """
    largest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    extreme = (largest > 0) & ((largest < SAFE[0]) | (largest > SAFE[1]))
    if not extreme.any():
        return vectors
    vectors = np.array(vectors)
    exponents = np.frexp(largest[extreme])[1]
    halves = -exponents // 2  # twice, as 2**149 is more than a float32 holds
    vectors[extreme] = np.ldexp(np.ldexp(vectors[extreme], halves[:, None]), (-exponents - halves)[:, None])
    return vectors
