"""Vectors made ready for search: scaled to length 1 where their similarity is the cosine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.vectors import CHUNK, TokenVectors, Vectors, values_of
from equiview.io.progress import Progress, silent
from equiview.search.halves import as_float32

SAFE = (1e-10, 1e10)
"""Sizes of the largest entry at which a sum of squares neither overflows nor loses what is small."""

IN_CACHE = 2**17
"""Numbers that are squared, added up and divided by the sum while they are in a cache."""
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

    `(len(items), width)` float32, or `TokenVectors`, as `ready` gives them. An encoder that says
    `copies` has its vectors scaled where they are.
    """
    vectors = encoder.embed(items, progress)
    if encoder.similarity == "cosine" and _may_be_written(vectors) and getattr(encoder, "copies", False):
        return _unit(vectors, out=vectors)
    return ready(vectors, encoder.similarity)


def comparable_parts(encoder: Embeds, items: Items, progress: Progress = silent) -> Gallery | TokenVectors:
    """As `comparable`, for a gallery that is read in parts: each is scaled when it is, and none is kept."""
    vectors = encoder.embed(items, progress)
    if encoder.similarity == "cosine" and not isinstance(vectors, TokenVectors):
        return Scaled(vectors)
    return ready(vectors, encoder.similarity)


class Gallery(Protocol):
    """Vectors `(n, width)`, one an item, whose rows are read: an array in memory or on disk, or `Scaled`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many vectors, and how wide they are."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> NDArray[np.floating[Any]]: ...


@dataclass(frozen=True)
class Scaled:
    """Vectors of which rows are scaled to length 1 whenever they are read; they are kept as they are.

    >>> Scaled(np.array([[3.0, 4.0]], dtype=np.float32))[:1].round(6).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """

    vectors: NDArray[np.floating[Any]]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many vectors, and how wide they are."""
        return self.vectors.shape

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: Any, /) -> NDArray[np.float32]:
        return self.scaled(self.vectors[rows])

    def scaled(self, taken: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Vectors as read, at length 1; written over if they are of float32 and are not the stored ones."""
        copied = taken.dtype == np.float32 and not np.may_share_memory(taken, self.vectors)
        return _unit(taken, out=taken if copied else None)


def as_stored(gallery: Gallery) -> NDArray[np.floating[Any]]:
    """The vectors of a gallery as they are kept, not scaled and not copied."""
    return gallery.vectors if isinstance(gallery, Scaled) else gallery[:]


def ready(vectors: V, similarity: str) -> V:
    """Vectors whose dot products order items as `similarity` does, and neither overflow nor vanish.

    Of length 1 for cosine. For dot and maxsim as they are, unless they are very long or short: then all are
    multiplied by one power of two, which changes no order.

    >>> ready(np.array([[3e30, 0.0], [1e30, 0.0]]), "dot").round(2).tolist()
    [[0.59, 0.0], [0.2, 0.0]]
    """
    if similarity == "cosine":
        return unit(vectors)
    values = values_of(vectors)
    largest = max((_largest(part).max() for _, part in _pieces(values)), default=0.0)
    if not largest or SAFE[0] <= largest <= SAFE[1]:
        return vectors
    exponent = int(np.frexp(largest)[1])
    scaled = np.concatenate([_times_two_to(part, np.int32(-exponent)) for _, part in _pieces(values)])
    return TokenVectors(scaled, vectors.offsets) if isinstance(vectors, TokenVectors) else scaled


def unit(vectors: V) -> V:
    """Vectors `(n, width)` scaled to length 1, so that a dot product is a cosine; of tokens, each of them.

    >>> unit(np.array([[3.0, 4.0]], dtype=np.float32)).round(6).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if isinstance(vectors, TokenVectors):
        return TokenVectors(_unit(vectors.values), vectors.offsets)
    return _unit(vectors)


def _may_be_written(vectors: Vectors) -> TypeGuard[NDArray[np.float32]]:
    if isinstance(vectors, TokenVectors):
        return False
    return vectors.dtype == np.float32 and bool(vectors.flags.writeable)


def _unit(vectors: NDArray[np.floating[Any]], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    scaled = np.empty(vectors.shape, dtype=np.float32) if out is None else out
    for start, vectors_there in _pieces(vectors, IN_CACHE):
        part = as_float32(_near_one(vectors_there))
        np.divide(part, np.linalg.norm(part, axis=1, keepdims=True), out=scaled[start : start + len(part)])
    return scaled


def _pieces(vectors: NDArray[Any], numbers: int = 2 * CHUNK) -> Iterator[tuple[int, NDArray[Any]]]:
    """First row and rows, a part at a time: squares of the whole would take as much memory again."""
    step = max(1, numbers // vectors.shape[1])
    return ((start, vectors[start : start + step]) for start in range(0, len(vectors), step))


def _largest(vectors: NDArray[Any]) -> NDArray[Any]:
    """The size of the largest entry of each row, in float64: float16 cannot hold the bounds of `SAFE`."""
    return np.asarray(np.maximum(vectors.max(axis=1), -vectors.min(axis=1)), dtype=np.float64)


def _times_two_to(vectors: NDArray[Any], exponents: NDArray[np.int32] | np.int32) -> NDArray[Any]:
    """Multiplied in two steps, as 2**149 is more than a float32 holds; rounds nothing."""
    halves = exponents // 2
    return np.asarray(np.ldexp(np.ldexp(vectors, halves), exponents - halves))


def _near_one(vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The same directions, with rows so long or short that their squares are not finite or 0 scaled first.

    By a power of two, which rounds nothing. No number of float16 lies beyond `SAFE`.
    """
    if vectors.dtype == np.float16:
        return vectors
    largest = _largest(vectors)
    extreme = (largest > 0) & ((largest < SAFE[0]) | (largest > SAFE[1]))
    if not extreme.any():
        return vectors
    vectors = np.array(vectors)
    exponents = np.frexp(largest[extreme])[1]
    vectors[extreme] = _times_two_to(vectors[extreme], -exponents[:, None])
    return vectors
