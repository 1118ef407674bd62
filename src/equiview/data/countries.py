"""The 16 countries and 12 languages of 3XCM (paper P, table 4), in the order of its tables."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import polars as pl

from equiview.errors import InputError


@cache
def countries() -> pl.DataFrame:
    """One row a country: country, code, language (ISO 639), language_name, commoncrawl_percent, native_name.

    `native_name` is what the country is called in its language.

    >>> countries().filter(country="Kenya")["language"].item()
    'sw'
    """
    return pl.read_csv(files("equiview.data").joinpath("countries.csv").read_bytes())


def languages_of(names: pl.Series, source: str) -> pl.Series:
    """The language of each country; InputError lists the countries that are not among the 16."""
    table = countries()
    languages = names.replace_strict(
        table["country"], table["language"], default=None, return_dtype=pl.String
    )
    if languages.null_count():
        unknown = ", ".join(sorted(map(str, names.filter(languages.is_null()).unique().to_list()))[:8])
        raise InputError(
            f"{source}: no language is known for country {unknown}; known: {', '.join(table['country'])}"
        )
    return languages.alias("language")
