"""What a user types after the colon of a name: a value, then options."""

from __future__ import annotations

import re
from collections.abc import Sequence

from equiview.errors import InputError


def count_of(value: str | int, name: str, source: str) -> int:
    """The value of an option that counts something; InputError for what is no whole number from 1.

    >>> count_of("8", "batch", "hf")
    8
    """
    text = str(value)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{source}: {name} is {text!r}; expected a whole number from 1")
    return int(text)


def split_argument(argument: str, scheme: str, allowed: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Split `VALUE,option=value,...`; InputError for an option that is not among `allowed`.

    >>> split_argument("photos/multi30k,part=independent", "multi30k", ["part", "split"])
    ('photos/multi30k', {'part': 'independent'})
    """
    value, *rest = re.split(r",(?=\w+=)", argument)
    options = dict(part.split("=", 1) for part in rest)
    for option in options:
        if option not in allowed:
            known = f"it has: {', '.join(allowed)}" if allowed else "it has none"
            raise InputError(f"{scheme!r} has no option {option!r}; {known}")
    return value, options
