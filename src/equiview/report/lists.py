"""What the explorer shows of a run: for each query a ranked list, read from what an audit observed.

Two kinds of observation hold lists: rankings of a pool, and trials, which are lists of three candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview.data.run import Run


@dataclass(frozen=True)
class Observed:
    """Lists of one run.

    `queries` has `query_id`, `label` and may have `picture`, `language`, `country`; `items` has `item_id`,
    `text` and may have `picture`, `language`, `tier`, `country`; `rankings` has `query_id`, `rank`,
    `item_id`, `score`, `relevant`.
    """

    queries: pl.DataFrame
    items: pl.DataFrame
    rankings: pl.DataFrame


def observed(run: Run, audit: str) -> Observed | None:
    """The lists of one audit of a run; None when it observed none."""
    if _there(run, audit, "queries", "items", "rankings"):
        return _ranked(run, audit)
    if _there(run, audit, "trials", "texts", "images"):
        return _trials(run, audit)
    return None


def _ranked(run: Run, audit: str) -> Observed:
    queries = _read(run, audit, "queries")
    label = pl.coalesce("label", "query_id") if "label" in queries.columns else pl.col("query_id")
    items = _read(run, audit, "items")
    if "text" not in items.columns:
        items = items.with_columns(text=pl.col("item_id"))
    return Observed(queries.with_columns(label=label), items, _read(run, audit, "rankings"))


def _trials(run: Run, audit: str) -> Observed:
    """Each trial as a query, its candidates in the order of their scores; the semantic one is right."""
    trials, images = _read(run, audit, "trials"), _read(run, audit, "images")
    words = _read(run, audit, "texts").select(query_id="text_id", asked="text")
    # The trials of the first direction: in the second the same pictures are asked by a picture.
    trials = trials.filter(pl.col("direction") == trials["direction"][0]).join(
        words, on="query_id", how="left", maintain_order="left"
    )
    roles = [name.removesuffix("_score") for name in trials.columns if name.endswith("_score")]
    parts = [
        trials.select(
            query_id="trial_id", item_id=f"{role}_id", score=f"{role}_score", relevant=pl.lit(place == 0)
        )
        for place, role in enumerate(roles)
    ]
    # Equal scores stand in the order of the roles, as the first of them is taken to win.
    rankings = pl.concat(parts).with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int32)
    )
    label = pl.format("{} ({}, {})", pl.coalesce("asked", "query_id"), "concept", "country")
    queries = trials.select(label.alias("label"), "language", "country", query_id="trial_id")
    items = images.select(
        "country", "picture", item_id="image_id", text=pl.format("{}, {}", "concept", "country")
    )
    return Observed(queries, items, rankings)


def _path(run: Run, audit: str, name: str) -> Path:
    return run.folder / "observations" / f"{audit}.{name}.parquet"


def _there(run: Run, audit: str, *names: str) -> bool:
    return all(_path(run, audit, name).is_file() for name in names)


def _read(run: Run, audit: str, name: str) -> pl.DataFrame:
    return pl.read_parquet(_path(run, audit, name))
