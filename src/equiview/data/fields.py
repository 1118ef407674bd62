"""Fields of settings that name languages, in any way that is read, or files, whose content then counts."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel

from equiview.io.fingerprint import fingerprint


def _label(language: str) -> str:
    from equiview.data.languages import (
        read_language,  # with polars, which the help of a command must not load
    )

    return read_language(language)


def _labels(languages: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_label, languages)))


LanguageLabel = Annotated[str, AfterValidator(_label)]
LanguageLabels = Annotated[tuple[str, ...], AfterValidator(_labels)]


def plain_type(annotation: Any) -> Any:
    """A type without `None`; `str` for a literal."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not types.NoneType)
    return str if get_origin(annotation) is Literal else annotation


def holds_list(annotation: Any) -> bool:
    """Whether a setting of this type is a list, which may be written as words between commas.

    >>> holds_list(tuple[str, ...] | None), holds_list(str)
    (True, False)
    """
    return get_origin(plain_type(annotation)) is tuple


def listed_words(text: str) -> list[str]:
    """The words between commas.

    >>> listed_words("sex, tone")
    ['sex', 'tone']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


class NamesFiles:
    """Marks a setting that names files or folders, or something that is shipped under a name."""


FileName = Annotated[str, NamesFiles()]
FileNames = Annotated[tuple[str, ...], NamesFiles()]


def contents(settings: BaseModel) -> dict[str, str]:
    """A hash of what each setting's files and folders hold, by setting; those that name none are left out.

    What is not there is left out too: whoever reads it says so.
    """
    found = {}
    for name, field in type(settings).model_fields.items():
        if any(isinstance(entry, NamesFiles) for entry in field.metadata):
            value = getattr(settings, name)
            places = [value] if isinstance(value, str) else value
            hashes = [part for place in places if place for part in _hashes(Path(place).expanduser())]
            if hashes:
                found[name] = fingerprint(*hashes)
    return found


def _hashes(place: Path) -> list[str]:
    """Hash of a file, whatever its name; of a folder the names and hashes of its files."""
    from equiview.io.tables import checksum  # with polars, which the help of a command must not load

    if not place.is_dir():
        return [checksum(place)] if place.is_file() else []
    files = sorted(path for path in place.rglob("*") if path.is_file())
    return [part for file in files for part in (file.relative_to(place).as_posix(), checksum(file))]
