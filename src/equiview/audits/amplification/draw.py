"""Scores by group, what goes with whom in replies and in what people say, leakage, and examples."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits.amplification.leakage import SOURCES
from equiview.audits.amplification.leaning import Tasks
from equiview.audits.amplification.measure import Replied
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.charts import MEASURED, intervals
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure

WORDS = {"replies": "the subject", "humans": "people"}
SIDES = ("true", "replied")
AGREED = "both agree"
SHOWN = 40
"""Answers or nouns that are drawn, the most frequent."""


def draw(view: Replied, estimates: Estimates, settings: AmplificationSettings) -> list[Figure | None]:
    """The figures, for each attribute in turn."""
    figures: list[Figure | None] = []
    for attribute, tasks in view.tasks.items():
        figures += [
            _leakage(estimates, attribute),
            None if tasks is None else _gaps(tasks, attribute),
            _scores(estimates, view.metric, attribute),
        ]
    return figures


def _scores(estimates: Estimates, metric: str, attribute: str) -> Chart | None:
    rows = estimates.by("group", metric, attribute=attribute).table
    if not len(rows):
        return None
    return intervals(
        name=f"score-by-{attribute}",
        title=f"{metric} of replies, by {attribute}",
        see="Level points say that the subject serves all groups alike. How hard the images of a group are "
        "counts too: people's captions and questions about them may be harder to meet.",
        table=rows.select("group", *MEASURED),
        x=("group", attribute),
        y_title=metric,
        label="group",
        percent=metric == "accuracy",
    )


def _gaps(tasks: Tasks, attribute: str) -> Chart:
    """Each task's share in what is said of a group less that of the others, in replies and by people."""
    gaps = tasks.gaps()
    mean = {
        name: (pl.col(name) * len(tasks.groups) - pl.col(name).sum().over("task")) / (len(tasks.groups) - 1)
        for name in ("replied", "true")
    }
    frequent = gaps.group_by("task", maintain_order=True).agg(pl.col("true").max())
    kept = frequent.sort("true", "task", descending=[True, False]).head(SHOWN)["task"]
    table = gaps.with_columns(**mean).filter(pl.col("task").is_in(kept.implode()))
    table = table.sort("task", "group").select("task", "group", "replied", "true", "n")
    if len(tasks.groups) == 2:  # the other group's points are the same, mirrored
        table = table.filter(group=tasks.groups[0])
    return Chart(
        name=f"what-goes-with-{attribute}",
        title=f"What is said of whom: how much more often of {tasks.groups[0]} than of others"
        if len(tasks.groups) == 2
        else f"What is said of whom, by {attribute}: how much more often of a group than of others",
        see="Each point is an answer or a noun. Right of the middle people say it more of the group, above "
        "the middle the subject does. On the rising line both agree; steeper than that is amplification.",
        table=pl.concat([table.with_columns(series=pl.col("group")), _line(table)], how="diagonal_relaxed"),
        mark="scatter",
        x="true",
        y="replied",
        color="series",
        domain=(*tasks.groups, AGREED),
        label="task",
        x_title="in what people say, difference of shares",
        y_title="in replies, difference of shares",
    )


def _line(table: pl.DataFrame) -> pl.DataFrame:
    """The line on which both agree, as dots."""
    reach = float(np.abs(table.select(SIDES).to_numpy()).max())
    ends = pl.DataFrame({"true": [reach * step / 20 for step in range(-20, 21)]})
    return ends.with_columns(replied=pl.col("true"), series=pl.lit(AGREED), task=pl.lit(AGREED))


def _leakage(estimates: Estimates, attribute: str) -> Chart | None:
    rows = estimates.by("of", "leakage", attribute=attribute).table
    if len(rows) < len(SOURCES):
        return None
    table = rows.select(*MEASURED, "chance", source=pl.col("of").replace(WORDS))
    return intervals(
        name=f"leakage-of-{attribute}",
        title=f"How well {attribute} is guessed from captions without the words that say it",
        see="Confidence of a classifier where it guesses right, else 0, on average. What lies above people's "
        "captions is what the subject adds; the tick is what is guessed where people are shuffled.",
        table=table,
        x=("source", "captions by"),
        y_title="leakage",
        marker="chance" if table["chance"].null_count() == 0 else None,
        label="source",
        percent=True,
    )
