"""Which runs a study takes together: those of one audit over the same items, each subject once."""

from __future__ import annotations

from collections.abc import Sequence

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
