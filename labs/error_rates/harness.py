"""Systems whose truth is known, and what an audit says of one of them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import equiview
from equiview.audits import AUDITS
from equiview.data.observations import Observations
from equiview.data.verdict import Finding
from equiview.errors import InputError

PACKAGE = "labs.error_rates"
MACHINERY = {"__init__", "__main__", "running", "wanted", "page", "power"}
"""Files of this package that do not decide what a system is."""
EFFECTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Planted effects of a power curve, in multiples of the audit's tolerance."""
PLANTED = 2.0
"""The effect that a planted system has when no other is asked for."""


@dataclass(frozen=True)
class System:
    """Something to audit of which we know the truth.

    `truth` is "none" (nobody is treated differently), "planted" (an effect of twice the tolerance), "useless"
    (cannot do the task) or "tiny" (too little to judge by). `make(seed, size)` gives what was observed of it
    with `size` queries. Where `make` of a planted system takes `effect` too, in multiples of the tolerance,
    its power curve is drawn. `note` says in words what it is; `settings` are the audit's, if it needs others.
    """

    name: str
    truth: Literal["none", "planted", "useless", "tiny"]
    make: Callable[..., Observations]
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def swept(self) -> bool:
        """Whether other effects than `PLANTED` can be planted."""
        return self.truth == "planted" and "effect" in inspect.signature(self.make).parameters

    def effects(self, wanted: Sequence[float] = EFFECTS) -> tuple[float | None, ...]:
        """Those of `wanted` that can be tried: None where nothing is planted, one where `make` knows one."""
        if self.truth != "planted":
            return (None,)
        return tuple(wanted) if self.swept else (PLANTED,)

    def observed(self, seed: int, size: int, effect: float | None = None) -> Observations:
        """What was observed of it; `effect` is one of `effects()`."""
        if effect is None or not self.swept:
            return self.make(seed, size)
        return self.make(seed, size, effect=effect)


def systems_of(audit: str, package: str = PACKAGE) -> dict[str, System]:
    """The systems of one audit by name; InputError when nobody wrote any."""
    module = f"{package}.{audit}"
    try:
        systems: dict[str, System] = importlib.import_module(module).SYSTEMS
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise InputError(
            f"audit {audit!r} has no systems of known truth: write SYSTEMS in {module.replace('.', '/')}.py"
        ) from None
    return systems


def systems(package: str = PACKAGE) -> dict[str, dict[str, System]]:
    """The systems of every audit there is; InputError for an audit that has none."""
    return {audit: systems_of(audit, package) for audit in AUDITS.all()}


def judged(
    audit: str,
    system: System,
    seed: int,
    size: int,
    settings: Mapping[str, Any] | None = None,
    *,
    effect: float | None = None,
) -> Finding:
    """What the audit says of a system, by its own `measure` and `judge`.

    `settings` are the audit's, by name; those of the system override them. InputError where nothing can be
    measured.
    """
    entry = AUDITS.get(audit)
    configured = entry.configure({"seed": seed} | dict(settings or {}) | dict(system.settings))
    estimates = entry.measure(entry.view(system.observed(seed, size, effect), configured), configured)
    return entry.judge(estimates, configured).finding


def code_of(audit: str, settings: Mapping[str, Any], package: str = PACKAGE) -> str:
    """A fingerprint of all that decides the audit's findings: its sources, its systems and `settings`.

    A result of other code is not counted again.
    """
    source = Path(equiview.__file__).parent
    systems_folder = Path(inspect.getfile(importlib.import_module(f"{package}.{audit}"))).parent
    measure = Path(inspect.getfile(AUDITS.get(audit).measure))
    skipped = MACHINERY | (set(AUDITS.all()) - {audit})
    files = [
        *(path for room in ("metrics", "stats", "data") for path in (source / room).rglob("*.py")),
        *(path for path in (source / "audits").glob("*.py") if path.stem != "power"),
        *(measure.parent.glob("*.py") if measure.parent.name == audit else [measure]),
        *(path for path in systems_folder.glob("*.py") if path.stem not in skipped),
    ]
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    for path in sorted(set(files)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
