"""Vectors of items: one for each item, or several (one a token), all of one width.

One vector for each is a plain array `(n, width)`. Several are `TokenVectors`. `Vectors` is either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import InputError

CHUNK = 2**22
"""Numbers read at a time when a large array is checked."""


@dataclass(frozen=True)
class TokenVectors:
    """Several vectors an item: rows `offsets[i]` to `offsets[i + 1]` of `values` belong to item `i`.

    `values` is `(total_tokens, width)`, float16 or float32, loaded or mapped from a file; `offsets` is
    `(n_items + 1,)`, from 0 up to `total_tokens`. Every item has at least one vector.

    >>> vectors = TokenVectors.of([[[1, 0]], [[0, 1], [1, 1]]])
    >>> len(vectors), vectors.width, vectors[1].tolist()
    (2, 2, [[0.0, 1.0], [1.0, 1.0]])
    """

    values: NDArray[np.floating[Any]]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise InputError(f"token vectors of shape {self.values.shape}; expected (total_tokens, width)")
        ends = self.offsets
        if ends.ndim != 1 or not len(ends) or ends[0] != 0 or ends[-1] != len(self.values):
            raise InputError(
                f"offsets of token vectors must run from 0 to {len(self.values)}, with one more than items"
            )
        if (empty := np.flatnonzero(np.diff(ends) < 1)).size:
            raise InputError(f"item {empty[0] + 1} has no token vector; each item needs at least one")

    @classmethod
    def of(cls, items: Iterable[ArrayLike]) -> TokenVectors:
        """From one `(n_tokens, width)` array for each item."""
        arrays = [np.asarray(item) for item in items]
        for row, item in enumerate(arrays):
            if item.ndim != 2 or not len(item) or item.shape[1] != arrays[0].shape[1]:
                raise InputError(
                    f"item {row + 1} has vectors of shape {item.shape}; expected (n_tokens, width), at least "
                    "one token, and one width for all"
                )
        dtype = np.float16 if arrays and all(item.dtype == np.float16 for item in arrays) else np.float32
        offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
        values = np.empty((int(offsets[-1]), arrays[0].shape[1] if arrays else 0), dtype=dtype)
        arrays.reverse()
        for start in offsets[:-1]:  # each array is released once copied, so that none is held twice
            array = arrays.pop()
            values[start : start + len(array)] = array
        return cls(values, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.values.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many vectors each item has, `(n_items,)`."""
        return np.diff(self.offsets)

    def __getitem__(self, row: int) -> NDArray[np.floating[Any]]:
        """The vectors of one item, `(n_tokens, width)`."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"item {row} of {len(self)}")
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.floating[Any]]]:
        return (self[row] for row in range(len(self)))

    def part(self, start: int, stop: int) -> TokenVectors:
        """The vectors of items `start` to `stop`, not copied."""
        offsets = self.offsets[start : stop + 1]
        return TokenVectors(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def take(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> TokenVectors:
        """The vectors of these items, in that order, copied."""
        chosen = np.asarray(rows, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(self.lengths[chosen])])
        values = np.empty((int(offsets[-1]), self.width), dtype=self.values.dtype)
        for place, row in enumerate(chosen):
            values[offsets[place] : offsets[place + 1]] = self[int(row)]
        return TokenVectors(values, offsets)


Vectors: TypeAlias = NDArray[np.float32] | TokenVectors
"""What an encoder returns for items: one vector for each, or several."""


def one_each(vectors: Vectors) -> NDArray[np.float32]:
    """One vector an item, `(n_items, width)`: several become their mean. For maps, not for ranking.

    >>> one_each(TokenVectors.of([[[1, 0]], [[0, 1], [1, 1]]])).tolist()
    [[1.0, 0.0], [0.5, 1.0]]
    """
    if not isinstance(vectors, TokenVectors):
        return vectors
    means = np.empty((len(vectors), vectors.width), dtype=np.float32)
    for row, tokens in enumerate(vectors):
        means[row] = tokens.mean(axis=0, dtype=np.float32)
    return means


def values_of(vectors: Vectors) -> NDArray[np.floating[Any]]:
    """All vectors, `(n, width)`, of whichever items they are."""
    return vectors.values if isinstance(vectors, TokenVectors) else vectors


def rows_with(problem: str, vectors: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Which rows of `(n, width)` are not finite (`"nan"`) or all zero (`"zero"`), read in chunks."""
    bad = np.empty(len(vectors), dtype=bool)
    step = max(1, CHUNK // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step]
        bad[start : start + step] = ~np.isfinite(part).all(axis=1) if problem == "nan" else ~part.any(axis=1)
    return bad


def taken(vectors: Vectors, rows: Sequence[int] | NDArray[np.integer[Any]]) -> Vectors:
    """The vectors of these items, one or several each, in that order, copied.

    >>> taken(np.array([[1.0], [2.0]], dtype=np.float32), [1, 0]).tolist()
    [[2.0], [1.0]]
    """
    if isinstance(vectors, TokenVectors):
        return vectors.take(rows)
    return vectors[np.asarray(rows, dtype=np.int64)]
