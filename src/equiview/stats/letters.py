"""Letters under systems that are not told apart (a compact letter display, as in a Tukey table)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from string import ascii_lowercase


def letters_of(n: int, apart: Iterable[tuple[int, int]]) -> list[str]:
    """The letters of `n` systems of which the pairs in `apart` are shown to differ.

    Two systems share a letter exactly if they are not in `apart`. By insertion and absorption (Piepho 2004,
    "An algorithm for a letter-based representation of all-pairwise comparisons"): a letter whose systems are
    told apart is split in two, and a letter whose systems all have another one is dropped.

    >>> letters_of(3, [(0, 2)])
    ['a', 'ab', 'b']
    >>> letters_of(3, [])
    ['a', 'a', 'a']
    """
    columns = [frozenset(range(n))]
    for a, b in apart:
        split = {part for column in columns for part in _without_both(column, a, b)}
        columns = [column for column in split if not any(column < other for other in split)]
    columns.sort(key=sorted)
    return [
        "".join(letter for letter, column in zip(_letters(), columns, strict=False) if place in column)
        for place in range(n)
    ]


def _without_both(column: frozenset[int], a: int, b: int) -> tuple[frozenset[int], ...]:
    return (column - {a}, column - {b}) if {a, b} <= column else (column,)


def _letters() -> Iterable[str]:
    """From a to z, then with a stroke for every further round: a', b', ..."""
    return (letter + "'" * strokes for strokes in count() for letter in ascii_lowercase)
