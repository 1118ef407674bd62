"""What a pydantic model refuses, as an InputError of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from equiview.errors import InputError, unknown_name

Model = TypeVar("Model", bound=BaseModel)
UNKNOWN = "extra inputs are not permitted"
"""What pydantic says of a name that it does not know."""


class Refusal(NamedTuple):
    """The first thing that is wrong: where, as in `rules.keep_below` ("" for the whole), and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    @classmethod
    def of(cls, error: ValidationError) -> Refusal:
        """The first that pydantic names."""
        first = error.errors()[0]
        what = first["msg"].removeprefix("Value error, ")
        return cls(".".join(map(str, first["loc"])), what[:1].lower() + what[1:])


@contextmanager
def refused(say: Callable[[Refusal], str]) -> Iterator[None]:
    """Within, a ValidationError becomes an InputError that says what `say` makes of it."""
    try:
        yield
    except ValidationError as error:
        raise InputError(say(Refusal.of(error))) from None


def settings_of(kind: type[Model], given: Mapping[str, Any], source: str = "") -> Model:
    """Settings from what a user gave; InputError says which one of `source` is wrong, and which there are.

    >>> class Colours(BaseModel, extra="forbid"):
    ...     red: int = 0
    >>> settings_of(Colours, {"green": 1}, "picture")
    Traceback (most recent call last):
        ...
    equiview.errors.InputError: picture, no setting is named 'green'; did you mean 'red'? (known: red)
    """
    begin, known = f"{source}, " if source else "", ", ".join(kind.model_fields)

    def said(no: Refusal) -> str:
        if no.what == UNKNOWN:
            return f"{begin}{unknown_name('setting', no.where, kind.model_fields)}"
        return f"{begin}setting {no.where or 'settings'!r}: {no.what} (settings: {known})"

    with refused(said):
        return kind.model_validate(dict(given))
