"""Which classes of objects a caption names, by words that a person can read and correct.

A file is TOML: `classes` with the words of each class, singular and in lower case; `plurals` that are not
regular; words that count `alone` only, at the end or before one of `after`; and `other` phrases, which keep
their words from counting. Of words that overlap the longest phrase counts: a "hot dog" is no dog.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.toml import parse_toml_as

TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


class WordFile(BaseModel):
    """What a file of words holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    classes: dict[str, list[str]] = Field(min_length=1)
    plurals: dict[str, str] = Field(default_factory=dict)
    alone: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    other: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Mention:
    """A class that a caption names, and where: the letters from `start` to `end`."""

    name: str
    start: int
    end: int


class Words:
    """Words of classes; `mentions` finds them in captions.

    >>> words = coco_words()
    >>> [(m.name, "Two men eat hot dogs"[m.start : m.end]) for m in words.mentions("Two men eat hot dogs")]
    [('person', 'men'), ('hot dog', 'hot dogs')]
    """

    def __init__(self, content: WordFile, source: str) -> None:
        self.source, self.plurals = source, content.plurals
        self.fingerprint = fingerprint(content.model_dump_json())
        self.alone, self.after = frozenset(content.alone), frozenset(content.after)
        self._phrases: dict[str, dict[tuple[str, ...], str | None]] = {}
        of_phrase: dict[str, str] = {}
        for name, phrases in content.classes.items():
            for phrase in phrases:
                if (other := of_phrase.setdefault(phrase, name)) != name:
                    raise InputError(
                        f"{source}: {phrase!r} is a word of {other!r} and of {name!r}; choose one"
                    )
                self._add(phrase, name, source)
        for phrase in content.other:
            self._add(phrase, None, source)
        self.classes = tuple(content.classes)

    def _add(self, phrase: str, name: str | None, source: str) -> None:
        tokens = tuple(TOKEN.findall(phrase.lower()))
        if not tokens:
            raise InputError(f"{source}: {phrase!r} holds no word")
        first = self._phrases.setdefault(self.singular(tokens[0]), {})
        first[tuple(map(self.singular, tokens))] = name

    def mentions(self, caption: str) -> list[Mention]:
        """The classes that a caption names, in the order of its words."""
        found = list(TOKEN.finditer(caption.lower()))
        tokens = [self.singular(match[0]) for match in found]
        mentions = []
        place = 0
        while place < len(tokens):
            length, name = self._longest(tokens, place)
            if name is not None and self._counts(tokens[place : place + length], tokens[place + length :]):
                mentions.append(Mention(name, found[place].start(), found[place + length - 1].end()))
            place += length
        return mentions

    def named(self, caption: str) -> frozenset[str]:
        """The classes that a caption names, each once."""
        return frozenset(mention.name for mention in self.mentions(caption))

    def _longest(self, tokens: Sequence[str], place: int) -> tuple[int, str | None]:
        """How many words from `place` on are the longest phrase, and its class; 1 and None where none is."""
        best: tuple[int, str | None] = (1, None)
        for phrase, name in self._phrases.get(tokens[place], {}).items():
            if len(phrase) >= best[0] and tuple(tokens[place : place + len(phrase)]) == phrase:
                best = (len(phrase), name)
        return best

    def _counts(self, phrase: Sequence[str], rest: Sequence[str]) -> bool:
        return phrase[-1] not in self.alone or not rest or rest[0] in self.after

    def singular(self, token: str) -> str:
        """A word without a regular plural, possessive or irregular plural."""
        token = token.removesuffix("'s")
        if token in self.plurals:
            return self.plurals[token]
        if len(token) > 4 and token.endswith("ies"):
            return f"{token[:-3]}y"
        if len(token) > 4 and token.endswith(("ches", "shes", "sses", "xes", "zes")):
            return token[:-2]
        if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
            return token[:-1]
        return token


def read_words(path: Path) -> Words:
    """The words of a file; InputError says what is wrong with it, and where."""
    return _parsed(content_of(path), str(path))


@cache
def coco_words() -> Words:
    """The words of COCO's 80 classes that come with equiview."""
    content = files("equiview.build.removal").joinpath("word_data", "coco.toml").read_bytes()
    return _parsed(content, "coco.toml")


def _parsed(content: bytes, source: str) -> Words:
    return Words(parse_toml_as(WordFile, content, source), source)
