"""Run an `audit.toml`: every system on every benchmark, their comparison, and the gate.

Runs that are finished are taken as they are, and a run that was stopped goes on. A system that cannot be
audited costs only itself, and is named at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equiview import api, planning
from equiview.auditfile import AuditFile, Benchmark, Subject
from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.data.run import Run
from equiview.data.shared import opened as opened_run
from equiview.engine import Engine, opened
from equiview.errors import InputError, as_input_error
from equiview.io.files import file_name
from equiview.io.progress import Progress, silent
from equiview.io.remote import beside
from equiview.studies.gate import Checked, Gate, parse
from equiview.subjects import Encoder, load_subject
from equiview.subjects.parts import services_of

SAMPLE = 16
"""Images, and texts, that are encoded to tell how long all of them take."""
PLAN = {"system": pl.String, "benchmark": pl.String} | planning.PLANNED
TIMES = {
    **dict.fromkeys(("system", "benchmark"), pl.String),
    **dict.fromkeys(("images", "texts"), pl.Int64),
    "seconds": pl.Float64,
}


@dataclass(frozen=True)
class Board:
    """What came of a file: the runs, in its order, what could not be audited and why, and the gate."""

    runs: tuple[Run, ...]
    comparison: pl.DataFrame | None
    page: Path | None
    failed: tuple[tuple[str, str], ...]
    gate: Gate | None


def pairs_of(plan: AuditFile) -> Iterator[tuple[Subject, Benchmark]]:
    """Every system with each benchmark that it is put to."""
    for benchmark in plan.benchmarks:
        for subject in plan.subjects:
            if not benchmark.only or subject.called in benchmark.only:
                yield subject, benchmark


def run_board(plan: AuditFile, place: Path, progress: Progress = silent) -> Board:
    """Do what a file in the folder `place` says; InputError where nothing can be audited, and of the gate."""
    with opened(plan.engine) as engine:
        return _run_board(plan, place, engine, progress)


def _run_board(plan: AuditFile, place: Path, engine: Engine, progress: Progress) -> Board:
    out = beside(place, plan.out)
    runs: list[Run] = []
    failed: list[tuple[str, str]] = []
    pairs = list(pairs_of(plan))
    for done, (subject, benchmark) in enumerate(pairs, start=1):
        label = f"{subject.called} on {benchmark.called}"
        try:
            run = api.audit(
                benchmark.subject.format(subject.use),
                benchmark.use,
                benchmark.audits,
                out / folder_of(subject, benchmark),
                name=subject.name or None,
                seed=plan.seed,
                settings=plan.settings_for(benchmark.audits),
                on_error=plan.on_error,
                max_cost=plan.max_cost,
                engine=engine,
                progress=_labelled(progress, label),
            )
        except Exception as error:  # one system must not cost the others
            said = as_input_error(error)
            if said is None:
                raise
            failed.append((label, str(said)))
            continue
        runs.append(run)
        failed += [(f"{label}, {failure.audit}", failure.message) for failure in run.failures]
        progress("runs", done, len(pairs))
    if not runs:
        raise InputError("; ".join(f"{label}: {said}" for label, said in failed))
    comparison, page = None, None
    if any(len(members) > 1 for members in _by_benchmark(runs).values()):
        runs, comparison = api.write_comparison(runs, out / "comparison", progress)
        page = out / "comparison" / "report.html"
    gate = None
    if plan.gate is not None:
        try:
            gate = _gate(plan, runs, place)
        except InputError as error:
            if not failed:
                raise
            failed.append(("gate", str(error)))
    return Board(tuple(runs), comparison, page, tuple(failed), gate)


def plan_board(plan: AuditFile, sample: int = SAMPLE) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What a file would ask of models that may cost money, and how long encoding would take here.

    The first table has the columns `PLAN`. The second, `TIMES`, has a row for each encoder and benchmark:
    `sample` images and texts are encoded, and the time is that of all of them at this rate, vectors that are
    kept not counted. Encoders are loaded for it; a `sample` of 0 loads none.
    """
    asked: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for subject, benchmark in pairs_of(plan):
        who = load_subject(benchmark.subject.format(subject.use))
        items = load_benchmark(benchmark.use)
        about = {"system": subject.called, "benchmark": benchmark.called}
        table = planning.plan(who, items, benchmark.audits, settings=plan.settings_for(benchmark.audits))
        asked += [about | row for row in table.iter_rows(named=True)]
        if isinstance(who, Encoder) and sample and not services_of(who):
            texts = items.texts
            seconds = _seconds(who, items.images, sample) + (_seconds(who, texts, sample) if texts else 0)
            counts = {"images": len(items.images), "texts": len(texts) if texts else 0}
            times.append(about | counts | {"seconds": round(seconds, 1)})
    return pl.DataFrame(asked, schema=PLAN), pl.DataFrame(times, schema=TIMES)


def folder_of(subject: Subject, benchmark: Benchmark) -> str:
    """The folder of a run below that of the board."""
    return file_name(f"{subject.called}-on-{benchmark.called}")


def _labelled(progress: Progress, label: str) -> Progress:
    def tell(what: str, done: int, total: int) -> None:
        progress(f"{label}: {what}", done, total)

    return tell


def _seconds(encoder: Encoder, items: Items, sample: int) -> float:
    """How long all items would take; the first of a sample, which pays for starting, is not counted."""
    rows = np.unique(np.linspace(0, len(items) - 1, min(sample + 1, len(items))).round().astype(np.int64))
    if len(rows) < 2:
        return 0.0
    encoder.embed(items.take(rows[:1]))
    began = time.perf_counter()
    encoder.embed(items.take(rows[1:]))
    return (time.perf_counter() - began) / (len(rows) - 1) * len(items)


def _by_benchmark(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.manifest.benchmark.fingerprint, []).append(run)
    return found


def _gate(plan: AuditFile, runs: Sequence[Run], place: Path) -> Gate:
    """Each condition on every run that has its audit; those on differences on all but the baseline."""
    gate = plan.gate
    assert gate is not None
    systems = {entry.called for entry in plan.subjects}
    named = gate.baseline and gate.baseline not in systems
    outside = opened_run(beside(place, gate.baseline)) if named else None
    checked: list[Checked] = []
    for run in runs:
        baseline = outside or _baseline(plan, runs, run)
        given = {
            key: [text for text in getattr(gate, key) if _is_about(text, run, baseline)]
            for key in ("fail_if", "require")
        }
        if any(given.values()):
            found = api.check(
                [run], fail_if=given["fail_if"], require=given["require"],
                baseline=baseline, unclear=gate.unclear,
            )  # fmt: skip
            checked += found.checked
    used = {entry.condition.text for entry in checked}
    if idle := next((text for text in (*gate.fail_if, *gate.require) if text not in used), None):
        raise InputError(f"the gate's condition {idle!r} is about no run; it would pass whatever is found")
    return Gate(tuple(checked), gate.unclear)


def _baseline(plan: AuditFile, runs: Sequence[Run], run: Run) -> Run | None:
    """The run of the baseline over the same items; None for that run itself, and where there is none."""
    name = plan.gate.baseline if plan.gate else ""
    folders = {
        folder_of(subject, benchmark) for subject, benchmark in pairs_of(plan) if subject.called == name
    }
    same = (entry for entry in runs if entry.folder.name in folders and entry.folder != run.folder)
    items = run.manifest.benchmark.fingerprint
    found = next((entry for entry in same if entry.manifest.benchmark.fingerprint == items), None)
    return found if run.folder.name not in folders else None


def _is_about(text: str, run: Run, baseline: Run | None) -> bool:
    """Whether a condition can be asked of a run: it has the audit, and of differences a baseline."""
    condition = parse(text)
    has = not condition.audit or condition.audit in run.manifest.audits
    return has and (baseline is not None or not condition.is_paired)
