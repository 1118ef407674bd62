"""Match runs of a model before an adaptation with runs of the models derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from equiview.data.run import Run
from equiview.errors import InputError
from equiview.studies.compare import FREE

LEAST = 4
"""The fewest models for which a correlation has an interval."""


@dataclass(frozen=True)
class Model:
    """One model: its runs before the adaptation, and the runs of the subjects derived from it."""

    name: str
    fingerprint: str
    before: list[Run] = field(default_factory=list)
    after: list[Run] = field(default_factory=list)


def matched(before: Sequence[Run], after: Sequence[Run]) -> list[Model]:
    """The models, in the order of their runs before; models without a run after are included.

    A run after belongs to the model whose fingerprint is its subject's parent, or its subject's own.
    InputError for a run after that belongs to no model, for two runs of one model with the same audit and
    items, for settings that differ among the runs of an audit, and when fewer than 4 models have both.
    """
    models: dict[str, Model] = {}
    for run in before:
        card = run.manifest.subject
        models.setdefault(card.fingerprint, Model(run.name, card.fingerprint)).before.append(run)
    for run in after:
        card = run.manifest.subject
        of = next((key for key in (card.parent, card.fingerprint) if key in models), None)
        if of is None:
            derived = (
                f"is derived from {card.parent}" if card.parent else "names no subject it is derived from"
            )
            raise InputError(f"{run.folder}: {run.name!r} {derived}; no run before is of that subject")
        models[of].after.append(run)
    names = [model.name for model in models.values()]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"two different models before are called {repeated!r}; audit them under different names"
        )
    for model in models.values():
        _check_once(model.before)
        _check_once(model.after)
    _check_settings(before)
    _check_settings(after)
    _check_benchmarks(before, after)
    if (both := sum(bool(model.after) for model in models.values())) < LEAST:
        raise InputError(f"{both} models have runs before and after; a correlation takes at least {LEAST}")
    return list(models.values())


def _check_once(runs: Sequence[Run]) -> None:
    seen: dict[tuple[str, str], Run] = {}
    for run in runs:
        for audit in run.manifest.audits:
            key = (audit, run.manifest.benchmark.fingerprint)
            if key in seen:
                raise InputError(
                    f"{seen[key].folder} and {run.folder} are both of {run.name!r} in the audit {audit!r} on "
                    "the same items; give one of them"
                )
            seen[key] = run


def _check_benchmarks(before: Sequence[Run], after: Sequence[Run]) -> None:
    """InputError when an audit was run on benchmarks of one name that hold other items."""
    first: dict[tuple[str, str], Run] = {}
    for run in (*before, *after):
        card = run.manifest.benchmark
        for audit in run.manifest.audits:
            other = first.setdefault((audit, card.name), run)
            if other.manifest.benchmark.fingerprint != card.fingerprint:
                raise InputError(
                    f"audit {audit!r} was run on {card.name!r} in {other.folder} and in {run.folder}, but "
                    "with other items; run it on the same ones"
                )


def _check_settings(runs: Sequence[Run]) -> None:
    """InputError when an audit was run on the same items with settings that change what its numbers mean."""
    first: dict[tuple[str, str], Run] = {}
    for run in runs:
        for audit, settings in run.manifest.settings.items():
            other = first.setdefault((audit, run.manifest.benchmark.fingerprint), run)
            theirs = other.manifest.settings[audit]
            for name in sorted((settings.keys() | theirs.keys()) - set(FREE)):
                if settings.get(name) != theirs.get(name):
                    raise InputError(
                        f"audit {audit!r} was run with another {name} in {run.folder} than in "
                        f"{other.folder}; run one of them again with the other's setting"
                    )
