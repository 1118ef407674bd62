"""Settings of a training: defaults from a file beside the code, and what a user's file changes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.toml import parse_toml

DEFAULTS = "defaults.toml"


class Strict(BaseModel):
    """Settings that are checked once and never change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TrainingSettings(Strict):
    """What every training has; a subclass has a `defaults.toml` in its own package."""

    forward: int = Field(ge=1)
    """Examples in one pass through the model; a batch is made of several."""
    save_every: int = Field(ge=1)
    """Steps between two checkpoints."""
    seed: int = Field(ge=0)

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, source: str = "settings") -> Self:
        """The defaults with what is given instead; InputError names a setting that is wrong."""
        package = cls.__module__.rpartition(".")[0]
        content = tomllib.loads(files(package).joinpath(DEFAULTS).read_text("utf-8"))
        for name, value in (given or {}).items():
            table = isinstance(value, Mapping) and isinstance(content.get(name), dict)
            content[name] = {**content[name], **value} if table else value
        try:
            settings = cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            known = ", ".join(cls.model_fields)
            raise InputError(
                f"{source}, setting {where!r}: {first['msg'].lower()} (settings: {known})"
            ) from None
        settings.check(source)
        return settings

    @classmethod
    def read(cls, path: Path) -> Self:
        """The settings of a TOML file."""
        return cls.of(parse_toml(content_of(path), str(path)), str(path))

    def check(self, source: str) -> None:
        """InputError for settings that do not go together."""
