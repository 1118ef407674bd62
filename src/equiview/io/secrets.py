"""Secrets: what must not be printed or kept, wherever it stands in a text."""

from __future__ import annotations

import os
import re
from functools import lru_cache

HIDDEN = "***"
NAMED = r"(?:[\w-]*[_-])?(?:api[_-]?key|key|token|secret|password|passwd|pwd|signature|sig|auth)"
IN_ADDRESS = re.compile(r"(?<=://)(?:[^/\s,]|,(?!\w+=))+(?=@)")
A_WORD = r"(?!(?-i:VALUE)(?:[].\s]|$))"
"""No secret: the word that stands for one in how an option is to be written."""
IN_OPTION = re.compile(rf"(?i)\b({NAMED}\s*=\s*){A_WORD}('[^']*'|\"[^\"]*\"|[^\s,&;'\"<>)]+)")
IN_HEADER = re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}")
OF_ENVIRONMENT = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|pgpassword)$")
LEAST = 6
"""Characters from which a value in the environment is taken for a secret: a shorter one is in many words."""


def redacted(text: str) -> str:
    """`text` with every secret replaced by `***`.

    Secrets are the user and password of an address, the values of options and queries such as `api_key=` and
    `password=`, what follows `Bearer`, and the values of variables of the environment such as
    `OPENAI_API_KEY`.

    >>> redacted("openai:m,url=https://me:pass@host/v1?api_key=abc&page=2")
    'openai:m,url=https://***@host/v1?api_key=***&page=2'
    >>> redacted("METRIC[@K][,KEY=VALUE...]")
    'METRIC[@K][,KEY=VALUE...]'
    >>> redacted("host=db password='a b' dbname=x")
    'host=db password=*** dbname=x'
    """
    text = IN_ADDRESS.sub(HIDDEN, without_keys(text))
    text = IN_HEADER.sub(rf"\g<1>{HIDDEN}", text)
    return IN_OPTION.sub(rf"\g<1>{HIDDEN}", text)


def without_keys(text: str) -> str:
    """`text` with the values of variables such as `OPENAI_API_KEY` replaced by `***`; all else stays.

    For what models reply: words like `password=` may be their answer.
    """
    if len(text) < LEAST:  # too short to hold one
        return text
    for name in os.environ:
        if _is_key(name) and len(value := os.environ.get(name, "")) >= LEAST:
            text = text.replace(value, HIDDEN)
    return text


@lru_cache(maxsize=4_096)
def _is_key(name: str) -> bool:
    """Whether a variable of this name is a secret."""
    return bool(OF_ENVIRONMENT.search(name))


def legible(text: str) -> str:
    r"""A reply without keys, and with U+FFFD for half of a letter (a lone surrogate), which no file holds.

    >>> legible("a\ud83d!") == "a\ufffd!"
    True
    """
    return without_keys(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
