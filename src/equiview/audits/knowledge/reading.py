r"""Reading answers: which option a reply chooses, by rules tried in the order of T's released code.

1. `letter`: the reply is a letter and nothing else.
2. `json`: it holds JSON with a field `answer`, the last of which is a letter or an option's text.
3. `closest`: the option most similar to it, above .7 by difflib's ratio.
4. `pattern`: the first letter that stands as `\(?([A-D])[).:\s]`.
5. `alone`: the only capital letter that no Latin letter or digit touches. This rule is ours: T's fourth
   knows Latin punctuation alone, so that "答案是C。" would be unread because of its language.

Two more things are ours: full-width letters are read as others are, and a letter inside a word, as in "USA.",
is no answer. What no rule reads is `unread`, and counts as wrong.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Literal

from equiview.audits.knowledge.ask import LETTERS

Rule = Literal["letter", "json", "closest", "pattern", "alone", "unread"]
RULES: tuple[Rule, ...] = ("letter", "json", "closest", "pattern", "alone", "unread")
LEAST_RATIO = 0.7
FIELD = re.compile(
    r"""["']answer["']\s*:\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|\(?([A-Za-z])\b)""", re.IGNORECASE
)


def read_answers(
    replies: Iterable[str], options: Iterable[Sequence[str]]
) -> tuple[list[int | None], list[Rule]]:
    """The place of the option that each reply chooses, from 0, or None, and the rule that read it."""
    read: dict[tuple[str, tuple[str, ...]], tuple[int | None, Rule]] = {}
    answers = []
    for reply, choices in zip(replies, options, strict=True):
        key = (reply, tuple(choices))
        if key not in read:
            read[key] = read_answer(*key)
        answers.append(read[key])
    return [place for place, _ in answers], [rule for _, rule in answers]


def read_answer(reply: str, options: Sequence[str]) -> tuple[int | None, Rule]:
    """The place of the option that a reply chooses, and the rule that read it.

    >>> options = ["a hat", "a doll", "A bell", "a drum"]
    >>> [read_answer(reply, options) for reply in ("b", '{"answer": "C"}', "A bell.", "(D) I think", "?")]
    [(1, 'letter'), (2, 'json'), (2, 'closest'), (3, 'pattern'), (None, 'unread')]
    """
    reply = reply.strip()
    text = unicodedata.normalize("NFKC", reply)
    if (place := _letter(text, options)) is not None:
        return place, "letter"
    for answer in reversed(FIELD.findall(reply)):
        if (place := _chosen(next(filter(None, answer), ""), options)) is not None:
            return place, "json"
    if (place := closest(reply, options)) is not None:
        return place, "closest"
    letters = LETTERS[: len(options)]
    pattern, alone = _patterns(letters)
    if match := pattern.search(text):
        return letters.index(match[1]), "pattern"
    if len(named := set(alone.findall(text))) == 1:
        return letters.index(named.pop()), "alone"
    return None, "unread"


def _letter(text: str, options: Sequence[str]) -> int | None:
    """The place of a text that is a letter of an option, in either case."""
    place = LETTERS.find(text.upper()) if len(text) == 1 else -1
    return place if 0 <= place < len(options) else None


def _chosen(answer: str, options: Sequence[str]) -> int | None:
    """The option that the field `answer` names: by its letter, its text, or its letter before more."""
    with contextlib.suppress(ValueError):  # no JSON string: it is read as it stands
        answer = json.loads(f'"{answer}"')
    answer = answer.strip()
    text = unicodedata.normalize("NFKC", answer)
    if (place := _letter(text, options)) is not None:
        return place
    if (place := closest(answer, options)) is not None:
        return place
    letters = LETTERS[: len(options)]
    match = re.match(rf"\(?([{letters}])(?:[).:\s]|$)", text)
    return letters.index(match[1]) if match else None


def closest(text: str, options: Sequence[str]) -> int | None:
    """The option most similar to `text`, the first of equals, if its ratio is above .7.

    >>> closest("Die Glocke", ["Hut", "Glocke"]), closest("Trommel", ["Hut", "Glocke"])
    (1, None)
    """
    if text in options:
        return options.index(text)  # nothing is more similar
    best, place = LEAST_RATIO, None
    for at, option in enumerate(options):
        matcher = SequenceMatcher(None, text, option)
        # The first two are upper bounds that cost little.
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, place = matcher.ratio(), at
    return place


@cache
def _patterns(letters: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of the rules `pattern` and `alone`."""
    no_word = r"(?<![A-Za-z0-9])"
    return (
        re.compile(rf"{no_word}\(?([{letters}])[).:\s]"),
        re.compile(rf"{no_word}([{letters}])(?![A-Za-z0-9'’])"),
    )
