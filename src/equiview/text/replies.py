"""Reading what a model replied: the JSON in it, whatever stands around it."""

from __future__ import annotations

import json
import re
from typing import Any

_OPENING = re.compile(r"[\[{]")
_TRAILING = re.compile(r",(\s*[\]}])")


def json_in(reply: str) -> Any:
    r"""The largest JSON object or array in a reply, the last of equals; None where there is none.

    Models put it between words or in a fenced block, and leave a comma behind the last entry.

    >>> json_in('Let me think.\n```json\n{"answer": "B",}\n```')
    {'answer': 'B'}
    >>> json_in("no JSON here") is None
    True
    >>> json_in('{"answer": "B"}' + "[" * 20_000)
    {'answer': 'B'}
    """
    text = _TRAILING.sub(r"\1", reply)
    decoder = json.JSONDecoder()
    best, longest, after = None, 0, 0
    for opening in _OPENING.finditer(text):
        if opening.start() < after:  # inside what was read already
            continue
        try:
            content, end = decoder.raw_decode(text, opening.start())
        except RecursionError:  # brackets without end: each further one would be as slow
            break
        except ValueError:
            continue
        after = end
        if end - opening.start() >= longest:
            best, longest = content, end - opening.start()
    return best
