"""Items whose rank among those of their own group is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """Pairs of a query and an item by row, queries in order, and the group of every item `(n_gallery,)`.

    Groups are whole numbers from 0.
    """

    queries: Integers
    items: Integers
    groups: NDArray[np.integer[Any]]

    @classmethod
    def none(cls, n_gallery: int) -> Targets:
        """No pair, of a gallery of so many items."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(n_gallery, dtype=np.int64))

    def where(self, start: int, stop: int) -> slice:
        """Where those of queries `start` to `stop` are."""
        return slice(*np.searchsorted(self.queries, (start, stop)).tolist())

    def of(self, start: int, stop: int) -> Targets:
        """Those of queries `start` to `stop`, their queries counted from `start`."""
        here = self.where(start, stop)
        return replace(self, queries=self.queries[here] - start, items=self.items[here])
