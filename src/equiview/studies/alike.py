"""Which runs a study takes together: those of one audit over the same items, each subject once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from equiview.data.run import Run
from equiview.errors import InputError


def measured(run: Run) -> list[str]:
    """The audits of a run that could be measured."""
    failed = {failure.audit for failure in run.failures}
    return [audit for audit in run.manifest.audits if audit not in failed]


def alike(runs: Sequence[Run], once: str) -> list[tuple[str, list[Run]]]:
    """(audit, runs) for each audit and items, failed audits left out; see `check_once`."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        for audit in measured(run):
            groups.setdefault((audit, run.manifest.benchmark.fingerprint), []).append(run)
    for members in groups.values():
        check_once(members, once)
    return [(audit, members) for (audit, _), members in groups.items()]


def check_once(runs: Sequence[Run], once: str) -> None:
    """InputError when two runs are of one subject; `once` says in the message why that is wrong."""
    names = [run.name for run in runs]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two runs are of {repeated[0]!r}; {once}")


def told_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs, those of one name in an audit over the same items labelled with their folders as well.

    So nightly runs of one model compare. A run that is given twice keeps its name.
    """
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        for audit in run.manifest.audits:
            groups.setdefault((audit, run.manifest.benchmark.fingerprint, run.name), []).append(run)
    alike = {run.name for members in groups.values() for run in members if len(_folders(members)) > 1}
    short = Counter(
        (name, folder.name) for name, folder in {(run.name, run.folder.resolve()) for run in runs}
    )

    def label(run: Run) -> str:
        folder = run.folder.resolve()
        return f"{run.name} ({folder.name if short[run.name, folder.name] == 1 else folder})"

    return [replace(run, label=label(run)) if run.name in alike else run for run in runs]


def _folders(runs: Sequence[Run]) -> set[object]:
    return {run.folder.resolve() for run in runs}
