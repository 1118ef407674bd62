"""What a user types after the colon of a name: a value, then options."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
