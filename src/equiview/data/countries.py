"""Countries and their languages: the 16 of 3XCM (paper P, table 4), and those of Unicode CLDR beyond them.

Of the 16, `countries` has P's languages, in the order of its tables. Of the others, `territories.csv` has the
official language that most people know, by CLDR (`labs/territories.py`).
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files

import polars as pl

from equiview.errors import InputError
from equiview.io.spelling import cleaned


@cache
def countries() -> pl.DataFrame:
    """One row a country: country, code, language (ISO 639), language_name, commoncrawl_percent, native_name.

    `native_name` is what the country is called in its language.

    >>> countries().filter(country="Kenya")["language"].item()
    'sw'
    """
    return _read("countries")


def languages_of(names: pl.Series, source: str) -> pl.Series:
    """The language of each country, by its English name or ISO 3166 code; InputError lists unknown ones.

    >>> languages_of(pl.Series(["Nigeria", "Türkiye", "Cote d'Ivoire", "it"]), "x").to_list()
    ['yo', 'tr', 'fr', 'it']
    """
    known = {name: _spoken().get(_key(str(name))) for name in names.unique()}
    if strange := sorted(str(name) for name, language in known.items() if language is None):
        raise InputError(
            f"{source}: no language is known for country {', '.join(strange[:8])}; use the English name of "
            "Unicode CLDR or the ISO 3166 code of two letters"
        )
    return names.replace_strict(known, return_dtype=pl.String).alias("language")


@cache
def _spoken() -> dict[str, str]:
    """The language of each country by every name of it."""
    spoken = {}
    for row in _read("territories").iter_rows(named=True):
        for name in (row["code"], row["country"], *(row["aliases"] or "").split(";")):
            spoken[_key(name)] = row["language"]
    del spoken[""]
    return spoken | {_key(name): code for name, code in countries().select("country", "language").iter_rows()}


def _key(name: str) -> str:
    """A name as it is looked up.

    >>> _key("Côte_d’Ivoire"), _key("Bosnia & Herzegovina")
    ("cote d'ivoire", 'bosnia and herzegovina')
    """
    letters = unicodedata.normalize("NFD", cleaned(name).replace("’", "'"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain.replace("_", " ").replace("&", "and").casefold()


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv(files("equiview.data").joinpath(f"{name}.csv").read_bytes())
