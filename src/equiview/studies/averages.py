"""Means over systems: one number for several models, as papers report it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from equiview.audits import installed
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import Metric, Quantity, quantity
from equiview.data.run import Run
from equiview.stats import student_interval
from equiview.studies.alike import alike

BEFORE: dict[str, DataTypeClass] = {"audit": pl.String, "metric": pl.String, "k": pl.Int32}
AFTER: dict[str, DataTypeClass] = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}


def averages(runs: Sequence[Run]) -> pl.DataFrame:
    """The mean over systems of each quantity that its audit averages (`Audit.averaged`).

    Runs are grouped by audit and by the items they are over. Columns: audit, metric, k, the keys of the
    quantity, value, low, high, n. Every system counts alike, and `n` is how many have the quantity, at least
    two. The interval is Student's over systems, within the range of the metric. It shows how far systems like
    these differ. It does not cover sampling of the items, which they share. The table is empty when there is
    nothing to average. InputError when two runs of a group are of one system.
    """
    rows: list[dict[str, Any]] = []
    for audit, members in alike(runs, "a mean over systems takes each once"):
        known = installed(audit)
        metrics = [known.metric(name) for name in known.averaged] if known else []
        estimates = [run.estimates.of(audit) for run in members]
        rows += [{"audit": audit} | row for row in mean_over(estimates, filter(None, metrics))]
    table = (
        pl.from_dicts(rows, schema_overrides=BEFORE | AFTER) if rows else pl.DataFrame(schema=BEFORE | AFTER)
    )
    keys = [name for name in table.columns if name not in (*BEFORE, *AFTER)]
    return table.select(*BEFORE, *keys, *AFTER)


def mean_of(row: Mapping[str, Any]) -> Estimate:
    """A row of `averages` as an estimate; its n is the number of systems."""
    keys = {name: key for name, key in row.items() if name not in (*BEFORE, *AFTER) and key is not None}
    return Estimate(quantity(row["metric"], row["k"], **keys), **{name: row[name] for name in AFTER})


def mean_over(systems: Sequence[Estimates], metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """A row for each quantity of `metrics` that at least two of the systems have; see `averages`."""
    rows = []
    for metric in metrics:
        values: dict[Quantity, list[float]] = {}
        for estimates in systems:
            for estimate in Estimates(estimates.table.filter(pl.col("metric") == metric.name)):
                values.setdefault(estimate.quantity, []).append(estimate.value)
        for wanted, of_systems in values.items():
            if len(of_systems) < 2:
                continue
            mean, *ends = student_interval(of_systems)
            low, high = (_within(end, metric) for end in ends)
            about = {"metric": wanted.metric, "k": wanted.k} | wanted.keys
            rows.append(about | {"value": mean, "low": low, "high": high, "n": len(of_systems)})
    return rows


def _within(value: float, metric: Metric) -> float:
    least, greatest = metric.range
    value = value if least is None else max(value, least)
    return value if greatest is None else min(value, greatest)
