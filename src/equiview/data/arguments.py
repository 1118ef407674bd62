"""What a user types after the colon of a name: a value, then options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from equiview.errors import InputError


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


def count_option(options: Mapping[str, str], name: str, usual: int, scheme: str) -> int:
    """An option that is a whole number from 1, `usual` where it is not given; InputError for anything else.

    >>> count_option({"batch": "8"}, "batch", 32, "hf"), count_option({}, "batch", 32, "hf")
    (8, 32)
    """
    value = options.get(name, str(usual))
    if not value.isdecimal() or int(value) < 1:
        raise InputError(f"{scheme}: {name} is {value!r}; expected a whole number from 1")
    return int(value)
