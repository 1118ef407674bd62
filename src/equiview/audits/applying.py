"""`all`: every audit that takes a subject of this kind and finds in the benchmark what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from equiview.audits.base import AUDITS, AnyAudit
from equiview.benchmarks import Benchmark
from equiview.errors import InputError, NotApplicableError
from equiview.io.notices import notice
from equiview.subjects import Subject

ALL = "all"
"""What stands for every audit that applies."""
Given: TypeAlias = Mapping[str, Mapping[str, Any]]


def chosen(
    subject: Subject, benchmark: Benchmark, audits: Sequence[str], settings: Given | None = None
) -> tuple[list[str], Given]:
    """The audits that are meant, `all` replaced by those that apply, and their settings.

    A notice says of each other audit why it does not apply; its settings are left out. An audit that applies
    and whose input is wrong is among them: observing it says what is wrong. InputError where none applies.
    """
    given = dict(settings or {})
    if ALL not in audits:
        return list(audits), given
    named = [name for name in audits if name != ALL]
    lacking = {
        name: said
        for name, entry in AUDITS.all().items()
        if name not in named and (said := _lacking(entry.value, subject, benchmark, given.get(name, {})))
    }
    names = named + [name for name in AUDITS.all() if name not in named and name not in lacking]
    if not names:
        told = "; ".join(f"{name}: {said}" for name, said in lacking.items())
        raise InputError(f"no audit applies to {subject.name!r} on {benchmark.name!r}: {told}")
    for name, said in lacking.items():
        notice(f"{name} does not apply: {said}")
    return names, {name: of for name, of in given.items() if name not in lacking}


def _lacking(audit: AnyAudit, subject: Subject, benchmark: Benchmark, given: Mapping[str, Any]) -> str:
    """Why an audit does not apply; empty where it does, also where what it needs is wrong."""
    try:
        audit.check_subject(subject)
        if audit.needs is not None:
            audit.needs(benchmark, audit.configure(given))
    except NotApplicableError as error:
        return str(error)
    except Exception:  # observing it says what is wrong, and costs only this audit
        return ""
    return ""
