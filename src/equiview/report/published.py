"""Published numbers beside a run on the same benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from equiview.audits import label_of
from equiview.data.metric import Quantity, quantity
from equiview.data.run import Run
from equiview.report.words import metric_of, number


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, with the runs of this page as its first rows.

    `paper` is its title. `rows` are (system, whether it is a run of this page, a word for each of `metrics`).
    """

    paper: str
    title: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[str, bool, tuple[str, ...]], ...]
    note: str


@cache
def papers() -> tuple[dict[str, Any], ...]:
    """The published numbers that ship, a paper for each file of `published/`, with its title as `source`."""
    found = files("equiview.report").joinpath("published").iterdir()
    return tuple(json.loads(file.read_bytes()) for file in sorted(found, key=lambda file: file.name))


def benchmarks() -> list[str]:
    """The benchmarks on which there are published numbers."""
    return list(dict.fromkeys(table["benchmark"] for paper in papers() for table in paper["tables"]))


def quantities(table: dict[str, Any]) -> list[Quantity]:
    """What the columns of a published table are about."""
    return [
        quantity(column["metric"], column.get("k"), **column.get("keys", {})) for column in table["metrics"]
    ]


def beside(runs: Sequence[Run]) -> list[PublishedTable]:
    """The published tables of the benchmarks these runs are on; empty when there are none.

    A table with `settings` is shown beside runs that have them alone: by audit and setting, the words that
    its value must all hold, or the value.
    """
    tables = []
    for paper in papers():
        for table in paper["tables"]:
            ours = [
                run
                for run in runs
                if run.manifest.benchmark.name.split(":")[0] == table["benchmark"] and _alike(run, table)
            ]
            if ours:
                tables.append(_beside(ours, table, paper["source"]))
    return tables


def _alike(run: Run, table: dict[str, Any]) -> bool:
    """Whether a run has the settings of a published table."""
    wanted = [
        (run.manifest.settings.get(audit, {}).get(name), value)
        for audit, settings in table.get("settings", {}).items()
        for name, value in settings.items()
    ]
    return all(
        all(word in str(have) for word in value) if isinstance(value, list) else have == value
        for have, value in wanted
    )


def _beside(runs: Sequence[Run], table: dict[str, Any], paper: str) -> PublishedTable:
    columns = [(_audit_of(column, runs) or table["audit"], column) for column in quantities(table)]
    units = [metric_of(audit, column.metric).unit for audit, column in columns]
    values = [(run.name, True, [_value(run, *column) for column in columns]) for run in runs]
    values += [(name, False, numbers) for name, numbers in table["rows"].items()]
    return PublishedTable(
        paper,
        table["title"],
        tuple(label_of(*column) for column in columns),
        tuple((name, mine, tuple(map(number, row, units))) for name, mine, row in values),
        table["note"],
    )


def _audit_of(wanted: Quantity, runs: Sequence[Run]) -> str:
    """The audit of these runs that measured a quantity; empty when none did."""
    measured = ((run, audit) for run in runs for audit in run.manifest.audits)
    return next((audit for run, audit in measured if _value(run, audit, wanted) is not None), "")


def _value(run: Run, audit: str, wanted: Quantity) -> float | None:
    estimate = run.estimates.of(audit).at(wanted)
    return None if estimate is None else estimate.value
