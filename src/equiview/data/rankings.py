"""Rankings: the best `k` items for each query, best first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.errors import InputError


@dataclass(frozen=True)
class Rankings:
    """Item row numbers and scores by rank, both `(n_queries, k)`. Equal scores are in row order."""

    items: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.items.ndim != 2 or self.items.shape != self.scores.shape:
            raise InputError(
                f"rankings need items and scores of one shape (n_queries, k); got {self.items.shape} "
                f"and {self.scores.shape}"
            )
        if not np.isfinite(self.scores).all():
            row = int(np.argwhere(~np.isfinite(self.scores))[0, 0])
            raise InputError(f"rankings: query {row + 1} has a score that is not a finite number")

    @property
    def depth(self) -> int:
        """How many ranks each query has."""
        return int(self.items.shape[1])

    def __len__(self) -> int:
        return int(self.items.shape[0])

    def table(self, query_ids: pl.Series, item_ids: pl.Series) -> pl.DataFrame:
        """A row for each rank of each query: query_id, rank from 1, item_id, score."""
        return pl.DataFrame(
            {
                "query_id": query_ids.gather(np.repeat(np.arange(len(self)), self.depth)),
                "rank": np.tile(np.arange(1, self.depth + 1, dtype=np.int32), len(self)),
                "item_id": item_ids.gather(self.items.ravel()),
                "score": self.scores.ravel(),
            }
        )
