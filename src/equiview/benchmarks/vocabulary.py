"""The words of the embedded vocabulary: what Unicode CLDR calls the pictograms, in 36 languages.

A list of them between semicolons (no name holds one) can be said in each of these languages, turned into
English word by word, and told to be of a language, all by looking names up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from equiview.benchmarks.pictograms import names

BETWEEN = "; "


def said(concepts: Iterable[str], language: str) -> str:
    """The names of some concepts (code points) in a language; KeyError for one that has no such name.

    >>> said(["1f355", "1f98a"], "de")
    'Pizza; Fuchs'
    """
    spoken = _names()[language]
    return BETWEEN.join(spoken[concept] for concept in concepts)


def spoken_languages() -> tuple[str, ...]:
    """The 36 languages, most written first."""
    return tuple(_names())


def in_english(text: str, language: str) -> str:
    """A list of names in `language` as one of English names; what is no name in it stays as it is.

    Of two concepts that a language calls the same, the first in Unicode's order is meant.

    >>> in_english("Pizza; Fuchs; Nebelwand", "de")
    'pizza; fox; Nebelwand'
    """
    meant, english = _meant().get(language, {}), _names()["en"]
    return BETWEEN.join(english[meant[_key(name)]] if _key(name) in meant else name for name in _listed(text))


def language_of(text: str) -> str | None:
    """The language in which the most entries of a list are names, None where most are names in none.

    Of languages that have equally many, the most written.

    >>> language_of("Pizza; Fuchs; Baum"), language_of("a tall tower of iron")
    ('de', None)
    """
    listed = _listed(text)
    found = Counter(
        {language: sum(_key(name) in meant for name in listed) for language, meant in _meant().items()}
    )
    language, most = max(found.items(), key=lambda entry: entry[1])
    return language if 2 * most > len(listed) else None


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(BETWEEN.strip()) if name.strip()]


def _key(name: str) -> str:
    return name.casefold()


@cache
def _names() -> dict[str, dict[str, str]]:
    """Names by language and concept."""
    spoken: dict[str, dict[str, str]] = {}
    for concept, language, text in names().select("concept", "language", "text").iter_rows():
        spoken.setdefault(language, {})[concept] = text
    return spoken


@cache
def _meant() -> dict[str, dict[str, str]]:
    """The first concept of each name, by language."""
    return {
        language: {_key(name): concept for concept, name in reversed(spoken.items())}
        for language, spoken in _names().items()
    }
