"""The folder of a run: what was asked, what was observed, what follows from it, and how far it got.

    manifest.json            subject, benchmark, settings, versions, seed; for each finished stage its files
    observations/*.parquet   what happened: the only product of running a model
    estimates.parquet        numbers with intervals
    verdicts.json            the answers in words
    failures.json            audits that could not be observed or measured, and why; only if there are any
    figures/*.json           figures as data
    report.html              the page
    timings.json             clock times, kept apart so that everything else is the same bytes every time

A stage works in a hidden folder and its files are moved into place when it is whole; only then does the
manifest say it is done. A killed run therefore continues at the stage it was in. Audits are observed each by
itself; what comes after rests on all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import TypeAdapter

from equiview.data.estimates import SCHEMA, Estimates
from equiview.data.figures import Figure, read_figure
from equiview.data.manifest import CORE_PACKAGES, Manifest
from equiview.data.observations import Observations
from equiview.data.stamped import read_stamped
from equiview.data.verdict import Frozen, Verdict
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.lock import locked
from equiview.io.refusals import refused
from equiview.io.remote import url_of
from equiview.io.stages import left_in, sweep, write_stage
from equiview.io.tables import Schema, checksum, write_bytes

R = TypeVar("R", bound=Frozen)
T = TypeVar("T")
OBSERVE = "observe."
"""How the stages begin that observe an audit."""
Stamps: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""What tells that a file was written again: when it changed, its size and its place; None: it is missing."""


class Failure(Frozen):
    """An audit that could not be observed, or not measured: the error in one line.

    `trace` is empty for an error that a person can correct; for a defect it is the traceback.
    """

    audit: str
    message: str
    trace: str = ""


@dataclass
class Run:
    """A run folder, open for work or for reading."""

    folder: Path
    manifest: Manifest
    label: str = field(default="", compare=False)
    """What to call it instead of its own name, beside others of that name."""
    _after_stage: Callable[[], object] | None = field(default=None, repr=False, compare=False)
    _unchanged: dict[str, Stamps] = field(default_factory=dict, repr=False, compare=False)
    _kept: dict[tuple[str, str], tuple[Stamps, Any]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def start(
        cls, folder: Path, manifest: Manifest, packages: Mapping[str, Collection[str]] | None = None
    ) -> Run:
        """Begin a run in `folder`, continue the one there if it is the same run, or add audits to it.

        Where no stage is done there is nothing to lose, and a run that failed at once is begun anew as it is
        asked for now. Audits that are added are written down when the first of them is observed. `packages`
        are those that only the observations of an audit rest on, by audit: their versions count once it is
        observed.
        """
        if (folder / "manifest.json").exists() and (run := cls.open(folder)).manifest.stages:
            sweep(folder)
            if different := run.manifest.differences(manifest, run._free(packages)):
                raise InputError(
                    f"{folder}: holds a run that differs in {'; '.join(different)}; choose another folder"
                )
            if manifest.name and manifest.name != run.manifest.name:
                run._rename(manifest.name)
            there = ("name", "subject", "benchmark", "stages")
            run.manifest = manifest.model_copy(update={name: getattr(run.manifest, name) for name in there})
            return run
        check_usable(folder)
        sweep(folder)
        run = cls(folder, manifest)
        run._save()
        return run

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Open a run that exists; InputError when `folder` holds none or its manifest is damaged."""
        path = folder / "manifest.json"
        if not path.is_file():
            raise InputError(f"{folder}: holds no run (no manifest.json)")
        with refused(lambda first: f"{path}: damaged or of another version ({first})"):
            return cls(folder, Manifest.model_validate_json(content_of(path)))

    def stage(self, name: str, produce: Callable[[Path], None], *, again: bool = False) -> bool:
        """Do one stage unless it is done, or `again`; `produce` writes its files under the folder given.

        Returns whether anything was done. What it left before, and stages that rest on it, are forgotten with
        their files once `produce` is through. InputError while another process writes to the folder.
        """
        if not again and self.is_done(name) and not any(left_in(self.folder)):
            return False
        with locked(self.folder):
            sweep(self.folder)
            if not again and self.is_done(name):
                return False
            self._do(name, produce)
        if self._after_stage is not None:
            self._after_stage()
        return True

    @contextlib.contextmanager
    def after_stages(self, do: Callable[[], object] | None) -> Iterator[None]:
        """Within, `do` follows each stage that was not done before: it sends a run that stands at a URL."""
        self._after_stage = do
        try:
            yield
        finally:
            self._after_stage = None

    def _do(self, name: str, produce: Callable[[Path], None]) -> None:
        began = time.perf_counter()
        files = write_stage(self.folder, name, produce, lambda _: self.forget(name))
        self._save_stages(self.manifest.stages | {name: files})
        self._note_time(name, time.perf_counter() - began)

    def is_done(self, name: str) -> bool:
        """Whether the stage is finished and its files are still what it left."""
        return name in self.manifest.stages and None not in self._stamps(name) and self._changed(name) is None

    def is_observed(self, audit: str) -> bool:
        """Whether the audit's observing was finished."""
        return f"{OBSERVE}{audit}" in self.manifest.stages

    def need(self, name: str) -> None:
        """InputError unless the stage was finished."""
        if name in self.manifest.stages:
            return
        how = (
            "give the same `equiview audit` command again"
            if _observes(name)
            else f"`equiview report {self.folder}` finishes it"
        )
        raise InputError(f"{self.folder}: this run is not finished (stage {name!r} is missing); {how}")

    def check(self, stage: str) -> None:
        """InputError naming the first file of a finished stage that was changed since; one may be missing."""
        if (path := self._changed(stage)) is not None:
            raise InputError(
                f"{path}: was changed after the run wrote it (manifest.json has another checksum); "
                "delete it and run the same audit again"
            )

    def kept(self, stage: str, name: str, read: Callable[[], T]) -> T:
        """What `read` makes of the files of a stage: read once, and again only when one was written again."""
        stamps = self._stamps(stage)
        found = self._kept.get((stage, name))
        if found is None or found[0] != stamps:
            found = self._kept[stage, name] = (stamps, read())
        return found[1]

    def _changed(self, stage: str) -> Path | None:
        """The first file of a stage that is not as it was left; files are hashed once as they stand."""
        stamps = self._stamps(stage)
        if self._unchanged.get(stage) == stamps:
            return None
        for name, expected in self.manifest.stages.get(stage, {}).items():
            path = self.folder / name
            if path.is_file() and checksum(path) != expected:
                return path
        self._unchanged[stage] = stamps
        return None

    def _stamps(self, stage: str) -> Stamps:
        """The stamps of a stage's files in order."""
        paths = [self.folder / name for name in self.manifest.stages.get(stage, {})]
        found = [path.stat() if path.is_file() else None for path in paths]
        return tuple(entry and (entry.st_mtime_ns, entry.st_size, entry.st_ino) for entry in found)

    def forget(self, name: str) -> None:
        """Remove what a stage, and those that rest on it, left: no file outlives the stage that names it.

        An observation rests on no other, and is rested on by all that is not one and comes after.
        """
        names = list(self.manifest.stages)
        first = next((place for place, stage in enumerate(names) if _observes(stage)), len(names))
        start = names.index(name) if name in names else len(names)
        if _observes(name):
            gone = {name, *(stage for stage in names[first:] if not _observes(stage))}
        else:
            gone = set(names[start:])
        if not gone.intersection(names):
            return
        for stage in gone.intersection(names):
            for path in self.manifest.stages[stage]:
                (self.folder / path).unlink(missing_ok=True)
        self._save_stages(
            {stage: files for stage, files in self.manifest.stages.items() if stage not in gone}
        )

    def _save_stages(self, stages: Mapping[str, dict[str, str]]) -> None:
        """Keep these stages; observations stand in the order of the manifest, whenever they were made."""
        names = list(stages)
        first = next((place for place, stage in enumerate(names) if _observes(stage)), len(names))
        audits = [stage for audit in self.manifest.audits if (stage := f"{OBSERVE}{audit}") in stages]
        order = [*names[:first], *audits, *(stage for stage in names[first:] if not _observes(stage))]
        self.manifest = self.manifest.model_copy(update={"stages": {name: stages[name] for name in order}})
        self._save()

    def _free(self, packages: Mapping[str, Collection[str]] | None) -> Collection[str] | None:
        """Packages on whose versions nothing rests that was observed; None: nothing was observed."""
        observed = {audit for audit in self.manifest.audits if self.is_observed(audit)}
        if not observed:
            return None
        packages = packages or {}
        fixed = {*CORE_PACKAGES, *(name for audit in observed for name in packages.get(audit, ()))}
        return {name for names in packages.values() for name in names} - fixed

    def _rename(self, name: str) -> None:
        """Take another name for display; the page, which shows it, is made again."""
        stages = {stage: files for stage, files in self.manifest.stages.items() if stage != "report"}
        self.manifest = self.manifest.model_copy(update={"name": name, "stages": stages})
        self._save()

    def _save(self) -> None:
        write_bytes(self.manifest.content, self.folder / "manifest.json")

    def _note_time(self, name: str, seconds: float) -> None:
        path = self.folder / "timings.json"
        times = {}
        with contextlib.suppress(ValueError, RecursionError):  # lost or damaged times are no loss
            times = dict(json.loads(content_of(path)))
        times[name] = round(seconds, 3)
        write_bytes(json.dumps(times, indent=2).encode() + b"\n", path)

    @property
    def name(self) -> str:
        """What to call the run beside others: its label, its name for display, or its subject."""
        return self.label or self.manifest.name or self.manifest.subject.name

    def observations(self, audit: str, schemas: Mapping[str, Schema]) -> Observations:
        """What one audit observed, read anew; InputError for a table that is not as it was observed."""
        self.check(f"observe.{audit}")
        return Observations.read(self.folder / "observations", audit, schemas)

    @property
    def estimates(self) -> Estimates:
        """The numbers; InputError when they are not measured yet, or are not those that were measured."""
        self.need("measure")
        self.check("measure")
        path = self.folder / "estimates.parquet"
        return self.kept("measure", "estimates", lambda: Estimates(read_stamped(path, SCHEMA), str(path)))

    @property
    def verdicts(self) -> list[Verdict]:
        """The answers in words, one an audit; InputError as for `estimates`."""
        self.need("measure")
        self.check("measure")
        return self._records("verdicts.json", Verdict)

    @property
    def failures(self) -> list[Failure]:
        """The audits that could not be observed or measured, with the reason."""
        if "failures.json" not in self.manifest.stages.get("measure", {}):
            return []
        return self._records("failures.json", Failure)

    @property
    def unobserved(self) -> list[Failure]:
        """Those of `failures` that could not be observed; none where the file is not as it was written."""
        written = self.manifest.stages.get("measure", {}).get("failures.json")
        path = self.folder / "failures.json"
        if written is None or not path.is_file() or checksum(path) != written:
            return []
        return [failure for failure in self.failures if not self.is_observed(failure.audit)]

    def _records(self, name: str, kind: type[R]) -> list[R]:
        return self.kept("measure", name, lambda: self._read(self.folder / name, kind))

    def _read(self, path: Path, kind: type[R]) -> list[R]:
        with refused(lambda first: f"{path}: is damaged ({first}); run the audit again"):
            return TypeAdapter(list[kind]).validate_json(content_of(path))  # type: ignore[valid-type]

    def figures(self, audit: str) -> list[Figure]:
        """The figures of one audit, in the order they are meant to be read; InputError for a changed one."""
        self.check("draw")
        paths = [path for path in self.figure_files if path.name.startswith(f"{audit}.")]
        return self.kept("draw", audit, lambda: [read_figure(path) for path in paths])

    @property
    def figure_files(self) -> list[Path]:
        """The figures that the run drew, in the order they are meant to be read; other files are not its."""
        drawn = [Path(name) for name in sorted(self.manifest.stages.get("draw", {}))]
        return [self.folder / name for name in drawn if name.suffix == ".json"]


def check_usable(folder: Path) -> None:
    """InputError when `folder` holds something else than a run: it is left as it is."""
    check_folder(folder)
    held = [] if not folder.is_dir() or (folder / "manifest.json").exists() else list(folder.iterdir())
    if any(not entry.name.startswith(".") for entry in held):
        raise InputError(f"{folder}: is not empty and holds no run; choose another folder")


def check_folder(folder: Path) -> None:
    """InputError when something else than a folder has that name, or it is a URL."""
    if url := url_of(folder):
        raise InputError(f"{url}: this is written to a folder of this machine; name one")
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; choose another name")


def _observes(stage: str) -> bool:
    return stage.startswith(OBSERVE)
