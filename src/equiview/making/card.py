"""The card of a result: its inputs with licences, models and settings, and the finished stages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from equiview import __version__
from equiview.data.verdict import Frozen
from equiview.io.files import content_of
from equiview.io.refusals import refused
from equiview.io.tables import write_bytes
from equiview.subjects.trained import Part

CARD = "maker.json"


class Input(Part):
    """An input, with its origin. Equal fingerprints mean equal content, wherever it is stored."""

    source: str = ""
    licence: str = ""

    @classmethod
    def of(cls, data: Any) -> Input:
        """A benchmark, or data from one, as an input."""
        return cls(name=data.name, fingerprint=data.fingerprint, source=data.source, licence=data.licence)


class Card(Frozen):
    """The first file of a folder. `stages` has the files of each finished stage, with checksums."""

    layout: int = 1
    maker: str
    inputs: dict[str, Input]
    models: dict[str, Input] = Field(default_factory=dict)
    settings: dict[str, Any]
    versions: dict[str, str] = Field(default_factory=dict)
    equiview: str = __version__
    stages: dict[str, dict[str, str]] = Field(default_factory=dict)
    finished: bool = False

    @classmethod
    def read(cls, folder: Path) -> Card:
        """The card of a folder; InputError when it is missing or damaged."""
        path = folder / CARD
        with refused(lambda first: f"{path}: damaged or of another version ({first})"):
            return cls.model_validate_json(content_of(path))

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        content = json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False)
        write_bytes(content.encode() + b"\n", folder / CARD)

    def differs_from(self, other: Card) -> list[str]:
        """The settings, inputs and models that differ between two cards.

        >>> one, other = (Card(maker="m", inputs={}, settings={"rules": {"least": x}}) for x in (1, 2))
        >>> one.differs_from(other)
        ['rules.least']
        """
        first, second = self._identity(), other._identity()
        return [name for name in first | second if first.get(name) != second.get(name)]

    def _identity(self) -> dict[str, Any]:
        parts = {name: part.fingerprint for name, part in (self.inputs | self.models).items()}
        return {"maker": self.maker} | parts | dict(_flat(self.settings)) | self.versions

    @property
    def made_from(self) -> str:
        """Its inputs and models in one line, with licences."""
        return ", ".join(
            f"{part.name} ({part.licence})" if part.licence else part.name
            for part in dict.fromkeys([*self.inputs.values(), *self.models.values()])
        )


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
