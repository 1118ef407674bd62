"""Means over systems: one number for several models, as papers report it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from equiview.audits import installed
from equiview.audits.saying import listed
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import Metric, Quantity, quantity
from equiview.data.run import Run
from equiview.stats import student_interval
from equiview.studies.alike import alike

BEFORE: dict[str, DataTypeClass] = {"audit": pl.String, "metric": pl.String, "k": pl.Int32}
AFTER: dict[str, DataTypeClass] = {
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "alike": pl.String,
}


def averages(runs: Sequence[Run]) -> pl.DataFrame:
    """The mean over systems of each quantity that its audit averages (`Audit.averaged`).

    Runs are grouped by audit and by the items they are over. Columns: audit, metric, k, the keys of the
    quantity, value, low, high, n, alike. Every system counts alike, but systems with exactly the same value
    count once, as where they share the tower that it is measured of; `alike` names them. `n` is how many
    count. Two systems at least have the quantity; where only one counts there is no interval. The interval is
    Student's over systems, within the range of the metric. It shows how far systems like these differ. It
    does not cover sampling of the items, which they share. The table is empty when there is nothing to
    average. InputError when two runs of a group are of one system.
    """
    rows: list[dict[str, Any]] = []
    for audit, members in alike(runs, "a mean over systems takes each once"):
        known = installed(audit)
        metrics = [known.metric(name) for name in known.averaged] if known else []
        estimates = [run.estimates.of(audit) for run in members]
        names = [run.name for run in members]
        rows += [{"audit": audit} | row for row in mean_over(estimates, filter(None, metrics), names)]
    table = (
        pl.from_dicts(rows, schema_overrides=BEFORE | AFTER) if rows else pl.DataFrame(schema=BEFORE | AFTER)
    )
    keys = [name for name in table.columns if name not in (*BEFORE, *AFTER)]
    return table.select(*BEFORE, *keys, *AFTER)


def mean_of(row: Mapping[str, Any]) -> Estimate:
    """A row of `averages` as an estimate; its n is the number of systems."""
    keys = {name: key for name, key in row.items() if name not in (*BEFORE, *AFTER) and key is not None}
    low, high = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
    return Estimate(quantity(row["metric"], row["k"], **keys), row["value"], low, high, row["n"])


def mean_over(
    systems: Sequence[Estimates], metrics: Iterable[Metric], names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """A row for each quantity of `metrics` that at least two of the systems have; see `averages`."""
    rows = []
    for metric in metrics:
        measured: dict[Quantity, list[tuple[int, tuple[float, int]]]] = {}
        for at, estimates in enumerate(systems):
            for row in Estimates(estimates.table.filter(pl.col("metric") == metric.name)):
                measured.setdefault(row.quantity, []).append((at, (row.value, row.n)))
        for wanted, entries in measured.items():
            if len(entries) < 2:
                continue
            owners: dict[tuple[float, int], list[int]] = {}
            for at, entry in entries:
                owners.setdefault(entry, []).append(at)
            distinct = [value for value, _ in owners]
            if len(distinct) > 1:
                mean, *ends = student_interval(distinct)
                low, high = (_within(end, metric) for end in ends)
            else:
                mean, low, high = distinct[0], None, None
            alike = [listed(names[at] for at in own) for own in owners.values() if names and len(own) > 1]
            about = {"metric": wanted.metric, "k": wanted.k} | wanted.keys
            numbers = {"value": mean, "low": low, "high": high, "n": len(distinct)}
            rows.append(about | numbers | {"alike": "; ".join(alike) or None})
    return rows


def _within(value: float, metric: Metric) -> float:
    least, greatest = metric.range
    value = value if least is None else max(value, least)
    return value if greatest is None else min(value, greatest)
