"""What a run is: its subject, benchmark, audits, settings, seed and versions, and which stages are done."""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Collection, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from equiview.data.stamped import SCHEMA_VERSION, refusal
from equiview.data.verdict import Frozen
from equiview.io.secrets import redacted

CORE_PACKAGES = ("equiview", "numpy", "pillow", "polars", "scipy")


class SubjectCard(Frozen):
    """What was audited. `parent` is the fingerprint of the subject it was derived from, if it was."""

    name: Annotated[str, AfterValidator(redacted)]
    fingerprint: str
    about: str = ""
    parent: str | None = None


class BenchmarkCard(Frozen):
    """What it was audited on; `counts` says how many images, texts and rows of each table it holds."""

    name: str
    fingerprint: str
    counts: dict[str, int]
    about: str = ""
    source: str = ""
    licence: str = ""


class Manifest(Frozen):
    """What a run is. Two runs with equal manifests hold equal bytes.

    `name` is for display, no part of what the run is: "" stands for the name of the subject. `files` are
    hashes of the files that settings name, by audit and setting.
    """

    schema_version: int = SCHEMA_VERSION
    name: Annotated[str, AfterValidator(redacted)] = ""
    subject: SubjectCard
    benchmark: BenchmarkCard
    audits: tuple[str, ...]
    settings: dict[str, dict[str, Any]]
    files: dict[str, str] = Field(default_factory=dict)
    seed: int
    versions: dict[str, str]
    stages: dict[str, dict[str, str]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _of_a_version_that_is_read(cls, given: Any) -> Any:
        """Say of which version a manifest is that is not read; that of version 2 called it `layout`."""
        if not isinstance(given, dict):
            return given
        found = given.get("schema_version", given.get("layout", SCHEMA_VERSION))
        if refused_version := refusal(found):
            raise ValueError(refused_version)
        rest = {name: value for name, value in given.items() if name != "layout"}
        return rest | {"schema_version": SCHEMA_VERSION}

    @model_validator(mode="after")
    def _each_audit_has_settings(self) -> Self:
        for audit in self.audits:
            if audit not in self.settings:
                raise ValueError(f"no settings of audit {audit!r}")
        return self

    @property
    def content(self) -> bytes:
        """What its file holds."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False).encode() + b"\n"

    def differences(self, other: Manifest, free: Collection[str] | None = ()) -> list[str]:
        """What the two disagree in and how, in words: what is in this one, and what is asked for in `other`.

        Stages, names and further audits of `other` are no difference, nor are versions of packages that are
        `free` to differ (None: all). A subject or a benchmark is its fingerprint: a path may be spelled in
        several ways.
        """
        found = [
            f"{what} ({_changed(what, ours, theirs)})"
            for what, ours, theirs in (
                ("subject", self.subject, other.subject),
                ("benchmark", self.benchmark, other.benchmark),
            )
            if ours.model_copy(update={"name": theirs.name}) != theirs
        ]
        if self.seed != other.seed:
            found.append(f"seed ({self.seed} there, {other.seed} now)")
        found += [f"audits ({audit} is there)" for audit in self.audits if audit not in other.audits]
        settings = [
            {
                f"{audit}.{name}": value
                for audit in self.audits
                for name, value in of.get(audit, {}).items()
                if name != "seed" or self.seed == other.seed
            }
            for of in (self.settings, other.settings)
        ]
        found += _told("settings", *settings)
        files = [
            {name: content for name, content in of.items() if name.partition(".")[0] in self.audits}
            for of in (self.files, other.files)
        ]
        if settings[0] == settings[1] and (changed := _unlike(*files)):
            found.append(f"files (what {' and '.join(changed)} names was changed)")
        if free is not None:
            packages = [
                {name: version for name, version in of.items() if name not in free}
                for of in (self.versions, other.versions)
            ]
            found += _told("versions", *packages)
        return found


def versions(*packages: str) -> dict[str, str]:
    """Versions of what can change a number: the core's libraries, and `packages` where installed."""
    found = {"python": platform.python_version()} | {name: version(name) for name in CORE_PACKAGES}
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _changed(what: str, there: SubjectCard | BenchmarkCard, now: SubjectCard | BenchmarkCard) -> str:
    """How a subject or a benchmark differs from the one of that name, or that it is another one."""
    if there.name != now.name:
        return f"{there.name!r} there, {now.name!r} now"
    if there.fingerprint != now.fingerprint:
        return f"{now.name!r} has changed since"
    return f"{now.name!r}: {', '.join(_unlike(there.model_dump(), now.model_dump()))}"


def _unlike(there: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of what differs."""
    return [name for name in {**there, **now} if there.get(name) != now.get(name)]


def _told(what: str, there: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs and how, as settings of the command line are written; [] where nothing does."""

    def value(of: Mapping[str, Any], name: str) -> str:
        given = of.get(name, "none")
        return given if isinstance(given, str) and given else json.dumps(given, ensure_ascii=False)

    lines = [f"{name} {value(there, name)} there, {value(now, name)} now" for name in _unlike(there, now)]
    return [f"{what} ({'; '.join(lines)})"] if lines else []
