"""What the folder of a training says: of what the subject was made, and whether its training is finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.refusals import refused


class Part(Frozen):
    """What it was made of, or trained on: how it is named, and what tells it from others."""

    name: str
    fingerprint: str


class TrainingCard(Frozen):
    """The file that a folder of a training begins with. `weights` is empty until all is done."""

    file: ClassVar[str]
    what: ClassVar[str]
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
        with refused(lambda first: f"{path}: damaged or of another version ({first})"):
            return cls.model_validate_json(content_of(path))


def check_same(name: str, actual: str, wanted: Part, folder: Path, what: str) -> None:
    """InputError when what is called `name` is not what the training in `folder` was made with."""
    if actual != wanted.fingerprint:
        raise InputError(
            f"{folder}: was trained with the {what} {wanted.name!r} of fingerprint {wanted.fingerprint}, but "
            f"{name!r} has {actual}; it is another one"
        )
