"""Settings of a training: a recipe's numbers, and what a user's file changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.toml import parse_toml
from equiview.subjects.trained import RENAMED

Settings = TypeVar("Settings", bound="Strict")


class Strict(BaseModel):
    """Settings that are checked once and never change."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _by_its_name(cls, content: Any) -> Any:
        for old, new in RENAMED.items():
            if isinstance(content, Mapping) and old in content:
                raise ValueError(f"{old!r} is named {new!r} now")
        return content

    @classmethod
    def names(cls) -> list[str]:
        """What may be set."""
        return list(cls.model_fields)


class Stage(Strict):
    """One stretch of training: examples a step, the highest learning rate, and how long."""

    batch: PositiveInt
    learning_rate: PositiveFloat
    epochs: PositiveFloat
    steps: NonNegativeInt = 0
    """If above 0, the number of steps instead of epochs."""


class TrainingSettings(Strict):
    """What every training has."""

    forward: PositiveInt
    """Examples in one pass through the model; a batch is made of several."""
    save_every: PositiveInt = 500
    """Steps between two checkpoints."""
    seed: NonNegativeInt = 0

    @property
    def stages(self) -> Mapping[str, Stage]:
        """The stages by name."""
        return {}

    @model_validator(mode="after")
    def _divides(self) -> Self:
        for name, stage in self.stages.items():
            if stage.batch % min(stage.batch, self.forward):
                raise ValueError(
                    f"setting '{name}.batch': {stage.batch} is no multiple of forward, {self.forward}"
                )
        return self

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, source: str = "settings") -> Self:
        """The defaults with what is given instead; InputError names a setting that is wrong."""
        try:
            return checked(cls, given or {})
        except InputError as error:
            raise InputError(f"{source}, {error}") from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The settings of a TOML file."""
        return cls.of(parse_toml(content_of(path), str(path)), str(path))


def checked(kind: type[Settings], content: Any, table: str = "") -> Settings:
    """`content` as settings of that kind; InputError names the setting, in `table`, that is wrong."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        said = str(first.get("ctx", {}).get("error") or first["msg"].lower())
        place = [part for part in (table, *map(str, first["loc"])) if part]
        if first["type"] == "extra_forbidden":
            said = f"{said} (settings: {', '.join(kind.names())})"
        raise InputError(f"setting '{'.'.join(place)}': {said}" if place else said) from None
