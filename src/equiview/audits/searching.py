"""Approximate search in an audit: its settings, the queries searched exactly as well, and its recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from equiview.audits.base import Settings
from equiview.data.metric import quantity, share
from equiview.data.values import ValueColumn, column
from equiview.io.tables import Column, Schema
from equiview.search import Index

LEAST_SAMPLE = 30
RECALL = share(
    "search recall",
    "share of the first results of an exact search that the search in use has among as many of its own, over "
    "the queries that were searched both ways",
    "higher",
)
EXACT = Schema(
    "exact",
    (
        Column("query_id", pl.String, "a query that was searched exactly as well"),
        Column("rank", pl.Int32, "place in the exact list, from 1"),
        Column("item_id", pl.String, "the item there"),
        Column("score", pl.Float32, "similarity"),
        Column("relevant", pl.Boolean, "whether the item is right for the query"),
    ),
    optional=True,
)
"""Lists of an exact search, where the audit's own come from one that may not be."""


class SearchSettings(Settings):
    """What an audit that ranks one pool lets a user choose of how it is searched."""

    search: Literal["exact", "hnsw", "ivf"] = Field(
        default="exact", description="exact, or approximately by an index of faiss: hnsw or ivf"
    )
    search_sample: int = Field(
        default=500,
        ge=LEAST_SAMPLE,
        description="queries that are searched exactly as well, to measure what an approximate search misses",
    )
    hnsw_m: int = Field(default=32, ge=2, le=512, description="links of an item in the graph (M)")
    hnsw_ef_construction: int = Field(default=200, ge=1, description="candidates while the graph is built")
    hnsw_ef_search: int = Field(default=256, ge=1, description="candidates while the graph is searched")
    ivf_nlist: int | None = Field(
        default=None, ge=1, description="cells of the index; none: 4 times the square root of the pool's size"
    )
    ivf_nprobe: int = Field(default=32, ge=1, description="cells that are searched")

    @model_validator(mode="after")
    def _of_the_search(self) -> Self:
        """An option of another search than the one in use would be silently without effect."""
        for kind in ("hnsw", "ivf"):
            given = sorted(name for name in self.model_fields_set if name.startswith(f"{kind}_"))
            changed = [n for n in given if getattr(self, n) != type(self).model_fields[n].default]
            if self.search != kind and changed:
                raise ValueError(f"{changed[0]} is an option of search={kind}; the search is {self.search}")
        return self

    @property
    def packages(self) -> tuple[str, ...]:
        """faiss, where it is used."""
        return () if self.search == "exact" else ("faiss-cpu",)

    @property
    def index(self) -> Index | None:
        """The index to search by; None: search exactly."""
        if self.search == "exact":
            return None
        return Index(
            kind=self.search,
            m=self.hnsw_m,
            ef_construction=self.hnsw_ef_construction,
            ef_search=self.hnsw_ef_search,
            nlist=self.ivf_nlist,
            nprobe=self.ivf_nprobe,
            seed=self.seed_of("index") % 2**31,
        )

    def sampled(self, n_queries: int) -> NDArray[np.int64]:
        """Rows of the queries that are searched exactly as well, in order."""
        rng = np.random.default_rng(self.seed_of("exact search"))
        count = min(self.search_sample, n_queries)
        return np.sort(rng.choice(n_queries, count, replace=False))


def recall_columns(
    found: NDArray[np.integer[Any]],
    exact: NDArray[np.integer[Any]],
    cutoffs: Sequence[int],
    groups: Mapping[str, tuple[Sequence[str], NDArray[np.int64]]],
) -> list[ValueColumn]:
    """The share of `exact` `(n, depth)` that `found` has, by cutoff; and of the items of each group alone.

    `groups` has by key the names of groups, and the group of every item. nan for a query in whose exact list
    no item is of the group.

    >>> found, exact = np.array([[2, 0]]), np.array([[0, 1]])
    >>> columns = recall_columns(found, exact, [1, 2], {"tier": (["high", "low"], np.array([0, 1, 0]))})
    >>> {column.quantity.label(): column.values.tolist() for column in columns if column.quantity.k == 2}
    {'search recall@2': [0.5], 'search recall@2, high tier': [1.0], 'search recall@2, low tier': [0.0]}
    """
    columns, own = [], []
    for k in cutoffs:
        there = (found[:, None, :k] == exact[:, :k, None]).any(axis=2)
        columns.append(column(RECALL.name, there.mean(axis=1), k=k))
        for key, (names, of_item) in groups.items():
            label = of_item[exact[:, :k]]
            for place, name in enumerate(names):
                mine = label == place
                with np.errstate(invalid="ignore"):
                    shares = (there & mine).sum(axis=1) / mine.sum(axis=1)
                if mine.any():
                    own.append(ValueColumn(quantity(RECALL.name, k, **{key: name}), shares))
    return [*columns, *own]
