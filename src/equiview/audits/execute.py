"""Run audits of a subject on a benchmark, stage by stage, into a run folder."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from equiview.audits.base import AUDITS, AnyAudit, Settings
from equiview.audits.cuts import SCHEMA, TABLE, estimated, with_cuts, with_evidence
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.fields import contents
from equiview.data.figures import write_figure
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard, versions
from equiview.data.observations import Observations
from equiview.data.run import OBSERVE, Failure, Run, check_usable
from equiview.data.stamped import write_stamped
from equiview.data.verdict import Frozen, Verdict
from equiview.errors import InputError, as_input_error
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.secrets import redacted
from equiview.io.tables import write_bytes
from equiview.subjects import Subject

Ready: TypeAlias = list[tuple[str, AnyAudit, Settings]]
"""Audits by name with their settings."""
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
    after_stage: Callable[[], object] | None = None,
) -> Run:
    """Observe, measure, draw and report, doing only what is not done yet.

    `name` is what to call the run, by default its subject's name, and no part of what it is. `settings`
    overrides defaults by audit; without `report` no page is written. Audits that the folder holds already
    stay there as they were set: the run is the one in which all were asked for at once. Raises InputError for
    an unknown audit or setting, for a subject of a kind that an audit does not take, and for a folder that
    holds another run. An audit that cannot be observed or measured is named in `Run.failures`, and tried
    again by the same call; the others are kept. Where none can be observed, that is the error.
    """
    ready = configure(audits, settings, seed)
    check_subjects(subject, ready)
    check_usable(folder)
    with locked(folder):
        ready += _there(folder, {key for key, *_ in ready})
        ready.sort(key=lambda entry: entry[0])
        run = Run.start(
            folder,
            _manifest(name or "", subject, benchmark, ready, seed, progress),
            {key: _packages(audit, chosen) - set(subject.versions) for key, audit, chosen in ready},
        )
        with run.after_stages(after_stage):
            failed = _observe(run, ready, subject, benchmark, progress)
            if len(failed) == len(ready):
                raise _none_observed(failed)
            finish(run, progress, report, [_failure(key, error) for key, error in failed.items()])
    return run


def _observe(
    run: Run, ready: Ready, subject: Subject, benchmark: Benchmark, progress: Progress
) -> dict[str, Exception]:
    """Observe what is not observed yet; the errors by audit: one that fails must not cost the others."""
    failed: dict[str, Exception] = {}
    for key, audit, given in ready:

        def observe(work: Path, audit: AnyAudit = audit, key: str = key, given: Settings = given) -> None:
            observations = audit.observe(subject, benchmark, given, progress)
            observations = with_cuts(observations, subject, benchmark, given)
            observations.write(work / "observations", key)

        try:
            run.stage(f"{OBSERVE}{key}", observe)
        except Exception as error:
            failed[key] = error
    return failed


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
    check_subjects(subject, ready)
    return _manifest(name or "", subject, benchmark, ready, seed, progress)


def configure(audits: Iterable[str], settings: Mapping[str, Mapping[str, Any]] | None, seed: int) -> Ready:
    """Audits with their settings, ordered by name; InputError for an unknown audit or setting, or none."""
    chosen = {audit: AUDITS.get(audit) for audit in sorted(audits)}
    if not chosen:
        raise InputError(f"no audit was asked for; there are: {', '.join(AUDITS.all())}")
    given = dict(settings or {})
    if stray := sorted(set(given) - set(chosen)):
        name, _, setting = stray[0].partition(".")
        how = f"; write {{{name!r}: {{{setting!r}: ...}}}}" if setting else ""
        raise InputError(
            f"settings are given for {', '.join(stray)}, which is not among the audits to run{how}"
        )
    return [
        (key, audit, audit.configure({"seed": seed} | dict(given.get(key, {}))))
        for key, audit in chosen.items()
    ]


def check_subjects(subject: Subject, ready: Ready) -> None:
    """InputError for the first audit that does not take subjects of this kind."""
    for _, audit, _ in ready:
        audit.check_subject(subject)


def _there(folder: Path, asked: Collection[str]) -> Ready:
    """The audits of a folder's run that were not `asked` for now, as they were set; of one that did any."""
    if not (folder / "manifest.json").exists() or not (run := Run.open(folder)).manifest.stages:
        return []
    return [entry for entry in _audits_of(run) if entry[0] not in asked]


def finish(
    run: Run,
    progress: Progress = silent,
    report: Report | None = None,
    unobserved: Sequence[Failure] | None = None,
    *,
    redraw: bool = False,
) -> None:
    """Measure and draw what is observed, and report it: all of this can be redone without the subject.

    What is done already is left as it is; figures and page are made again with `redraw`. `unobserved` are the
    audits that could not be observed, as the run says by default. The other audits are kept when one fails;
    InputError when all of them fail, and when an audit's observing is not finished or its observations were
    changed since.
    """
    recorded = run.unobserved
    if unobserved is None:
        unobserved = recorded
    elif list(unobserved) != recorded:
        run.forget("measure")
    without = {failure.audit: failure for failure in unobserved}
    for key in run.manifest.audits:
        if key not in without:
            run.need(f"{OBSERVE}{key}")
            run.check(f"{OBSERVE}{key}")

    def measure(work: Path) -> None:
        parts: list[Estimates] = []
        verdicts: list[Verdict] = []
        failures: list[Failure] = []
        for done, (key, audit, settings) in enumerate(_audits_of(run), start=1):
            if key in without:
                failures.append(without[key])
                continue
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
    run.stage("draw", draw, again=redraw)
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

    return run.kept(f"{OBSERVE}{audit}", "view", view)


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
    return Failure(
        audit=audit, message=redacted(message), trace=redacted("".join(traceback.format_exception(error)))
    )


def _none_observed(failed: Mapping[str, Exception]) -> Exception:
    """One error for several audits of which none could be observed; a defect of ours comes before others."""
    errors = list(failed.values())
    defect = next((error for error in errors if as_input_error(error) is None), None)
    if defect is not None or len({str(error) for error in errors}) == 1:
        return defect or errors[0]
    said = "; ".join(f"{key}: {as_input_error(error)}" for key, error in failed.items())
    return InputError(f"no audit could be observed: {said}")


def _all_failed(failures: Sequence[Failure]) -> Exception:
    first = failures[0]
    if first.trace:
        return RuntimeError(f"audit {first.audit!r} failed: {first.message}\n{first.trace}")
    others = f" (nor could {', '.join(failure.audit for failure in failures[1:])})" if failures[1:] else ""
    return InputError(f"audit {first.audit!r} could not be measured{others}: {first.message}")


def _write_records(records: Sequence[Frozen], path: Path) -> None:
    content = [record.model_dump(mode="json") for record in records]
    write_bytes(json.dumps(content, indent=1, ensure_ascii=False).encode(), path)


def _packages(audit: AnyAudit, chosen: Settings) -> set[str]:
    """Installed packages whose version can change what an audit observes, as it is set."""
    return {*audit.packages, *chosen.packages}


def _manifest(
    name: str, subject: Subject, benchmark: Benchmark, ready: Ready, seed: int, progress: Progress
) -> Manifest:
    benchmark.images.hash_pictures(progress)
    packages = sorted({package for _, audit, chosen in ready for package in _packages(audit, chosen)})
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
        audits=tuple(key for key, *_ in ready),
        settings={key: settings.model_dump(mode="json") for key, _, settings in ready},
        files={
            f"{key}.{name}": content
            for key, _, settings in ready
            for name, content in contents(settings).items()
        },
        seed=seed,
        versions=versions(*packages) | dict(subject.versions),
    )
