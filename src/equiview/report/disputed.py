"""One query across all systems: that on which they differ most, with the first results of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.report.figures import entry_of, shown_picture

TOP = 5
"""Results that are shown of each system."""


@dataclass(frozen=True)
class Example:
    """A query, and its first results by each system; systems with the same results stand together.

    `lists` are (names of systems, entries as `figures.entry_of` gives them).
    """

    audit: str
    heading: str
    picture: str | None
    lists: tuple[tuple[tuple[str, ...], tuple[dict[str, Any], ...]], ...]


def most_disputed(first_right: NDArray[np.int64]) -> int | None:
    """The query on which systems differ most; `first_right` has ranks, 0 for none, `(n_systems, n_queries)`.

    Most pairs of systems differ in whether their first result is right; of such queries that with the largest
    factor between the ranks of first right results, then the first. None where all are alike.

    >>> most_disputed(np.array([[1, 1, 2], [1, 0, 3]]))
    1
    """
    if first_right.shape[1] == 0:
        return None
    right = (first_right == 1).sum(axis=0)
    pairs = right * (len(first_right) - right)
    last = first_right.max() + 1
    ranks = np.where(first_right == 0, last, first_right)
    apart = ranks.max(axis=0) / ranks.min(axis=0)
    found = int(np.lexsort((-apart, -pairs))[0])
    return found if apart[found] > 1 else None


def example_of(
    audit: str,
    ranked: Mapping[str, pl.DataFrame],
    first_right: NDArray[np.int64],
    queries: pl.DataFrame,
    items: pl.DataFrame,
) -> Example | None:
    """The most disputed query of some systems; None for one system, and where all are alike.

    `ranked` has rows of query (its row in `queries`), rank, item_id, score and relevant by system.
    """
    query = most_disputed(first_right) if len(ranked) > 1 else None
    if query is None:
        return None
    attributes = {"language": "language", "tier": "tier", "note": "country"}
    shown = items.select(
        "item_id",
        "text",
        *(pl.col(of).alias(name) for name, of in attributes.items() if of in items.columns),
        item_picture=pl.col("picture") if "picture" in items.columns else pl.lit(None, dtype=pl.Binary),
    )
    together: dict[tuple[str, ...], list[str]] = {}
    entries: dict[tuple[str, ...], tuple[dict[str, Any], ...]] = {}
    for name, rows in ranked.items():
        first = rows.filter(pl.col("query") == query, pl.col("rank") <= TOP)
        key = tuple(first["item_id"])
        together.setdefault(key, []).append(name)
        if key not in entries:
            table = first.join(shown, on="item_id", how="left", maintain_order="left")
            table = table.with_columns(correct=pl.col("relevant"), score=pl.lit(None, dtype=pl.Float64))
            entries[key] = tuple(entry_of(row) for row in table.iter_rows(named=True))
    picture = queries["picture"][query] if "picture" in queries.columns else None
    return Example(
        audit,
        queries["label"][query],
        shown_picture(picture),
        tuple((tuple(names), entries[key]) for key, names in together.items()),
    )
