"""The trials as ranked lists of three, for the explorer."""

from __future__ import annotations

import polars as pl

from equiview.audits.association.measure import Trials
from equiview.benchmarks.trials import ROLES
from equiview.data.lists import RankedLists


def explore(view: Trials) -> RankedLists:
    """Each trial as a query, its candidates in the order of their scores; the semantic one is right."""
    trials = view["trials"]
    texts = view["texts"].select(query_id="text_id", asked="text")
    # The trials of the first direction: in the second the same pictures are asked by a picture.
    trials = trials.filter(pl.col("direction") == trials["direction"][0]).join(
        texts, on="query_id", how="left", maintain_order="left"
    )
    parts = [
        trials.select(
            query_id="trial_id",
            item_id=f"{role}_id",
            score=f"{role}_score",
            relevant=pl.lit(role == ROLES[0]),
        )
        for role in ROLES
    ]
    # Equal scores stand in the order of the roles, as the first of them is taken to win.
    rankings = pl.concat(parts).with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int32)
    )
    label = pl.format("{} ({}, {})", pl.coalesce("asked", "query_id"), "concept", "country")
    queries = trials.select(label.alias("label"), "language", "country", query_id="trial_id")
    items = view["images"].select(
        "country", "picture", item_id="image_id", text=pl.format("{}, {}", "concept", "country")
    )
    return RankedLists(queries, items, rankings)
