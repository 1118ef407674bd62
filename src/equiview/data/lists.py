"""Ranked lists as a person looks through them: for each query what was returned, in order."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class RankedLists:
    """What an audit's observations hold for the explorer.

    `queries` has `query_id`, `label` and may have `picture`, `language`, `country`; `items` has `item_id`,
    `text` and may have `picture`, `language`, `tier`, `country`; `rankings` has `query_id`, `rank`,
    `item_id`, `score`, `relevant`.
    """

    queries: pl.DataFrame
    items: pl.DataFrame
    rankings: pl.DataFrame
