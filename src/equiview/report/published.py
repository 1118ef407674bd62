"""Published numbers beside a run on the same benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from equiview.data.run import Run
from equiview.report.words import number, term


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, with the runs of this page as its first rows."""

    title: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[str, bool, tuple[str, ...]], ...]
    note: str


@cache
def papers() -> dict[str, Any]:
    """The published numbers that ship, with their source."""
    return dict(json.loads(files("equiview.report").joinpath("published", "perspectival.json").read_bytes()))


def beside(runs: Sequence[Run]) -> list[PublishedTable]:
    """The published tables of the benchmarks these runs are on; empty when there are none."""
    made = []
    for table in papers()["tables"]:
        on = [run for run in runs if run.manifest.benchmark.name.split(":")[0] == table["benchmark"]]
        if not on:
            continue
        metrics = tuple(table["metrics"])
        ours = [
            (run.name, True, tuple(_ours(run, metric, table["keys"]) for metric in metrics)) for run in on
        ]
        theirs = [
            (
                name,
                False,
                tuple(_written(metric, value) for metric, value in zip(metrics, values, strict=True)),
            )
            for name, values in table["rows"].items()
        ]
        made.append(PublishedTable(table["title"], metrics, (*ours, *theirs), table["note"]))
    return made


def _ours(run: Run, metric: str, keys: dict[str, str]) -> str:
    estimates = run.estimates
    rows = estimates.where(metric, **{name: value for name, value in keys.items() if name in estimates.keys})
    if not len(rows):
        # Only metrics of groups have a grouping.
        rows = estimates.where(metric)
    return _written(metric, rows["value"][0]) if len(rows) == 1 else "–"


def _written(metric: str, value: float | None) -> str:
    meaning = term(metric)
    return number(value, bool(meaning and meaning.percent))
