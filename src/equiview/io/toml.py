"""TOML that a user wrote, read with errors of one line."""

from __future__ import annotations

import tomllib
from typing import Any

from equiview.errors import InputError
from equiview.io.encodings import not_utf8
from equiview.io.refusals import Model, refused


def parse_toml(content: bytes, source: str) -> dict[str, Any]:
    r"""What a TOML text holds; InputError for what is not TOML in UTF-8, or is nested too deeply to be read.

    >>> parse_toml(b"[a]\nb = 1", "x.toml")
    {'a': {'b': 1}}
    """
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise not_utf8(content, source) from None
    except RecursionError:
        raise InputError(f"{source}: is not TOML that can be read: it is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, and a whole number of thousands of digits
        raise InputError(f"{source}: is not TOML ({error})") from None


def parse_toml_as(kind: type[Model], content: bytes, source: str) -> Model:
    """A TOML text as a pydantic model; InputError also for the first thing that the model refuses."""
    table = parse_toml(content, source)
    with refused(lambda first: f"{source}: {first}"):
        return kind.model_validate(table)
