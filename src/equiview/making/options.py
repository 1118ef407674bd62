"""Settings as command-line options, with the names, types, defaults, bounds and help of the fields.

    class Mine(Settings):
        places: Annotated[Path, Option(argument=True)] = Field(description="Folder of places.")
        keep: int = Field(default=2, ge=1, description="Questions kept of a place.")     # --keep 2
        languages: tuple[str, ...] = Field(default=("en",), description="Codes.")        # --languages en,de
        rules: Rules = Rules()                                        # the options of its own fields
        recipe: Annotated[Recipe, Option("--config", file=True)] = Recipe()              # a file of TOML

Nothing heavy is imported here: the help of a command needs its settings only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from equiview.data.fields import holds_list, listed_words, plain_type
from equiview.io.refusals import refused

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Option:
    """How a setting is given on the command line, if not as `--NAME VALUE`.

    A tuple is separated by commas; with `repeated`, the option is given several times instead. `file` is for
    nested settings in a TOML file. A setting that is not `recorded` may change when a folder is continued,
    such as the number of processes; of inputs the card has fingerprints instead.
    """

    name: str = ""
    argument: bool = False
    repeated: bool = False
    file: bool = False
    recorded: bool = True


@dataclass(frozen=True)
class Setting:
    """One setting of a command: its path in the model, its field, and its option."""

    path: tuple[str, ...]
    field: FieldInfo
    option: Option

    @property
    def key(self) -> str:
        """Its parameter name."""
        return self.path[-1]

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.option.name or f"--{self.key.replace('_', '-')}"

    @property
    def type(self) -> type[Any]:
        """The type of the option: bool for a flag, `list` if repeated, else Path, int, float or str."""
        if self.option.file:
            return Path
        if self.option.repeated:
            return list
        kind = plain_type(self.field.annotation)
        return kind if kind in (bool, int, float, Path) else str

    @property
    def is_list(self) -> bool:
        """Whether it is a tuple, separated by commas."""
        return holds_list(self.field.annotation) and not self.option.repeated

    @property
    def default(self) -> Any:
        """Its default as it would be typed; None where there is none, or help should not show it."""
        if self.option.file or self.field.is_required():
            return None
        default = self.field.get_default(call_default_factory=True, validated_data={})
        if isinstance(default, tuple):
            return (list(default) if self.option.repeated else ",".join(map(str, default))) or None
        return None if default in (False, "") and self.type not in (int, float) else default

    @property
    def bounds(self) -> dict[str, float]:
        """`min` and `max` of a number, both inclusive."""
        found = {}
        for bound in self.field.metadata:
            for name, ours in (("ge", "min"), ("le", "max")):
                if (value := getattr(bound, name, None)) is not None:
                    found[ours] = value
        return found


def settings_of(kind: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """The settings of a model, own before inherited ones, nested ones flattened in place.

    >>> class Mine(BaseModel):
    ...     codes: tuple[str, ...] = ("en", "de")
    ...     no_cache: bool = False
    >>> [(setting.name, setting.type, setting.default) for setting in settings_of(Mine)]
    [('--codes', <class 'str'>, 'en,de'), ('--no-cache', <class 'bool'>, None)]
    """
    names = [name for part in kind.__mro__ for name in vars(part).get("__annotations__", ())]
    for name in (name for name in dict.fromkeys(names) if name in kind.model_fields):
        field = kind.model_fields[name]
        option = next((entry for entry in field.metadata if isinstance(entry, Option)), Option())
        nested = plain_type(field.annotation)
        if isinstance(nested, type) and issubclass(nested, BaseModel) and not option.file:
            yield from settings_of(nested, (*path, name))
        else:
            yield Setting((*path, name), field, option)


def nested_values(settings: list[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values by parameter as nested settings for the model, without None; files are read."""
    from equiview.io.files import content_of
    from equiview.io.toml import parse_toml

    values: dict[str, Any] = {}
    for setting in settings:
        value = given[setting.key]
        if value is None:
            continue
        if setting.option.file:
            source = str(value)
            value = checked(
                plain_type(setting.field.annotation), parse_toml(content_of(value), source), source
            )
        elif setting.is_list:
            value = listed_words(value)
        place = values
        for name in setting.path[:-1]:
            place = place.setdefault(name, {})
        place[setting.key] = value
    return values


def checked(kind: type[Model], given: Mapping[str, Any], source: str = "") -> Model:
    """Settings from a user's values or the file `source`; InputError names the first wrong one."""
    begin = f"{source}, " if source else ""
    with refused(lambda first: begin + (f"setting {first}" if first.where else first.what)):
        return kind.model_validate(given)


def recorded(settings: BaseModel) -> dict[str, Any]:
    """The recorded settings as nested JSON values."""
    content = settings.model_dump(mode="json")
    for setting in settings_of(type(settings)):
        if not setting.option.recorded:
            place = content
            for name in setting.path[:-1]:
                place = place[name]
            del place[setting.key]
    return content
