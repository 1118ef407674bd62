"""Tables of papers laid out from runs, one run under another; each comes with its audit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence

import polars as pl

from equiview.audits import installed
from equiview.data.estimates import Estimates
from equiview.data.run import Run
from equiview.errors import InputError, unknown_name
from equiview.io.printing import as_json
from equiview.io.tables import safe_csv
from equiview.report.grids import Header, Rows, latex_grid, markdown_grid
from equiview.report.words import number

SYSTEM = "system"
"""The column that says which run a row is of."""
DECIMALS = 3
"""The most decimals that are printed; CSV and JSON have all that the table gives."""
Layout = Callable[[Estimates], pl.DataFrame]


def layouts_of(runs: Sequence[Run]) -> dict[str, Layout]:
    """The tables that the audits of these runs lay out, by AUDIT.NAME."""
    audits = dict.fromkeys(audit for run in runs for audit in run.manifest.audits)
    return {
        f"{audit}.{name}": layout
        for audit in audits
        if (known := installed(audit))
        for name, layout in known.tables.items()
    }


def list_layouts(runs: Sequence[Run]) -> pl.DataFrame:
    """The names of these runs' tables, and what each is; InputError when there are none."""
    rows = [
        (name, (inspect.getdoc(layout) or "").partition("\n")[0]) for name, layout in layouts_of(runs).items()
    ]
    if not rows:
        raise InputError("no audit of these runs has a table of its paper")
    return pl.DataFrame(rows, schema={"table": pl.String, "what it is": pl.String}, orient="row")


def lay_out(runs: Sequence[Run], name: str) -> pl.DataFrame:
    """One table over these runs, the system first in each row.

    `name` is AUDIT.NAME, or NAME alone where one audit of the runs has such a table. InputError when there is
    no such table, when several have the name, or for a run whose estimates do not fill it.
    """
    full, layout = _chosen(layouts_of(runs), name)
    audit = full.partition(".")[0]
    parts = []
    for run in runs:
        if audit not in run.manifest.audits:
            raise InputError(
                f"{run.folder}: table {name!r} is of audit {audit!r}, which this run does not have"
            )
        try:
            table = layout(run.estimates.of(audit))
        except InputError as error:
            raise InputError(f"{run.folder}: table {name!r}: {error}") from None
        parts.append(table.select(pl.lit(run.name).alias(SYSTEM), pl.all()))
    return pl.concat(parts, how="diagonal_relaxed")


def export_layout(runs: Sequence[Run], name: str, format: str) -> str:
    """One table over these runs in a format of `FORMATS`; see `lay_out`."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    benchmarks = dict.fromkeys(run.manifest.benchmark.name for run in runs)
    return FORMATS[format](f"{name}: {', '.join(benchmarks)}", lay_out(runs, name))


def _chosen(known: dict[str, Layout], name: str) -> tuple[str, Layout]:
    fitting = [full for full in known if name in (full, full.partition(".")[2])]
    if len(fitting) > 1:
        raise InputError(f"several tables are named {name!r}; use one of {', '.join(fitting)}")
    if not fitting:
        raise unknown_name("table", name, known)
    return fitting[0], known[fitting[0]]


def _printed(table: pl.DataFrame) -> tuple[Header, Rows]:
    header = [(name, dtype == pl.String) for name, dtype in table.schema.items()]
    return header, list(zip(*map(_words, table), strict=True))


def _words(column: pl.Series) -> list[str]:
    """The cells of a column; numbers in as many decimals as the one that needs most, up to `DECIMALS`."""
    values = column.to_list()
    if not column.dtype.is_float():
        return ["–" if value is None else str(value) for value in values]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    decimals = max(
        (len(f"{value:.{DECIMALS}f}".rstrip("0").partition(".")[2]) for value in finite), default=0
    )
    return [
        number(value) if value not in finite else f"{value:.{decimals}f}".replace("-", "−")
        for value in values
    ]


FORMATS: dict[str, Callable[[str, pl.DataFrame], str]] = {
    "csv": lambda _, table: safe_csv(table),
    "latex": lambda title, table: "\n".join(latex_grid(title, *_printed(table))),
    "markdown": lambda title, table: "\n".join(markdown_grid(title, *_printed(table))),
    "json": lambda title, table: as_json({"table": title, "rows": table.to_dicts()}) + "\n",
}
