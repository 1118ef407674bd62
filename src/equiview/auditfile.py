"""`audit.toml`: which systems are audited on what, with which settings, and what must not come of it.

    out = "runs"                        # folder of the runs, beside this file
    [[subjects]]
    use = "pictogram:skewed"            # as `equiview audit` takes it
    name = "released"
    [[benchmarks]]
    use = "pictograms"
    audits = ["prevalence", "parity"]
    [settings.prevalence]
    cutoffs = [5, 10]
    [gate]
    fail_if = ["worse"]
    baseline = "released"

Nothing that is not known is passed over; what is wrong is said with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationError, field_validator

from equiview.audits import AUDITS
from equiview.audits.applying import ALL
from equiview.audits.execute import configure
from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.refusals import UNKNOWN, Refusal
from equiview.io.toml import parse_toml
from equiview.studies.gate import parse


class Named(Frozen):
    """A subject or a benchmark: `use` is what `equiview audit` takes, `name` what to call it."""

    use: str = Field(min_length=1)
    name: str = ""

    @property
    def called(self) -> str:
        """Its name, or what it is."""
        return self.name or self.use


class Subject(Named):
    """A system."""


class Benchmark(Named):
    """What systems are audited on.

    `audits` are names, or "all" for those that apply to a system. `subject` says how a system is put to it,
    with its name at {}, such as "choice:{}"; `only` names the systems that are, all where it is empty.
    """

    audits: tuple[str, ...] = Field(min_length=1)
    subject: str = "{}"
    only: tuple[str, ...] = ()


class Gate(Frozen):
    """Conditions over the runs (docs/gate.md); `baseline` names the system or run that they compare with."""

    fail_if: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    baseline: str = ""
    unclear: Literal["fail", "pass"] = "fail"


class AuditFile(Frozen):
    """A whole file. `max_cost` is in US dollars for each run, `engine` as `equiview audit` takes it."""

    subjects: tuple[Subject, ...] = Field(min_length=1)
    benchmarks: tuple[Benchmark, ...] = Field(min_length=1)
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    gate: Gate | None = None
    out: str = Field(default="runs", min_length=1)
    seed: int = Field(default=0, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    on_error: Literal["stop", "skip"] = "stop"
    engine: str = "local"

    @field_validator("subjects", mode="before")
    @classmethod
    def _words_are_subjects(cls, given: Any) -> Any:
        """A list of names stands for subjects without further words."""
        if not isinstance(given, list):
            return given
        return [{"use": entry} if isinstance(entry, str) else entry for entry in given]

    def settings_for(self, audits: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The settings of these audits."""
        everything = ALL in audits
        return {audit: given for audit, given in self.settings.items() if everything or audit in audits}


def read_audit_file(path: Path) -> AuditFile:
    """Read and check a file; InputError names the first thing that is wrong, and its line."""
    content = content_of(path)
    table = parse_toml(content, str(path))
    lines = content.decode("utf-8-sig").splitlines()
    try:
        plan = AuditFile.model_validate(table)
    except ValidationError as error:
        where: tuple[Any, ...] = error.errors()[0]["loc"]
        raise InputError(f"{path}{_line_of(lines, where)}: {_said(Refusal.of(error), where)}") from None
    _check(plan, lambda where, said: InputError(f"{path}{_line_of(lines, where)}: {said}"))
    return plan


Wrong: TypeAlias = Callable[[tuple[Any, ...], object], InputError]


def _check(plan: AuditFile, wrong: Wrong) -> None:
    """What no schema says: names once each, audits and settings that there are, conditions that are read."""
    for key, entries in (("subjects", plan.subjects), ("benchmarks", plan.benchmarks)):
        names = [entry.called for entry in entries]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise wrong((key, place), f"two {key} are called {name!r}; give one another name")
    systems = [entry.called for entry in plan.subjects]
    for place, entry in enumerate(plan.benchmarks):
        here = ("benchmarks", place)
        if stray := next((name for name in entry.only if name not in systems), None):
            raise wrong((*here, "only"), f"no subject is called {stray!r} ({', '.join(systems)})")
        if entry.subject.count("{}") != 1:
            raise wrong((*here, "subject"), "a system's name stands at one {}, as in choice:{}")
        with _at(wrong, (*here, "audits")):
            configure([name for name in entry.audits if name != ALL] or AUDITS.all(), None, plan.seed)
    audits = {audit for entry in plan.benchmarks for audit in entry.audits}
    if ALL in audits:
        audits |= set(AUDITS.all())
    for audit, given in plan.settings.items():
        if audit not in audits:
            raise wrong(("settings", audit), f"settings of {audit!r}, which no benchmark names")
        for name, value in given.items():
            with _at(wrong, ("settings", audit, name)):
                configure([audit], {audit: {name: value}}, plan.seed)
        with _at(wrong, ("settings", audit)):
            configure([audit], {audit: given}, plan.seed)
    if plan.gate is not None:
        _check_gate(plan.gate, audits, wrong)


def _check_gate(gate: Gate, audits: Collection[str], wrong: Wrong) -> None:
    if not (gate.fail_if or gate.require):
        raise wrong(("gate",), "a gate needs at least one condition, in fail_if or require")
    for key in ("fail_if", "require"):
        for text in getattr(gate, key):
            with _at(wrong, ("gate", key)):
                condition = parse(text)
            if condition.audit and condition.audit not in audits:
                raise wrong(("gate", key), f"{text!r}: no benchmark names the audit {condition.audit!r}")
            if condition.is_paired and not gate.baseline:
                raise wrong(("gate", key), f"{text!r}: is about a difference; name a baseline")


@contextmanager
def _at(wrong: Wrong, where: tuple[Any, ...]) -> Iterator[None]:
    """Within, an InputError is said with its place."""
    try:
        yield
    except InputError as error:
        raise wrong(where, error) from None


def _said(refusal: Refusal, where: Sequence[Any]) -> str:
    if refusal.what == UNKNOWN:
        return f"unknown key {refusal.where!r}"
    if refusal.what == "field required":
        return f"{where[-1]!r} is missing" + (
            f" from {refusal.where.rpartition('.')[0]}" if where[1:] else ""
        )
    return str(refusal)


HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*(?:=|\.)""")


def _line_of(lines: Sequence[str], where: Sequence[Any]) -> str:
    """`, line N` of the nearest thing to `where`, as in ("subjects", 1, "use"), that has a line."""
    best, found = 0, ""
    here: tuple[Any, ...] = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if header := HEADER.match(line):
            name = header[2].strip().strip("\"'")
            here = tuple(part.strip().strip("\"'") for part in name.split("."))
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                here = (*here, counts[name])
        elif key := KEY.match(line):
            place = (*here, next(part for part in key.groups() if part is not None))
            best, found = _nearer(place, where, number, best, found)
            continue
        best, found = _nearer(here, where, number, best, found)
    return found


def _nearer(
    place: tuple[Any, ...], where: Sequence[Any], number: int, best: int, found: str
) -> tuple[int, str]:
    """The place of the longest beginning of `where` that was met, the first of equals."""
    if place and tuple(where[: len(place)]) == place and len(place) > best:
        return len(place), f", line {number}"
    return best, found
