"""What a user types after the colon of a name: a value, then options."""

from __future__ import annotations

import contextlib
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


def count_option(
    options: Mapping[str, str], name: str, usual: int, scheme: str, least: int = 1, most: int = 2**63 - 1
) -> int:
    """An option that is a whole number from `least` to `most`, `usual` where it is not given.

    InputError for anything else.

    >>> count_option({"batch": "8"}, "batch", 32, "hf"), count_option({}, "batch", 32, "hf")
    (8, 32)
    """
    value = options.get(name, str(usual))
    if not re.fullmatch(r"[0-9]{1,19}", value) or not least <= int(value) <= most:
        to = f" to {most}" if most < 2**63 - 1 else ""
        raise InputError(f"{scheme}: {name} is {value!r}; expected a whole number from {least}{to}")
    return int(value)


def number_option(
    options: Mapping[str, str], name: str, usual: float, scheme: str, least: float = 0
) -> float:
    """An option that is a number from `least`, `usual` where it is not given; InputError for anything else.

    >>> number_option({"rate": "0.5"}, "rate", 2, "openai"), number_option({}, "rate", 2, "openai")
    (0.5, 2.0)
    """
    value = options.get(name, str(usual))
    with contextlib.suppress(ValueError):
        if least <= float(value) < float("inf"):
            return float(value)
    raise InputError(f"{scheme}: {name} is {value!r}; expected a number from {least:g}")


URL = re.compile(r"https?://(\[[\da-fA-F:]+\]|[^][\s/@?#=:]+)(:\d+)?(/[^\s@?#=]*)?")


def url_option(options: Mapping[str, str], scheme: str, usual: str = "") -> str:
    """The option `url`, `usual` where it is not given; InputError for one that a run must not keep.

    >>> url_option({"url": "http://localhost:8000/v1/"}, "openai")
    'http://localhost:8000/v1'
    """
    url = options.get("url", usual)
    if url and not URL.fullmatch(url):  # never repeated: it may hold a secret
        raise InputError(
            f"{scheme}: url is not a plain address; expected http(s)://HOST/v1 without user, password, query "
            "or fragment, since a run keeps it; a key belongs in an environment variable"
        )
    return url.rstrip("/")
