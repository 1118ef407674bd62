"""A run's estimates as tables to paste: CSV, LaTeX, Markdown, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import polars as pl

from equiview.data.estimates import BASE
from equiview.data.run import Run
from equiview.errors import unknown_name
from equiview.report.words import interval, number, term

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
}
MARKDOWN = {character: "\\" + character for character in "\\`*_[]<>|~#"} | {"\n": " ", "\r": " "}


def export(run: Run, format: str) -> str:
    """All estimates of a run in `format`: csv and json in full, latex and markdown as printed.

    Raises InputError for a format that is not one of `FORMATS`.
    """
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](run)


def estimates_table(runs: Sequence[Run], audit: str) -> pl.DataFrame:
    """The estimates of one audit, the subject first where there are several runs; empty keys left out."""
    parts = []
    for run in runs:
        rows = run.estimates.table.filter(pl.col("audit") == audit).drop("audit")
        parts.append(rows.select(pl.lit(run.name).alias("subject"), pl.all()) if len(runs) > 1 else rows)
    table = pl.concat(parts, how="diagonal_relaxed")
    keys = [name for name in table.columns if name not in BASE and table[name].null_count() < len(table)]
    numbers = [name for name in BASE if name in table.columns and name != "metric"]
    first = [name for name in keys if name == "subject"]
    return table.select(*first, "metric", *(name for name in keys if name != "subject"), *numbers)


def escaped(text: str, marks: dict[str, str]) -> str:
    r"""`text` with each marked character replaced.

    >>> escaped("50% of a_b", LATEX)
    '50\\% of a\\_b'
    """
    return "".join(marks.get(character, character) for character in text)


def _csv(run: Run) -> str:
    return run.estimates.table.write_csv()


def _json(run: Run) -> str:
    # Infinity is no JSON; it is written as null, like a value that is not there.
    rows = [
        {
            name: None if isinstance(value, float) and value in {float("inf"), float("-inf")} else value
            for name, value in row.items()
        }
        for row in run.estimates.table.iter_rows(named=True)
    ]
    content = {
        "subject": run.manifest.subject.name,
        "benchmark": run.manifest.benchmark.name,
        "estimates": rows,
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _latex(run: Run) -> str:
    lines = []
    for audit in run.manifest.audits:
        header, rows = _printed(run, audit)
        shape = "".join("l" if left else "r" for _, left in header)
        lines += [
            f"% {run.name} on {run.manifest.benchmark.name}: {audit}. Needs \\usepackage{{booktabs}}.",
            f"\\begin{{tabular}}{{{shape}}}",
            "\\toprule",
            " & ".join(escaped(name, LATEX) for name, _ in header) + r" \\",
            "\\midrule",
            *(" & ".join(escaped(cell, LATEX) for cell in row) + r" \\" for row in rows),
            "\\bottomrule",
            "\\end{tabular}",
            "",
        ]
    return "\n".join(lines)


def _markdown(run: Run) -> str:
    lines = []
    for audit in run.manifest.audits:
        header, rows = _printed(run, audit)
        title = escaped(f"{audit}: {run.name} on {run.manifest.benchmark.name}", MARKDOWN)
        lines += [
            f"### {title}",
            "",
            "| " + " | ".join(escaped(name, MARKDOWN) for name, _ in header) + " |",
            "| " + " | ".join(":--" if left else "--:" for _, left in header) + " |",
            *("| " + " | ".join(escaped(cell, MARKDOWN) for cell in row) + " |" for row in rows),
            "",
        ]
    return "\n".join(lines)


def _printed(run: Run, audit: str) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """A table for reading: its header, with whether a column is words, and its cells."""
    table = estimates_table([run], audit)
    keys = [name for name in table.columns if name not in BASE]
    header = [("metric", True), *((key, True) for key in keys), ("value", False), ("95% interval", False)]
    header += [("chance", False), ("n", False)]
    rows = []
    for row in table.iter_rows(named=True):
        meaning = term(row["metric"])
        percent = bool(meaning and meaning.percent)
        rows.append(
            [
                row["metric"],
                *("" if row[key] is None else str(row[key]) for key in keys),
                number(row["value"], percent),
                interval(row["low"], row["high"], percent),
                "" if row["chance"] is None else number(row["chance"], percent),
                number(row["n"]),
            ]
        )
    return header, rows


FORMATS: dict[str, Callable[[Run], str]] = {
    "csv": _csv,
    "latex": _latex,
    "markdown": _markdown,
    "json": _json,
}
