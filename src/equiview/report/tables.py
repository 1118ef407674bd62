"""A run's estimates as tables to paste: CSV, LaTeX, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from equiview.data.estimates import BASE, SCHEMA, Estimate, Estimates
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.errors import unknown_name
from equiview.io.tables import safe_csv
from equiview.report.charts import title_of
from equiview.report.grids import MARKDOWN, as_json, escaped, latex_grid, markdown_grid
from equiview.report.words import interval, metric_of, number, probability

TOO_FEW = "too few to judge"
NUMBERS = tuple(name for name in BASE if name not in {"audit", "metric", "k"})
"""Columns of the estimates that follow the keys."""
OPTIONAL = {column.name for column in SCHEMA.columns if column.nullable} - {"low", "high", "chance", "excess"}


def export(run: Run, format: str) -> str:
    """All estimates of a run in `format`: csv and json in full, latex and markdown as printed.

    Raises InputError for a format that is not one of `FORMATS`.
    """
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](run)


def estimates_table(runs: Sequence[Run], audit: str) -> pl.DataFrame:
    """The estimates of one audit, the subject first where there are several runs.

    Keys, cutoffs, p values and marks of rows with too few to judge by are left out where no row has them.
    """
    first = ["subject"] if len(runs) > 1 else []
    parts = [
        run.estimates.of(audit)
        .table.drop("audit")
        .select(*(pl.lit(run.name).alias(name) for name in first), pl.all())
        for run in runs
    ]
    table = pl.concat(parts, how="diagonal_relaxed")
    keys = [name for name in table.columns if name not in (*BASE, *first)]
    empty = {name for name in table.columns if table[name].null_count() == len(table)} & {*keys, *OPTIONAL}
    judged = pl.col("judged").replace_strict({True: "yes", False: TOO_FEW}, return_dtype=pl.String)
    return table.with_columns(judged).select(
        name for name in (*first, "metric", "k", *keys, *NUMBERS) if name not in empty
    )


def _json(run: Run) -> str:
    about = {"subject": run.manifest.subject.name, "benchmark": run.manifest.benchmark.name}
    return as_json(about | {"estimates": run.estimates.table.to_dicts()}) + "\n"


def _latex(run: Run) -> str:
    lines = []
    for audit, estimates, failure in _audits(run):
        title = f"{run.name} on {run.manifest.benchmark.name}: {audit}"
        if failure:
            lines += [f"% {title}. Not measured: {failure}", ""]
        else:
            lines += latex_grid(title, *_printed(audit, estimates))
    return "\n".join(lines)


def _markdown(run: Run) -> str:
    lines = []
    for audit, estimates, failure in _audits(run):
        title = f"{audit}: {run.name} on {run.manifest.benchmark.name}"
        if failure:
            heading = f"### {escaped(title, MARKDOWN)}"
            lines += [heading, "", f"Not measured: {escaped(failure, MARKDOWN)}", ""]
        else:
            lines += markdown_grid(title, *_printed(audit, estimates))
    return "\n".join(lines)


def _audits(run: Run) -> list[tuple[str, Estimates, str]]:
    """Each audit of a run with its estimates and, where it could not be measured, why."""
    failures = {failure.audit: " ".join(failure.message.split()) for failure in run.failures}
    estimates = run.estimates
    return [(audit, estimates.of(audit), failures.get(audit, "")) for audit in run.manifest.audits]


def _printed(audit: str, estimates: Estimates) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """A table for reading: its header, with whether a column is words, and its cells."""
    optional = {name: not estimates.table[name].is_null().all() for name in ("p", "p_holm")}
    optional["judged"] = False in estimates.table["judged"]
    header = [("metric", True), *((key, True) for key in estimates.keys), ("value", False)]
    header += [("95% interval", False), ("chance", False), ("n", False)]
    header += [(title_of(name), name == "judged") for name in optional if optional[name]]

    def cells(row: Estimate) -> list[str]:
        unit = metric_of(audit, row.quantity.metric).unit
        last = {
            "p": "" if row.p is None else probability(row.p),
            "p_holm": "" if row.p_holm is None else probability(row.p_holm),
            "judged": TOO_FEW if row.judged is False else "",
        }
        return [
            Quantity(row.quantity.metric, row.quantity.k).label(),
            *(row.quantity.keys.get(key, "") for key in estimates.keys),
            number(row.value, unit),
            interval(row.low, row.high, unit),
            "" if row.chance is None else number(row.chance, unit),
            number(row.n),
            *(last[name] for name in last if optional[name]),
        ]

    return header, [cells(row) for row in estimates]


FORMATS: dict[str, Callable[[Run], str]] = {
    "csv": lambda run: safe_csv(run.estimates.table),
    "latex": _latex,
    "markdown": _markdown,
    "json": _json,
}
