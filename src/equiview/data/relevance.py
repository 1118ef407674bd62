"""Relevance: which items answer which query, as pairs of row numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import InputError


@dataclass(frozen=True)
class Relevance:
    """Binary relevance of `n_items` items to `n_queries` queries.

    `queries` and `items` are equally long, sorted by (query, item), without repeats.

    >>> relevance = Relevance.from_pairs([0, 0, 1], [0, 2, 1], n_queries=2, n_items=3)
    >>> relevance.counts.tolist()
    [2, 1]
    >>> relevance.mark(np.array([[2, 1], [2, 1]])).tolist()
    [[True, False], [False, True]]
    """

    queries: NDArray[np.int64]
    items: NDArray[np.int64]
    n_queries: int
    n_items: int

    @classmethod
    def from_pairs(cls, queries: ArrayLike, items: ArrayLike, *, n_queries: int, n_items: int) -> Relevance:
        """From two parallel lists of row numbers; repeats are dropped, rows out of range an error."""
        query = np.asarray(queries, dtype=np.int64)
        item = np.asarray(items, dtype=np.int64)
        if query.shape != item.shape or query.ndim != 1:
            raise InputError("relevance needs two lists of equal length: query rows and item rows")
        for name, rows, size in (("query", query, n_queries), ("item", item, n_items)):
            outside = rows[(rows < 0) | (rows >= size)]
            if outside.size:
                raise InputError(f"relevance names {name} {outside[0] + 1}, but there are only {size}")
        keys = np.unique(query * n_items + item)
        return cls(keys // n_items, keys % n_items, n_queries, n_items)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many items are relevant to each query, `(n_queries,)`."""
        return np.bincount(self.queries, minlength=self.n_queries)

    def mark(self, ranked: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Say for each ranked item row `(n_queries, k)` whether it is relevant to its query."""
        keys = self.queries * self.n_items + self.items
        ranked_keys = np.arange(self.n_queries)[:, None] * self.n_items + ranked
        if not keys.size:
            return np.zeros(ranked_keys.shape, dtype=bool)
        nearest = np.minimum(np.searchsorted(keys, ranked_keys), keys.size - 1)
        return np.asarray(keys[nearest] == ranked_keys)

    def of(self, rows: NDArray[np.int64]) -> Relevance:
        """That of some queries, whose `rows` are in order; query i is then that of row `rows[i]`.

        >>> both = Relevance.from_pairs([0, 1, 1], [0, 1, 2], n_queries=2, n_items=3)
        >>> both.of(np.array([1])).items.tolist()
        [1, 2]
        """
        kept = np.isin(self.queries, rows)
        queries = np.searchsorted(rows, self.queries[kept])
        return Relevance(queries, self.items[kept], len(rows), self.n_items)

    def reversed(self) -> Relevance:
        """The same pairs seen from the items: text to image from image to text."""
        return Relevance.from_pairs(self.items, self.queries, n_queries=self.n_items, n_items=self.n_queries)
