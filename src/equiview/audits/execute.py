"""Run audits of a subject on a benchmark, stage by stage, into a run folder."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from equiview.audits.base import AUDITS, AnyAudit, Settings
from equiview.audits.cuts import SCHEMA, TABLE, estimated, with_cuts, with_evidence
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.fields import contents
from equiview.data.figures import write_figure
from equiview.data.observations import Observations
from equiview.data.run import BenchmarkCard, Failure, Manifest, Run, SubjectCard, check_usable, versions
from equiview.data.stamped import write_stamped
from equiview.data.verdict import Frozen, Verdict
from equiview.errors import InputError, as_input_error
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.secrets import redacted
from equiview.io.tables import write_bytes
from equiview.subjects import Subject

Report: TypeAlias = Callable[[Run], bytes]
"""Makes the page of a run when everything else is finished."""


def execute(
    subject: Subject,
    benchmark: Benchmark,
    audits: Sequence[str],
    folder: Path,
    *,
    name: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    report: Report | None = None,
    progress: Progress = silent,
) -> Run:
    """Observe, measure, draw and report, doing only what is not done yet.

    `name` is what to call the run, by default its subject's name, and no part of what it is. `settings`
    overrides defaults by audit; without `report` no page is written. Raises InputError for an
    unknown audit or setting, for a subject of a kind that an audit does not take, and for a folder that holds
    another run. An audit that cannot be measured is named in `Run.failures`; the others are kept.
    """
    ready = configure(audits, settings, seed)
    manifest = manifest_of(
        subject, benchmark, audits, name=name, seed=seed, settings=settings, progress=progress
    )
    configured = {key: given for key, _, given in ready}
    check_usable(folder)
    with locked(folder):
        run = Run.start(folder, manifest)
        for key, audit, _ in ready:

            def observe(work: Path, audit: AnyAudit = audit, key: str = key) -> None:
                settings = configured[key]
                observations = audit.observe(subject, benchmark, settings, progress)
                observations = with_cuts(observations, subject, benchmark, settings)
                observations.write(work / "observations", key)

            run.stage(f"observe.{key}", observe)
        finish(run, progress, report)
    return run


def manifest_of(
    subject: Subject,
    benchmark: Benchmark,
    audits: Sequence[str],
    *,
    name: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Progress = silent,
) -> Manifest:
    """What a run of these would be, before anything is observed; InputError as for `execute`."""
    ready = configure(audits, settings, seed)
    for _, audit, _ in ready:
        audit.check_subject(subject)
    benchmark.images.hash_pictures(progress)
    chosen = {key: audit for key, audit, _ in ready}
    return _manifest(name or "", subject, benchmark, chosen, {key: given for key, _, given in ready}, seed)


def configure(
    audits: Sequence[str], settings: Mapping[str, Mapping[str, Any]] | None, seed: int
) -> list[tuple[str, AnyAudit, Settings]]:
    """Audits by name with their settings; InputError for an unknown audit or setting, and where none is."""
    chosen = {audit: AUDITS.get(audit) for audit in audits}
    if not chosen:
        raise InputError(f"no audit was asked for; there are: {', '.join(AUDITS.all())}")
    given = dict(settings or {})
    if stray := sorted(set(given) - set(chosen)):
        raise InputError(f"settings are given for {', '.join(stray)}, which is not among the audits to run")
    return [
        (key, audit, audit.configure({"seed": seed} | dict(given.get(key, {}))))
        for key, audit in chosen.items()
    ]


def finish(run: Run, progress: Progress = silent, report: Report | None = None) -> None:
    """Measure and draw what is observed, and report it: all of this can be redone without the subject.

    The other audits are kept when one fails; InputError when all of them fail, and when an audit's
    observing is not finished or its observations were changed since.
    """
    for key in run.manifest.audits:
        run.need(f"observe.{key}")
        run.check(f"observe.{key}")

    def measure(work: Path) -> None:
        parts: list[Estimates] = []
        verdicts: list[Verdict] = []
        failures: list[Failure] = []
        for done, (key, audit, settings) in enumerate(_audits_of(run), start=1):
            try:
                estimates = audit.measure(view_of(run, key), settings)
                verdict = audit.judge(estimates, settings)
                if (counts := _cuts_of(run, key)) is not None:
                    cut = estimated(counts, settings)
                    verdict, estimates = with_evidence(verdict, cut), Estimates.concat([estimates, cut])
                verdicts.append(verdict.stamped(key, audit.question))
                parts.append(estimates.stamped(key))
            except Exception as error:  # an audit that fails must not cost the others
                failures.append(_failure(key, error))
            progress("measuring", done, len(run.manifest.audits))
        if not parts:
            raise _all_failed(failures)
        write_stamped(Estimates.concat(parts).table, work / "estimates.parquet", "estimates")
        _write_records(verdicts, work / "verdicts.json")
        if failures:
            _write_records(failures, work / "failures.json")

    def draw(work: Path) -> None:
        failed = {failure.audit for failure in run.failures}
        for key, audit, settings in _audits_of(run):
            if key in failed:
                continue
            figures = audit.draw(view_of(run, key), run.estimates.of(key), settings)
            for index, figure in enumerate((entry for entry in figures if entry is not None), start=1):
                write_figure(figure, work / "figures" / f"{key}.{index:02d}-{figure.name}.json")

    run.stage("measure", measure)
    run.stage("draw", draw)
    if report is not None:
        run.stage("report", lambda work: write_bytes(report(run), work / "report.html"))


def observations_of(run: Run, audit: str) -> Observations:
    """What one audit of a run observed; InputError for a table that is not as it was observed."""
    return run.observations(audit, AUDITS.get(audit).schemas)


def _cuts_of(run: Run, audit: str) -> pl.DataFrame | None:
    """How many texts were cut; None where that was not observed."""
    if not (run.folder / "observations" / f"{audit}.{TABLE}.parquet").is_file():
        return None
    return run.observations(audit, {TABLE: SCHEMA})[TABLE]


def view_of(run: Run, audit: str) -> Any:
    """The audit's view of what a run observed, made once; InputError as for `observations_of`."""
    known, settings = AUDITS.get(audit), settings_of(run, audit)

    def view() -> Any:
        return known.view(run.observations(audit, known.schemas), settings)

    return run.kept(f"observe.{audit}", "view", view)


def settings_of(run: Run, audit: str) -> Settings:
    """The settings by which an audit of a run was done."""
    configured: Settings = AUDITS.get(audit).configure(run.manifest.settings[audit])
    return configured


def _audits_of(run: Run) -> Iterator[tuple[str, AnyAudit, Settings]]:
    for key in run.manifest.audits:
        yield key, AUDITS.get(key), settings_of(run, key)


def _failure(audit: str, error: Exception) -> Failure:
    """What is kept of an error: one line, and for a defect of ours its traceback."""
    if (said := as_input_error(error)) is not None:
        return Failure(audit=audit, message=redacted(str(said)))
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return Failure(audit=audit, message=redacted(message), trace=redacted(traceback.format_exc()))


def _all_failed(failures: Sequence[Failure]) -> Exception:
    first = failures[0]
    if first.trace:
        return RuntimeError(f"audit {first.audit!r} failed: {first.message}\n{first.trace}")
    others = f" (nor could {', '.join(failure.audit for failure in failures[1:])})" if failures[1:] else ""
    return InputError(f"audit {first.audit!r} could not be measured{others}: {first.message}")


def _write_records(records: Sequence[Frozen], path: Path) -> None:
    content = [record.model_dump(mode="json") for record in records]
    write_bytes(json.dumps(content, indent=1, ensure_ascii=False).encode(), path)


def _manifest(
    name: str,
    subject: Subject,
    benchmark: Benchmark,
    audits: Mapping[str, AnyAudit],
    configured: Mapping[str, Settings],
    seed: int,
) -> Manifest:
    packages = sorted({package for audit in audits.values() for package in audit.packages})
    return Manifest(
        name=name,
        subject=SubjectCard(
            name=subject.name, fingerprint=subject.fingerprint, about=subject.about, parent=subject.parent
        ),
        benchmark=BenchmarkCard(
            name=benchmark.name,
            fingerprint=benchmark.fingerprint,
            counts=benchmark.counts,
            about=benchmark.about,
            source=benchmark.source,
            licence=benchmark.licence,
        ),
        audits=tuple(configured),
        settings={key: settings.model_dump(mode="json") for key, settings in configured.items()},
        files={
            f"{key}.{name}": content
            for key, settings in configured.items()
            for name, content in contents(settings).items()
        },
        seed=seed,
        versions=versions(*packages) | dict(subject.versions),
    )
