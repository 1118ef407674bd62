"""Matching with equally many candidates of every group, so that no group is harder for being larger."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits.parity.answers import Answers, Correct
from equiview.audits.parity.tasks import DIRECTIONS
from equiview.metrics import balanced_recall

DIRECTION = DIRECTIONS[0]
"""Groups are of the images, and the candidates are captions of images."""


def balanced(answers: Answers, groups: pl.DataFrame, values: list[str]) -> tuple[Correct, float] | None:
    """R@1 by image and language, expected among candidates drawn equally often from each group, and chance.

    `groups` are the rows of one attribute: `query_id`, `attribute`, `value`. Groups with fewer than `least`
    images in some language take no part, and neither do images without a group. None when fewer than two
    groups are left.
    """
    rows = answers.matches.filter(direction=DIRECTION).join(
        groups.select("query_id", "attribute", "value"), on="query_id", maintain_order="left"
    )
    if not len(rows):
        return None
    first_round = rows.filter(pl.col("round") == rows["round"].min())
    sizes = first_round.pivot("value", index="language", values="rank", aggregate_function="len").fill_null(0)
    kept = [v for v in values if v in sizes.columns and sizes[v].min() >= answers.settings.least]  # type: ignore[operator]
    if len(kept) < 2:
        return None
    each = int(sizes.select(pl.min_horizontal(kept).min()).item())
    rows = rows.filter(pl.col("value").is_in(kept)).with_row_index("row")
    keys = ["query_id", "language", "round"]
    counts = answers.ahead.filter(pl.col("value").is_in(kept))
    at = counts.join(rows.select("row", "attribute", *keys), on=["attribute", *keys])
    order = pl.Enum(kept)
    ahead = np.zeros((len(rows), len(kept)), dtype=np.int64)
    ahead[at["row"].to_numpy(), at["value"].cast(order).to_physical().to_numpy()] = at["ahead"].to_numpy()
    own = rows["value"].cast(order).to_physical().to_numpy()
    hits = np.empty(len(rows))
    for size in sizes.iter_rows(named=True):
        of_language = (rows["language"] == size["language"]).to_numpy()
        pool = [size[value] for value in kept]
        hits[of_language] = balanced_recall(ahead[of_language], own[of_language], pool, each)
    return answers.by_image(rows.with_columns(correct=pl.Series(hits))), 1 / (len(kept) * each)
