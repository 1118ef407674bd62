"""Accuracy of people as a table of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from equiview.data.estimates import Estimates
from equiview.errors import InputError


def table_1(estimates: Estimates, task: str = "gender", within: str = "race") -> pl.DataFrame:
    """Accuracy as in F's Table 1: a row for each language and gender, a column for each race.

    `estimates` are those of the audit. Values are percentages; the third row of a language is the absolute
    gap, and `Average` is over all images. InputError when the run did not classify `task` by `within`.
    """
    average = estimates.by(("language", "group"), "accuracy", task=task, attribute=task).table
    cells = estimates.by(
        ("language", "group", "within_group"), "accuracy", task=task, attribute=task, within=within
    ).table
    if not len(cells):
        raise InputError(
            f"the run has no accuracy of {task} by group; it needs labels of {task} and {within}"
        )
    columns = [*cells["within_group"].unique(maintain_order=True), "Average"]
    long = pl.concat([average.with_columns(within_group=pl.lit("Average")), cells])
    wide = long.pivot("within_group", index=["language", "group"], values="value", maintain_order=True)
    gap = [(pl.col(name).max() - pl.col(name).min()).alias(name) for name in columns]
    parts = []
    for (language,), part in wide.group_by("language", maintain_order=True):
        labels = (pl.lit(language).alias("language"), pl.lit("gap").alias("group"))
        parts += [part.select("language", "group", *columns), part.select(*labels, *gap).head(1)]
    return pl.concat(parts).with_columns((pl.col(columns) * 100).round(1))


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {"table-1": table_1}
