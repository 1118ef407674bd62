"""English captions cut into phrases by lists of words: enough to drop a phrase, and to see what reads badly.

Ours, for where there is no parser. A word that is on no list is part of a noun phrase, so that what is not
understood makes a caption be refused rather than misread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from equiview.io.toml import parse_toml

TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[.,;:!?]")
NOUNS, PREPOSITION, VERB, BE, JOIN, CLAUSE, COMMA, ADVERB, STOP = (
    *("noun phrase", "preposition", "verb", "auxiliary", "conjunction"),
    *("clause", "comma", "adverb", "end"),
)
"""Kinds of phrases; a verb's includes what helps it ("is trying to catch")."""
JOINS = frozenset(["and", "or", "but"])
AFTER_PARTICLE = frozenset([*".,;:!?", "and", "while", "as", "to", "with", "in", "on"])
"""Words before which "up" and the like belong to the verb."""


@dataclass(frozen=True)
class Phrase:
    """A phrase of a caption: the letters from `start` to `end`, and its words in lower case."""

    kind: str
    words: tuple[str, ...]
    start: int
    end: int
    finite: bool = False
    helped: int = 0
    """Where a verb's own first word begins, after "is" and the like; 0 where nothing helps it."""


@cache
def lists() -> dict[str, frozenset[str]]:
    """The words of each kind, of `word_data/grammar.toml`."""
    content = files("equiview.build.removal").joinpath("word_data", "grammar.toml").read_bytes()
    return {name: frozenset(text.split()) for name, text in parse_toml(content, "grammar.toml").items()}


@cache
def verbs() -> tuple[frozenset[str], frozenset[str]]:
    """Finite forms of the listed verbs: those of "they", and those of "he"."""
    base = lists()["verbs"]
    return base, frozenset(_third(word) for word in base)


def _third(word: str) -> str:
    if word.endswith(("ch", "sh", "ss", "x", "z", "o")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def is_plural(phrase: Sequence[str]) -> bool:
    """Whether a noun phrase is of several things, by its number or its last word."""
    if set(phrase[:1]) & lists()["one"]:
        return False
    if set(phrase[:1]) & lists()["many"] or phrase[-1] in lists()["plurals"]:
        return True
    if phrase[-1].endswith("men"):
        return True
    return phrase[-1].endswith("s") and not phrase[-1].endswith(("ss", "us"))


def phrases_of(caption: str) -> list[Phrase]:
    """The phrases of a caption, in order.

    >>> [(phrase.kind, " ".join(phrase.words)) for phrase in phrases_of("A man is riding a horse.")]
    [('noun phrase', 'a man'), ('verb', 'is riding'), ('noun phrase', 'a horse'), ('end', '.')]
    """
    found = [(match[0].lower(), match.start(), match.end()) for match in TOKEN.finditer(caption)]
    found = _joined(found)
    spelled = [word for word, _, _ in found]
    kinds = _kinds(spelled)
    for place, word in enumerate(spelled[1:-1], start=1):
        told = (
            spelled[place - 1] in lists()["adjectives"] and spelled[place + 1] not in lists()["determiners"]
        )
        if word in ("and", ",") and told and {kinds[place - 1], kinds[place + 1]} == {NOUNS}:
            kinds[place] = NOUNS  # "a black and white dog" is one dog
    phrases: list[Phrase] = []
    for (word, start, end), kind in zip(found, kinds, strict=True):
        before = phrases[-1] if phrases else None
        finite = kind == BE or any(word in forms for forms in verbs())
        if before and _continues(before, word, kind):
            helped = start if before.kind == BE and kind == VERB else before.helped
            joint = VERB if VERB in (kind, before.kind) else kind
            words = (*before.words, word)
            phrases[-1] = Phrase(joint, words, before.start, end, before.finite or finite, helped)
        else:
            phrases.append(Phrase(kind, (word,), start, end, finite))
    return phrases


def _joined(found: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Tokens with prepositions of several words ("in front of") as one."""
    out: list[tuple[str, int, int]] = []
    place = 0
    while place < len(found):
        for length in (4, 3, 2, 1):
            part = found[place : place + length]
            if length == 1 or "_".join(word for word, _, _ in part) in lists()["prepositions"]:
                out.append((" ".join(word for word, _, _ in part), part[0][1], part[-1][2]))
                place += len(part)
                break
    return out


def _kinds(words: Sequence[str]) -> list[str]:
    kinds: list[str] = []
    several = False
    """Whether the clause is of several, so that a verb without "s" is theirs."""
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        after = words[place + 1] if place + 1 < len(words) else "."
        if kinds and kinds[-1] == NOUNS and set(kinds[-3:-1]) <= {NOUNS, CLAUSE}:
            several = is_plural([before])
        if kinds[-2:] == [JOIN, NOUNS] and VERB not in kinds and BE not in kinds:
            several = True
        kinds.append(_kind(word, before, kinds[-1] if kinds else "", after, several))
        several = several and kinds[-1] not in (VERB, BE, CLAUSE)
    return kinds


def _kind(  # noqa: PLR0911 - a table
    word: str, before: str, kind: str, after: str, several: bool
) -> str:
    """The kind of a word, by itself, its neighbours, and whether the clause is of several."""
    known, (plain, third) = lists(), verbs()
    modified = before in known["determiners"] or before in known["adjectives"]
    if word in ".!?;:":
        return STOP
    for name, found in ((COMMA, ","), (JOIN, JOINS), (BE, known["auxiliaries"]), (CLAUSE, known["clauses"])):
        if word in found:
            return name
    if word in known["particles"] and after in AFTER_PARTICLE:
        return ADVERB
    if word == "to" and after in plain:
        return VERB
    if word.replace(" ", "_") in known["prepositions"]:
        return PREPOSITION
    if word in known["adverbs"] or (word.endswith("ly") and word not in known["determiners"]):
        return ADVERB if not modified and kind not in (PREPOSITION, COMMA) else NOUNS
    if modified or kind == PREPOSITION:
        return NOUNS
    if word.endswith("ing") and len(word) > 4 and word not in known["nouns"]:
        return VERB
    followed = after in ".," or after in known["prepositions"]
    if word.endswith("ed") and len(word) > 4 and (followed or after in known["determiners"]):
        return VERB
    if word in known["participles"] | known["bound"] and (kind == BE or followed):
        return VERB
    if word in plain and (
        before in known["chained"] | {"to"}
        or (kind in (JOIN, ADVERB) and after in known["determiners"] | known["prepositions"])
        or (kind == NOUNS and (several or is_plural([before])))
    ):
        return VERB
    return VERB if word in third and kind in (NOUNS, ADVERB, JOIN, CLAUSE, COMMA) else NOUNS


def _continues(before: Phrase, word: str, kind: str) -> bool:
    """Whether a word belongs to the phrase before it."""
    known = lists()
    if before.kind == NOUNS and kind == NOUNS:
        return word not in known["determiners"] or before.words[-1] in known["determiners"]
    chained = before.words[-1] in known["chained"] or before.words[-1] == "to"
    if before.kind == VERB and kind == VERB:
        return chained or word == "to"
    return before.kind == BE and kind in (BE, VERB)
