"""Run audits of a subject on a benchmark, stage by stage, into a run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equiview.audits.base import AUDITS, Audit, Settings
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import write_figure
from equiview.data.observations import Observations
from equiview.data.progress import Progress, silent
from equiview.data.run import BenchmarkCard, Manifest, Run, versions
from equiview.data.run import Subject as SubjectCard
from equiview.data.tables import write_bytes, write_parquet
from equiview.errors import InputError
from equiview.subjects import Subject


def execute(
    name: str,
    subject: Subject,
    benchmark: Benchmark,
    audits: Sequence[str],
    folder: Path,
    *,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Progress = silent,
) -> Run:
    """Observe, measure and draw, doing only what is not done yet; returns the run, its report still to write.

    `settings` gives, by audit, what differs from its defaults. Raises InputError for an unknown audit or
    setting, and for a folder that holds another run.
    """
    chosen = {audit: AUDITS.get(audit) for audit in audits}
    if not chosen:
        raise InputError(f"no audit was asked for; there are: {', '.join(AUDITS.all())}")
    for key, audit in chosen.items():
        if not isinstance(subject, audit.subjects):
            kinds = " or ".join(kind.__name__ for kind in audit.subjects)
            raise InputError(f"audit {key!r} needs a subject of kind {kinds}; {name} is {subject.about!r}")
    given = dict(settings or {})
    if stray := sorted(set(given) - set(chosen)):
        raise InputError(f"settings are given for {', '.join(stray)}, which is not among the audits to run")
    configured = {
        key: audit.configure({"seed": seed} | dict(given.get(key, {}))) for key, audit in chosen.items()
    }
    run = Run.start(folder, _manifest(name, subject, benchmark, configured, seed))

    for key, audit in chosen.items():

        def observe(work: Path, audit: Audit[Any] = audit, key: str = key) -> None:
            observed = audit.observe(subject, benchmark, configured[key], progress)
            observed.write(work / "observations")

        run.stage(f"observe.{key}", observe)
    finish(run, progress)
    return run


def finish(run: Run, progress: Progress = silent) -> None:
    """Measure and draw what is observed: everything here can be redone without the subject."""

    def measure(work: Path) -> None:
        parts, verdicts = [], []
        for key, audit, options in _audits_of(run):
            part = audit.measure(observations_of(run, key), options)
            parts.append(part)
            verdicts.append(audit.judge(part, options).model_dump(mode="json"))
            progress("measuring", len(parts), len(run.manifest.audits))
        write_parquet(Estimates.concat(parts).table, work / "estimates.parquet")
        write_bytes(json.dumps(verdicts, indent=1, ensure_ascii=False).encode(), work / "verdicts.json")

    def draw(work: Path) -> None:
        for key, audit, options in _audits_of(run):
            drawn = audit.draw(observations_of(run, key), run.estimates.of(key), options)
            for index, figure in enumerate(drawn, start=1):
                write_figure(figure, work / "figures" / f"{key}.{index:02d}-{figure.name}.json")

    run.stage("measure", measure)
    run.stage("draw", draw)


def observations_of(run: Run, audit: str) -> Observations:
    """What one audit of a run observed."""
    return Observations.read(run.folder / "observations", audit, AUDITS.get(audit).schemas)


def _audits_of(run: Run) -> list[tuple[str, Audit[Any], Settings]]:
    return [
        (key, AUDITS.get(key), AUDITS.get(key).configure(run.manifest.settings[key]))
        for key in run.manifest.audits
    ]


def _manifest(
    name: str, subject: Subject, benchmark: Benchmark, configured: Mapping[str, Settings], seed: int
) -> Manifest:
    return Manifest(
        subject=SubjectCard(name=name, fingerprint=subject.fingerprint, about=subject.about),
        benchmark=BenchmarkCard(
            name=benchmark.name,
            fingerprint=benchmark.fingerprint,
            images=len(benchmark.images),
            texts=len(benchmark.texts),
            about=benchmark.about,
            source=benchmark.source,
            licence=benchmark.licence,
        ),
        audits=tuple(configured),
        settings={key: options.model_dump(mode="json") for key, options in configured.items()},
        seed=seed,
        versions=versions(),
    )
