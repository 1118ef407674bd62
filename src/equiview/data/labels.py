"""Labels that tables give to people and things: one spelling of each, none that stands for a missing value.

A label is read in Unicode's compatibility form (NFKC), without characters that nobody sees and without blanks
around it, and a notice says which labels that made one. Labels that then still differ by case alone, or by
what nobody sees within a word or an emoji, are refused with their counts: which of them is meant is not ours
to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import polars as pl

from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.spelling import JOINERS, cleaned

SAID = 8
"""Labels that a notice names."""
UNKNOWN = ("mixed", "both", "unsure", "disagreement", "unclear", "unknown", "nan")
"""Labels of people that do not say which group an image shows."""
MISSING = re.compile(
    r"[-–—_.?]*|#?n/?a|n\.a\.?|<na>|nan|nat|none|null|nil|missing|empty|undefined|unspecified|"
    r"no (data|value)|not (available|applicable|known)",
    re.IGNORECASE,
)
"""What programs and people write where a value is missing."""


def looks_missing(label: str) -> bool:
    """Whether a label is a word that stands for a missing value.

    >>> looks_missing("N/A"), looks_missing("man")
    (True, False)
    """
    return MISSING.fullmatch(cleaned(label)) is not None


def known_labels(labels: pl.Series, unknown: Iterable[str] = UNKNOWN) -> pl.Series:
    """The labels that say of which group an image is, cleaned; null for what is empty or one of `unknown`.

    >>> known_labels(pl.Series(["Female", "nonbinary ", "Unsure", " ", None])).to_list()
    ['Female', 'nonbinary', None, None, None]
    """
    silent = {"", *(cleaned(word).casefold() for word in unknown)}
    words = labels.cast(pl.String)
    read = {word: cleaned(word) for word in words.drop_nulls().unique()}
    known = {word: None if text.casefold() in silent else text for word, text in read.items()}
    return words.replace_strict(known, default=None, return_dtype=pl.String)


def checked_labels(
    labels: pl.Series,
    source: str,
    unknown: Collection[str] = UNKNOWN,
    setting: str = "",
    *,
    kept: Collection[str] = (),
    keep: str = "write a group in other words",
) -> pl.Series:
    """`known_labels`; InputError for two spellings of one label, and for what looks like a missing value.

    What is `kept` is a label whatever it looks like; `keep` says how a user has it so.

    >>> checked_labels(pl.Series("age", ["old", "n/a"]), "faces")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: faces, 'age': 'n/a' (1) looks like a missing value; leave the cell \
empty (first in row 2), or write a group in other words; there are 'n/a' (1), 'old' (1)
    >>> checked_labels(pl.Series("country", ["NA", "ZA"]), "faces", kept=["NA"]).to_list()
    ['NA', 'ZA']
    """
    known = known_labels(labels, unknown)
    where = f"{source}, {labels.name!r}"
    counts: dict[str, int] = dict(known.drop_nulls().value_counts().sort(labels.name).iter_rows())
    stays = {cleaned(label) for label in kept}
    for label, count in counts.items():
        if looks_missing(label) and label not in stays:
            row = known.eq(label).fill_null(False).arg_true()[0] + 1
            there = ", ".join(f"{name!r} ({n:,})" for name, n in list(counts.items())[:12])
            named = f", or name it in the setting {setting}" if setting else ""
            raise InputError(
                f"{where}: {label!r} ({count:,}) looks like a missing value; leave the cell "
                f"empty (first in row {row}){named}, or {keep}; there are {there}"
            )
    check_spellings(counts, where, known)
    _say_what_became_one(labels, known, where)
    return known


def _say_what_became_one(labels: pl.Series, known: pl.Series, where: str) -> None:
    """A notice of labels that were written in several ways, and are one."""
    pairs = (
        pl.DataFrame({"known": known, "written": labels.cast(pl.String)})
        .drop_nulls()
        .unique(maintain_order=True)
    )
    ways = (
        pairs.group_by("known", maintain_order=True)
        .agg(pl.col("written").sort())
        .filter(pl.col("written").list.len() > 1)
    )
    said = [
        f"{known!r} is also written {', '.join(ascii(way) for way in written if way != known)}"
        for known, written in ways.sort("known").iter_rows()
    ]
    if said:
        notice(f"{where}: {'; '.join(said[:SAID])}{'; ...' if len(said) > SAID else ''}; each is one label")


def check_spellings(counts: Mapping[str, int], source: str, labels: pl.Series | None = None) -> None:
    """InputError for two labels that differ by case alone, or by what nobody sees; `counts` says how many.

    With the `labels` themselves it says in which row each is first.

    >>> check_spellings({"man": 3, "Man": 1}, "faces.csv, 'gender'")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: faces.csv, 'gender': spells one label in two ways: 'man' (3) and 'Man' (1); \
write it in one way
    """
    first: dict[str, str] = {}
    for label in counts:
        key = "".join(letter for letter in label.casefold() if letter not in JOINERS)
        if (other := first.setdefault(key, label)) != label:
            said = " and ".join(
                f"{name!a} ({counts[name]:,}{_first_row(name, labels)})" for name in (other, label)
            )
            raise InputError(f"{source}: spells one label in two ways: {said}; write it in one way")


def _first_row(label: str, labels: pl.Series | None) -> str:
    """Where a label is first, counted from 1."""
    return "" if labels is None else f", first in row {(labels == label).arg_true()[0] + 1:,}"
