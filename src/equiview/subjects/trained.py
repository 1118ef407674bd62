"""The card of a trained subject: what it was made from, and whether its training is finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self

from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.refusals import refused
from equiview.io.tables import checksum, write_bytes
from equiview.subjects.base import Subject
from equiview.subjects.encoders.checkpoint import files_hash


class Part(Frozen):
    """A part or the training data of a subject: its name and its fingerprint."""

    name: str
    fingerprint: str


class TrainingCard(Frozen):
    """The file that makes a folder a subject; `weights` is a hash by which changes are noticed."""

    file: ClassVar[str]
    what: ClassVar[str]
    made: ClassVar[str]
    """The trained file or folder; `weights` is its hash."""

    layout: int = 1
    settings: dict[str, Any]
    versions: dict[str, str]
    weights: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the card of a folder; InputError when there is none or the training is not finished."""
        path = folder / cls.file
        if not path.is_file():
            raise InputError(
                f"{folder}: holds no {cls.what} (no {cls.file}); if its training was stopped, give the same "
                "command again"
            )
        with refused(lambda first: f"{path}: damaged or of another version ({first})"):
            card = cls.model_validate_json(content_of(path))
        made = folder / card.made
        if not card.weights or not made.exists():
            raise InputError(f"{folder}: its training is not finished; train it again")
        if hash_of(made) != card.weights:
            raise InputError(f"{made}: was changed after it was trained; train it again")
        return card

    def save(self, folder: Path, of: Path) -> None:
        """Write the file to `folder`, with the hash of what was trained in the folder `of`."""
        whole = self.model_copy(update={"weights": hash_of(of / self.made)})
        content = json.dumps(whole.model_dump(mode="json"), indent=2, ensure_ascii=False)
        write_bytes(content.encode() + b"\n", folder / self.file)


def hash_of(place: Path) -> str:
    """A hash of a file, or of every file of a folder by name and content."""
    if place.is_file():
        return checksum(place)
    return files_hash(place, sorted(path for path in place.rglob("*") if path.is_file()))


class DerivedCard(TrainingCard):
    """A card of what is made around another subject, its `parent`, which is loaded by its name."""

    parent: Part


class Derived(Subject):
    """A subject around another one, `inner`, whose results it changes; `card` says of which and how."""

    inner: Subject
    card: DerivedCard
    parts: ClassVar[tuple[str, ...]] = ("inner",)
    """Attributes with the subjects it is made of; vectors of encoders among them are kept in the store."""

    @property
    def parent(self) -> str:
        """The fingerprint of the subject whose results are changed."""
        return self.card.parent.fingerprint

    @property
    def fingerprint(self) -> str:
        """A hash of that subject and of what is done to its results."""
        return fingerprint(self.inner.fingerprint, self.card.weights)


def check_same(name: str, actual: str, wanted: Part, folder: Path, what: str) -> None:
    """InputError when the part `name` is not the one that the training in `folder` used."""
    if actual != wanted.fingerprint:
        raise InputError(
            f"{folder}: was trained with the {what} {wanted.name!r} of fingerprint {wanted.fingerprint}, but "
            f"{name!r} has {actual}; it is another one"
        )
