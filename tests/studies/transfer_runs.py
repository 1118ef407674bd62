"""Run folders of models before and after, with numbers that are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equiview.data.estimates import Estimates
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard
from equiview.data.run import Run
from equiview.io.tables import write_parquet

Row = Mapping[str, Any]


def run_of(
    folder: Path,
    name: str,
    rows: Sequence[Row],
    *,
    benchmark: str = "people",
    audit: str = "portraits",
    parent: str | None = None,
    fingerprint: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """A run with these estimates; rows have at least metric and value."""
    manifest = Manifest(
        subject=SubjectCard(name=name, fingerprint=fingerprint or f"of {name}", parent=parent),
        benchmark=BenchmarkCard(name=benchmark, fingerprint=f"of {benchmark}", counts={"images": 9}),
        audits=(audit,),
        settings={audit: dict(settings or {})},
        seed=0,
        versions={},
    )
    run = Run.start(folder, manifest)
    whole = [{"low": None, "high": None, "n": 50} | dict(row) for row in rows]
    table = Estimates.of_rows(whole).stamped(audit).table
    run.stage("measure", lambda work: write_parquet(table, work / "estimates.parquet"))
    return run


def worlds(
    folder: Path,
    before: Sequence[Sequence[Row]],
    after: Sequence[Sequence[Row]],
    **changes: Any,
) -> tuple[list[Run], list[Run]]:
    """Models m0, m1, ...: their rows before, and those of what was derived from each."""
    first = [
        run_of(folder / f"before-{number}", f"m{number}", rows, **changes)
        for number, rows in enumerate(before)
    ]
    second = [
        run_of(
            folder / f"after-{number}",
            f"connector:m{number}",
            rows,
            benchmark="answers",
            audit="replies",
            parent=f"of m{number}",
        )
        for number, rows in enumerate(after)
    ]
    return first, second


def one(metric: str, value: float, **keys: Any) -> Row:
    """A row of one number."""
    return {"metric": metric, "value": value, **keys}
