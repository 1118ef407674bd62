"""The rules for the words of a question (T, appendix H.1, table 6)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from equiview.build.history import History
from equiview.build.knowrecall.candidates import OPTIONS, Candidate

LONGEST_ANSWER = 6
"""Words of an answer at most: it should be a word or a phrase."""
ALIKE = 0.9
"""Questions about one place that are so alike are the same question."""
REFERENCES = ("the article", "the text", "the passage", "wikipedia")
"""Words that only who has read the article understands."""


def plain(text: str) -> str:
    """A text without case, punctuation and double spaces, as texts are compared.

    >>> plain("  The Eiffel-Tower, Paris! ")
    'the eiffel tower paris'
    """
    kept = (letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in text.casefold())
    return " ".join("".join(kept).split())


def within(part: str, whole: str) -> bool:
    """Whether words stand in a text as whole words, whatever their case and punctuation.

    >>> within("Rome", "in rome."), within("Rome", "romeo")
    (True, False)
    """
    wanted = plain(part)
    return bool(wanted) and f" {wanted} " in f" {plain(whole)} "


def broken_rule(candidate: Candidate) -> tuple[str, str] | None:
    """The first rule that a question breaks, as (reason, what was seen), or None.

    The answer's presence among the options is checked where the candidate is read.
    """
    return next(((reason, seen) for reason, seen in _faults(candidate) if seen is not None), None)


def _faults(candidate: Candidate) -> Iterator[tuple[str, str | None]]:
    """Each rule's reason, with what was seen where it is broken and None where it is not."""
    question, options, answer = candidate.question, candidate.options, candidate.answer
    listed = " | ".join(options)
    distinct = {plain(option) for option in options} - {""}
    names = candidate.landmark.names
    yield "the question is empty", None if plain(question) else question
    yield "there are not four options", None if len(options) == OPTIONS else listed
    yield "options are empty or repeated", None if len(distinct) == len(options) else listed
    yield "the question names the place", _first_within(names, question)
    yield "the question refers to the article", _first_within(REFERENCES, question)
    yield "the question holds its answer", _first_within([answer], question)
    yield "the answer names the place", _first_within(names, answer)
    yield (
        "the answer is longer than a phrase",
        answer if len(plain(answer).split()) > LONGEST_ANSWER else None,
    )
    yield "the answer is not in the article", None if within(answer, candidate.article) else answer


def _first_within(parts: Iterable[str], whole: str) -> str | None:
    return next((part for part in parts if within(part, whole)), None)


def repeats(candidate: Candidate, earlier: list[Candidate]) -> Candidate | None:
    """The earlier question about the same place that this one repeats, or None."""
    for other in earlier:
        if other.landmark.id != candidate.landmark.id:
            continue
        questions = plain(candidate.question), plain(other.question)
        if SequenceMatcher(None, *questions, autojunk=False).ratio() >= ALIKE:
            return other
    return None


def keep_rules(candidates: Sequence[Candidate], history: History) -> list[Candidate]:
    """The candidates that break no rule and repeat no earlier one."""
    left: list[Candidate] = []
    for candidate in candidates:
        broken = broken_rule(candidate)
        if broken is None and (other := repeats(candidate, left)) is not None:
            broken = "it repeats another question", other.question
        if history.note(candidate.id, "rules", *(broken or ())):
            left.append(candidate)
    return left
