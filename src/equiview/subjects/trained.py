"""What the folder of a training says: of what the subject was made, and whether its training is finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from pydantic import ValidationError, field_validator

from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import checksum
from equiview.subjects.encoders.checkpoint import files_hash

RENAMED = {"rate": "learning_rate", "every": "decay_epochs", "clip": "max_grad_norm"}
"""Settings by the names they had in version 0.1, and their names."""


class Named(Protocol):
    """A subject, a checkpoint or data."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    @property
    def fingerprint(self) -> str:
        """What tells it from others."""


class Part(Frozen):
    """What it was made of, or trained on: how it is named, and what tells it from others."""

    name: str
    fingerprint: str

    @classmethod
    def of(cls, thing: Named, name: str = "") -> Self:
        """The name and fingerprint of a thing; `name` where it is found by another."""
        return cls(name=name or thing.name, fingerprint=thing.fingerprint)


class TrainingCard(Frozen):
    """The file that a folder of a training begins with. `weights` is empty until all is done."""

    file: ClassVar[str]
    what: ClassVar[str]
    made: ClassVar[str]
    """The file or folder of what was trained, of which `weights` is a hash."""
    progress: ClassVar[frozenset[str]] = frozenset({"weights"})
    """Fields that change while training goes on; the others say which training it is."""

    layout: int = 1
    settings: dict[str, Any]
    versions: dict[str, str]
    weights: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file of a folder; InputError when there is none, or it is damaged."""
        path = folder / cls.file
        if not path.is_file():
            raise InputError(f"{folder}: holds no {cls.what} (no {cls.file})")
        try:
            return cls.model_validate_json(content_of(path))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"{path}: damaged or of another version ({where}: {first['msg']})") from None

    @field_validator("settings", mode="before")
    @classmethod
    def _renamed(cls, settings: Any) -> Any:
        if not isinstance(settings, dict):
            return settings
        return {RENAMED.get(name, name): cls._renamed(value) for name, value in settings.items()}

    def is_done(self, folder: Path) -> bool:
        """Whether `folder` holds what was trained, to the end and unchanged."""
        return (
            bool(self.weights)
            and (folder / self.made).exists()
            and hash_of(folder / self.made) == self.weights
        )

    def check_done(self, folder: Path) -> None:
        """InputError for a training that is not finished, or was changed since."""
        if not self.weights or not (folder / self.made).exists():
            raise InputError(f"{folder}: its training is not finished; give the same command again")
        if not self.is_done(folder):
            raise InputError(f"{folder / self.made}: was changed after it was trained; train it again")


def hash_of(place: Path) -> str:
    """A hash of a file, or of every file of a folder by name and content."""
    if place.is_file():
        return checksum(place)
    return files_hash(place, sorted(path for path in place.rglob("*") if path.is_file()))


def check_same(name: str, actual: str, wanted: Part, folder: Path, what: str) -> None:
    """InputError when what is called `name` is not what the training in `folder` was made with."""
    if actual != wanted.fingerprint:
        raise InputError(
            f"{folder}: was trained with the {what} {wanted.name!r} of fingerprint {wanted.fingerprint}, but "
            f"{name!r} has {actual}; it is another one"
        )
