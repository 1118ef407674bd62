"""Estimates of runs as tables to paste: CSV, LaTeX, Markdown, JSON; and comparisons alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from equiview.audits import label_of
from equiview.data.comparison import AFTER, BEFORE, quantity_of
from equiview.data.estimates import BASE, SCHEMA, Estimate, Estimates
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.data.stamped import SCHEMA_VERSION, read_stamped
from equiview.errors import InputError, unknown_name
from equiview.io.printing import as_json
from equiview.io.tables import Column, Schema, safe_csv
from equiview.report.cards import eval_results, factsheet, model_card
from equiview.report.charts import title_of
from equiview.report.grids import MARKDOWN, Header, Rows, escaped, latex_grid, markdown_grid
from equiview.report.words import interval, metric_of, number, probability, signed
from equiview.studies import told_apart
from equiview.studies.gate import rows_of

TOO_FEW = "too few to judge"
NUMBERS = tuple(name for name in BASE if name not in {"audit", "metric", "k"})
"""Columns of the estimates that follow the keys."""
OPTIONAL = {column.name for column in SCHEMA.columns if column.nullable} - {"low", "high", "chance", "excess"}
FILE = "comparison.parquet"
COMPARISON = Schema(
    "comparison",
    tuple(
        Column(name, dtype, "of a comparison", nullable=name not in {"audit", "metric", "a", "b"})
        for name, dtype in (BEFORE | AFTER).items()
    ),
)


@dataclass(frozen=True)
class Part:
    """What is exported of one run: some audits, and their estimates."""

    run: Run
    audits: tuple[str, ...]
    estimates: Estimates


Parts: TypeAlias = Sequence[Part]


def export(runs: Run | Sequence[Run], format: str, *, audit: str = "", metric: str = "") -> str:
    """Estimates of runs in a format of `FORMATS`: csv and json in full, latex and markdown as printed.

    Of several runs one table, the system first in each row. `audit` and `metric`, `METRIC@K[KEY=VALUE]`,
    choose rows. Formats of `CARDS` are of one run as a whole. InputError for an unknown format, and where no
    row is chosen.
    """
    chosen = [runs] if isinstance(runs, Run) else told_apart(runs)
    if format in CARDS:
        if len(chosen) != 1 or audit or metric:
            raise InputError(
                f"format {format!r} is of one run as a whole; leave out the other runs and choices"
            )
        return CARDS[format](chosen[0])
    if format not in FORMATS:
        raise unknown_name("format", format, [*FORMATS, *CARDS])
    return FORMATS[format]([_part(run, audit, metric) for run in chosen])


def export_comparison(folder: Path, format: str) -> str:
    """The comparison in a folder, in a format of `FORMATS`; InputError where there is none."""
    if format not in FORMATS:
        raise unknown_name("format of a comparison", format, FORMATS)
    table = read_stamped(folder / FILE, COMPARISON)
    if format == "csv":
        return safe_csv(table)
    if format == "json":
        return as_json({"schema_version": SCHEMA_VERSION, "comparison": table.to_dicts()}) + "\n"
    names = ("audit", "metric", "first", "second", "first value", "second value", "second − first")
    header = [(name, place < 4) for place, name in enumerate(names)]
    header += [("95% interval", False), ("p (Holm)", False), ("n", False)]
    rows = [_compared(row) for row in table.iter_rows(named=True)]
    grid = latex_grid if format == "latex" else markdown_grid
    return "\n".join(grid("Paired differences", header, rows))


def _compared(row: dict[str, Any]) -> list[str]:
    about = quantity_of(row)
    unit = metric_of(row["audit"], about.metric).unit
    points = "points" if unit == "share" else unit
    difference = "–" if row["difference"] is None else signed(row["difference"], points)
    return [
        *(row["audit"], label_of(row["audit"], about), row["a"], row["b"]),
        *(number(row["value_a"], unit), number(row["value_b"], unit), difference),
        "" if row["low"] is None else interval(row["low"], row["high"], points),
        *(probability(row["p_holm"]), number(row["n"])),
    ]


def _part(run: Run, audit: str, metric: str) -> Part:
    """The rows of a run that are asked for."""
    if audit and audit not in run.manifest.audits:
        raise unknown_name(f"audit of {run.folder}", audit, run.manifest.audits)
    audits = (audit,) if audit else run.manifest.audits
    if not metric:
        return Part(run, audits, run.estimates.of(audit) if audit else run.estimates)
    estimates = Estimates(rows_of(run, metric, audit), run.estimates.source)
    held = set(estimates.table["audit"])
    return Part(run, tuple(name for name in audits if name in held), estimates)


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


def _csv(parts: Parts) -> str:
    if len(parts) == 1:
        return safe_csv(parts[0].estimates.table)
    tables = [part.estimates.table.select(pl.lit(part.run.name).alias("subject"), pl.all()) for part in parts]
    return safe_csv(pl.concat(tables, how="diagonal_relaxed"))


def _json(parts: Parts) -> str:
    entries = [
        {
            "subject": part.run.name,
            "benchmark": part.run.manifest.benchmark.name,
            "estimates": part.estimates.table.to_dicts(),
        }
        for part in parts
    ]
    content = entries[0] if len(entries) == 1 else {"runs": entries}
    return as_json({"schema_version": SCHEMA_VERSION} | content) + "\n"


def _latex(parts: Parts) -> str:
    lines = []
    for audit, of_audit, failures in _by_audit(parts):
        lines += [f"% {_title(audit, [part])}. Not measured: {said}" for part, said in failures]
        if of_audit:
            header, rows, zeros = _printed(audit, of_audit, zeros=False)
            left = [f"% {zeros} rows of 0 [0, 0] are left out; CSV has them."] if zeros else []
            lines += [*left, *latex_grid(_title(audit, of_audit), header, rows)]
        else:
            lines.append("")
    return "\n".join(lines)


def _markdown(parts: Parts) -> str:
    lines = []
    for audit, of_audit, failures in _by_audit(parts):
        if of_audit:
            header, rows, _ = _printed(audit, of_audit)
            lines += markdown_grid(_title(audit, of_audit, last=True), header, rows)
        for part, said in failures:
            heading = f"### {escaped(_title(audit, [part], last=True), MARKDOWN)}"
            lines += [heading, "", f"Not measured: {escaped(said, MARKDOWN)}", ""]
    return "\n".join(lines)


def _title(audit: str, parts: Parts, *, last: bool = False) -> str:
    """What a table is of: the system and the benchmark, or the benchmarks of several systems."""
    benchmarks = ", ".join(dict.fromkeys(part.run.manifest.benchmark.name for part in parts))
    about = f"{parts[0].run.name} on {benchmarks}" if len(parts) == 1 else benchmarks
    return f"{audit}: {about}" if last else f"{about}: {audit}"


def _by_audit(parts: Parts) -> list[tuple[str, list[Part], list[tuple[Part, str]]]]:
    """Each audit with what was measured of it, and why it could not be measured of the other runs."""
    found = []
    for audit in dict.fromkeys(audit for part in parts for audit in part.audits):
        of_audit: list[Part] = []
        failures: list[tuple[Part, str]] = []
        for part in parts:
            said = [failure.message for failure in part.run.failures if failure.audit == audit]
            if said:
                failures.append((part, " ".join(said[0].split())))
            elif audit in part.audits:
                of_audit.append(Part(part.run, (audit,), part.estimates.of(audit)))
        found.append((audit, of_audit, failures))
    return found


def _printed(audit: str, parts: Parts, *, zeros: bool = True) -> tuple[Header, Rows, int]:
    """A table for reading: its header, with whether a column is words, its cells, and the rows left out.

    Without `zeros`, rows whose value and interval are all 0 are left out: they say that there was nothing.
    """
    table = pl.concat([part.estimates.table for part in parts], how="diagonal_relaxed")
    keys = [name for name in table.columns if name not in BASE]
    optional = {name: not table[name].is_null().all() for name in ("p", "p_holm")}
    optional["judged"] = False in table["judged"]
    several = len(parts) > 1
    header = [("system", True)] if several else []
    header += [("metric", True), *((key, True) for key in keys), ("value", False)]
    header += [("95% interval", False), ("chance", False), ("n", False)]
    header += [(title_of(name), name == "judged") for name in optional if optional[name]]

    def cells(run: Run, row: Estimate) -> list[str]:
        unit = metric_of(audit, row.quantity.metric).unit
        last = {
            "p": "" if row.p is None else probability(row.p),
            "p_holm": "" if row.p_holm is None else probability(row.p_holm),
            "judged": TOO_FEW if row.judged is False else "",
        }
        return [
            *([run.name] if several else []),
            Quantity(row.quantity.metric, row.quantity.k).label(),
            *(row.quantity.keys.get(key, "") for key in keys),
            number(row.value, unit),
            interval(row.low, row.high, unit),
            "" if row.chance is None else number(row.chance, unit),
            number(row.n),
            *(last[name] for name in last if optional[name]),
        ]

    rows = [(part.run, row) for part in parts for row in part.estimates]
    shown = [(run, row) for run, row in rows if zeros or not row.value == row.low == row.high == 0]
    return header, [cells(run, row) for run, row in shown], len(rows) - len(shown)


FORMATS: dict[str, Callable[[Parts], str]] = {
    "csv": _csv,
    "latex": _latex,
    "markdown": _markdown,
    "json": _json,
}
CARDS: dict[str, Callable[[Run], str]] = {
    "eval-results": eval_results,
    "model-card": model_card,
    "factsheet": factsheet,
}
"""What stands with a published model."""
