"""Differences of systems in pairs as the page writes them, and letters for those that are not told apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equiview.audits import label_of
from equiview.data.comparison import quantity_of
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.report.words import interval, metric_of, number, probability, signed
from equiview.stats import letters_of

SURE = 0.05


@dataclass(frozen=True)
class Apart:
    """A headline of several systems: each one's value, and letters that those share that are not told apart.

    `better` is the metric's better direction, if it has one.
    """

    metric: str
    better: str | None
    cells: tuple[tuple[str, str], ...]

    @property
    def alike(self) -> str:
        """The value of all systems as it is written; "" where they differ."""
        values = {cell for cell in self.cells if cell[0]}
        return values.pop()[0] if len(values) == 1 else ""


def compared(comparison: pl.DataFrame | None, audit: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Rows of the comparison as the page writes them.

    A system is called better only if its verdict says that it can do the audit's task at all.
    """
    if comparison is None or not len(comparison):
        return []
    able = {run.name for run in runs for verdict in run.verdicts if verdict.audit == audit and verdict.able}
    rows = comparison.filter(pl.col("audit") == audit).iter_rows(named=True)
    return [_compared(audit, quantity_of(row), row, able) for row in rows]


def _compared(audit: str, about: Quantity, row: dict[str, Any], able: Collection[str]) -> dict[str, Any]:
    metric = metric_of(audit, about.metric)
    unit, difference = metric.unit, row["difference"]
    of_difference = "points" if unit in {"share", "points"} else unit
    sure = is_sure(row)
    better = None
    if sure and metric.better and difference:
        better = row["b"] if (difference < 0) == (metric.better == "lower") else row["a"]
        better = better if better in able else None
    return {
        "metric": label_of(audit, about),
        "a": row["a"],
        "b": row["b"],
        "value_a": number(row["value_a"], unit),
        "value_b": number(row["value_b"], unit),
        "difference": "–" if difference is None else signed(difference, of_difference),
        "interval": "" if difference is None else interval(row["low"], row["high"], of_difference),
        "p": probability(row["p_holm"]),
        "n": number(row["n"]),
        "sure": sure,
        "alike": number(row["value_a"], unit) if difference == 0 else "",
        "better": better,
    }


def is_sure(row: dict[str, Any]) -> bool:
    """Whether a row of a comparison shows a difference."""
    return row["p_holm"] is not None and row["p_holm"] < SURE and row["difference"] is not None


def apart(comparison: pl.DataFrame, audit: str, names: Sequence[str]) -> list[Apart]:
    """A row for each headline of an audit that all pairs of `names` were compared by; "" where one lacks it.

    A headline that not all pairs of the systems that have it were compared by has no row: letters would then
    say of two systems that they are not told apart that nobody compared.
    """
    of_audit: dict[Quantity, list[dict[str, Any]]] = {}
    for row in comparison.filter(pl.col("audit") == audit).iter_rows(named=True):
        of_audit.setdefault(quantity_of(row), []).append(row)
    found = []
    for about, rows in of_audit.items():
        values = {row[end]: row[f"value_{end}"] for row in rows for end in ("a", "b")}
        if len(rows) < len(values) * (len(values) - 1) // 2:
            continue
        metric = metric_of(audit, about.metric)
        # Letters from the best to the worst, or from the largest where neither end is good.
        upward = metric.better == "lower"
        order = sorted(values, key=lambda name: values[name] if upward else -values[name])
        at = {name: place for place, name in enumerate(order)}
        told = sorted(
            (min(at[row["a"]], at[row["b"]]), max(at[row["a"]], at[row["b"]])) for row in rows if is_sure(row)
        )
        letters = dict(zip(order, letters_of(len(order), told), strict=True))
        cells = tuple(
            (number(values[name], metric.unit), letters[name]) if name in values else ("", "")
            for name in names
        )
        found.append(Apart(label_of(audit, about), metric.better, cells))
    return found


def as_table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Pairs as `compared` gives them, as a table of words and numbers for the page's script."""
    return pl.DataFrame(
        [
            {
                "metric": row["metric"], "first": row["a"], "second": row["b"],
                "of first": row["value_a"], "of second": row["value_b"],
                "second − first": row["difference"], "95% interval": row["interval"],
                "p (Holm)": row["p"], "better": row["better"] or ("they differ" if row["sure"] else "–"),
            }
            for row in rows
        ]
    )  # fmt: skip
