"""Which things a caption names, by words that a person can read and correct.

A file is TOML: `language`, English by default; `classes` (or `nouns`) with the words of each class, in
English singular and in lower case; `plurals` that are not regular; words that count `alone` only, at the end
or before one of `after`; and `other` phrases, which keep their words from counting. Of words that overlap the
longest phrase counts: a "hot dog" is no dog. A word names a thing, not what is done with it: a skier is a
person, and "surfing" names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from equiview.data.fields import LanguageLabel
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.toml import parse_toml_as
from equiview.text.spaceless import is_spaceless

TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
ENDING = re.compile(r"(?:ed|ing|ers?|ists?|like|less)$")
"""What makes another word of a thing's name."""
LETTER = re.compile(r"[a-z0-9]+|[^\W_]")
"""A token of languages written without spaces."""


class WordFile(BaseModel):
    """What a file of words holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    language: LanguageLabel = "en"
    classes: dict[str, list[str]] = Field(min_length=1, validation_alias=AliasChoices("classes", "nouns"))
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


class Things:
    """Words of classes of things in one language; `mentions` finds them in captions.

    >>> things = coco_things()
    >>> [(m.name, "Two men eat hot dogs"[m.start : m.end]) for m in things.mentions("Two men eat hot dogs")]
    [('person', 'men'), ('hot dog', 'hot dogs')]
    """

    def __init__(self, content: WordFile, source: str) -> None:
        self.source, self.language, self.plurals = source, content.language, content.plurals
        self._token = LETTER if is_spaceless(content.language) else TOKEN
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
        tokens = tuple(self._token.findall(phrase.lower()))
        if not tokens:
            raise InputError(f"{source}: {phrase!r} holds no word")
        first = self._phrases.setdefault(self.singular(tokens[0]), {})
        first[tuple(map(self.singular, tokens))] = name

    def mentions(self, caption: str) -> list[Mention]:
        """The classes that a caption names, in the order of its words."""
        found = list(self._token.finditer(caption.lower()))
        tokens = [self.singular(match[0]) for match in found]
        mentions = []
        place = 0
        while place < len(tokens):
            length, name = self._longest(tokens, place)
            rest = tokens[
                place + length : place + length + 1
            ]  # not all of it: time would grow with its square
            if name is not None and self._counts(tokens[place : place + length], rest):
                mentions.append(Mention(name, found[place].start(), found[place + length - 1].end()))
            place += length
        return mentions

    def derived(self, caption: str) -> list[Mention]:
        """Classes that a caption names by a word derived from theirs: "gloved", "skateboarding"; of English.

        >>> [mention.name for mention in coco_things().derived("His gloved hand is cared for by a skier.")]
        ['baseball glove', 'skis']
        """
        if self.language != "en":
            return []
        found = ((match, self._derived(match[0])) for match in self._token.finditer(caption.lower()))
        return [Mention(name, match.start(), match.end()) for match, name in found if name]

    def _derived(self, token: str) -> str | None:
        """The class of the word that a token comes from; a short one doubles its last letter ("batting")."""
        ending = ENDING.search(token)
        if not ending:
            return None
        stem = token[: ending.start()]
        stems = [stem[:-1]] if stem[-2:-1] == stem[-1:] else [f"{stem}e"] if len(stem) > 3 else []
        if len(stem) > 3 or stem[-1:] in "aeiou":
            stems.append(stem)
        names = (self._phrases.get(word, {}).get((word,)) for word in stems)
        return next(filter(None, names), None)

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
        """A word without an irregular plural and, in English, without a regular one or a possessive."""
        if self.language != "en":
            return self.plurals.get(token, token)
        token = token.replace("’", "'").removesuffix("'s")
        if token in self.plurals:
            return self.plurals[token]
        if len(token) > 4 and token.endswith("ies"):
            return f"{token[:-3]}y"
        if len(token) > 4 and token.endswith(("ches", "shes", "sses", "xes", "zes")):
            return token[:-2]
        if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
            return token[:-1]
        return token


def read_things(path: Path) -> Things:
    """The words of a file; InputError says what is wrong with it, and where."""
    return _parsed(content_of(path), str(path))


@cache
def coco_things() -> Things:
    """The words of COCO's 80 classes that come with equiview."""
    content = files("equiview.text").joinpath("word_data", "coco.toml").read_bytes()
    return _parsed(content, "coco.toml")


def _parsed(content: bytes, source: str) -> Things:
    return Things(parse_toml_as(WordFile, content, source), source)
