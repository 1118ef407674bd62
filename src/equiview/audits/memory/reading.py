"""Classify replies: descriptions, in which language, or refusals; and read those of translators.

The language is detected among all that the detector knows (`equiview.audits.memory.languages`). Replies in
languages unknown to it are not classified by language.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from equiview.data.requests import Reply
from equiview.subjects.chat.spoken import same_language

Category = Literal["described", "wrong language", "cut off", "refused", "empty"]
CATEGORIES: tuple[Category, ...] = ("described", "wrong language", "cut off", "refused", "empty")
SCORED: tuple[Category, ...] = ("described", "wrong language", "cut off")
"""Categories that are scored, as in T."""
FAILED = "Error"
"""What the released predictions hold where a request failed."""
SHORT = 400
"""Characters up to which a reply can be a refusal; longer ones hold more than that."""


def category_of(reply: Reply, language: str, detected: str | None, known: bool) -> Category:
    """What a reply is, the first that holds: empty, refused, in the wrong language, cut off, described.

    `detected` is the language detected in the text, `known` whether the detector knows the language asked
    in; where it does not, no text is in the wrong language.

    >>> category_of(Reply("Ein hoher Turm aus Eisen."), "fr", "de", known=True)
    'wrong language'
    """
    if reply.stopped == "refused":
        return "refused"
    if reply.text.strip() in ("", FAILED):
        return "empty"
    if refuses(reply.text, language):
        return "refused"
    if known and not same_language(detected, language):
        return "wrong language"
    return "cut off" if reply.stopped == "length" else "described"


def refuses(text: str, language: str) -> bool:
    """Whether a short text says, in `language` or in English, that it will not or cannot describe.

    >>> refuses("I'm sorry, but I cannot describe this place.", "sw"), refuses("It cannot be missed.", "en")
    (True, False)
    """
    plain = " ".join(text.replace("’", "'").casefold().split())
    phrases = (*_refusals().get(language, ()), *_refusals()["en"])
    return len(plain) <= SHORT and any(phrase in plain for phrase in phrases)


@cache
def _refusals() -> dict[str, tuple[str, ...]]:
    content = files("equiview.audits.memory").joinpath("refusals.toml").read_text("utf-8")
    return {
        language: tuple(phrase.casefold() for phrase in phrases)
        for language, phrases in tomllib.loads(content).items()
    }


def translation_of(reply: Reply, finished: bool = False) -> tuple[str | None, str | None]:
    """(the translation, None) of a reply that holds one, or (None, why it holds none).

    It is looked for in the field `translation` of a JSON object: the whole reply, or the last one in it. Of
    `finished` translations the text itself is the translation where it holds none, as in T's released files,
    which say "Error" of what failed.

    >>> translation_of(Reply('Here it is: {"translation": "A red tower."}'))
    ('A red tower.', None)
    >>> translation_of(Reply("A red tower."))
    (None, 'no JSON object with a translation')
    >>> translation_of(Reply("A red tower."), finished=True)
    ('A red tower.', None)
    """
    if reply.stopped == "refused":
        return None, "refused"
    if not reply.text.strip():
        return None, "empty"
    for content in reversed(_objects(reply.text)):
        fields = {str(name).strip().casefold(): value for name, value in content.items()}
        value = fields.get("translation")
        if isinstance(value, str):
            return (value.strip(), None) if value.strip() else (None, "empty")
    if reply.stopped == "length":
        return None, "cut off"
    if finished:
        text = reply.text.strip()
        return (None, "failed in the file") if text == FAILED else (text, None)
    return None, "no JSON object with a translation"


def _objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object that begins at a brace of the text and is not within another."""
    decoder = json.JSONDecoder(strict=False)  # line breaks within a text are common
    found, start = [], text.find("{")
    while start >= 0:
        try:
            content, end = decoder.raw_decode(text, start)
        except RecursionError:  # brackets without end: each further one would be as slow
            break
        except ValueError:
            end = start + 1
        else:
            if isinstance(content, dict):
                found.append(content)
        start = text.find("{", end)
    return found
