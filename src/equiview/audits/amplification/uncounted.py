"""Answers of which no lean is counted: none that people often give, or no reply at all.

A subject that refuses to answer about one group ties its refusals to who is shown, and amplification, which
is of what people say, does not see it. So they are compared between groups. Captions of that kind are seen by
the classifier, unless they are missing. Ours; in no paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import polars as pl

from equiview.audits.estimating import Rows
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.stats import combined_interval, mean_interval

UNCOUNTED = "uncounted replies"


def add_uncounted(
    rows: Rows, observations: Observations, attribute: str, groups: Sequence[str], tolerance: float
) -> None:
    """The share of each group's replies, where one has more than another; else nothing.

    More is what is shown to be more, and is not shown to be more by no more than `tolerance`.
    """
    tasks, replies = observations["tasks"], observations["replies"]
    people = observations["people"].filter(attribute=attribute).select("image_id", "group")
    counted = tasks.filter(pl.col("replied") > 0)["query_id"].implode()
    asked = pl.col("reply").is_null() | pl.col("query_id").is_in(tasks["query_id"].implode())
    said = pl.col("query_id").is_in(counted) | (pl.col("task") != "questions")
    shown = replies.filter(asked).join(people, on="image_id", maintain_order="left")
    shown = shown.with_columns(lost=(pl.col("reply").is_null() | ~said).cast(pl.Float64))
    found = {}
    for group in groups:
        part = shown.filter(group=group)
        if len(part):
            clusters = part["image_id"].rank("dense").to_numpy().astype(np.int64)
            found[group] = mean_interval(part["lost"].to_numpy(), clusters=clusters)
    ends = {group: (float(of.value), float(of.low), float(of.high)) for group, of in found.items()}
    apart = (
        combined_interval([(1, ends[more]), (-1, ends[less])])
        for more, less in permutations(ends, 2)
        if ends[more][0] > ends[less][0]
    )
    if any(not low <= 0 and not high <= tolerance for _, low, high in apart):
        for group, of in found.items():
            rows.add_known(quantity(UNCOUNTED, attribute=attribute, group=group), ends[group], of.n)
