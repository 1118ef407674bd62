"""The 36 languages of Crossmodal-3600: tier, share of the web, script and direction.

Shares are percentages of CommonCrawl CC-MAIN-2025-18; tiers are those of paper P, tables 3 and 4.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import polars as pl

from equiview.errors import InputError

Tier = Literal["high", "medium", "low"]
TIERS: tuple[Tier, ...] = ("high", "medium", "low")


@cache
def languages() -> pl.DataFrame:
    """One row per language, by share of the web, largest first.

    Columns: code, name, native_name, tier, commoncrawl_percent, script, direction (ltr or rtl), family.

    >>> languages()["code"].head(3).to_list()
    ['en', 'ru', 'de']
    """
    return pl.read_csv(files("equiview.data").joinpath("languages.csv").read_bytes())


def tiers_of(codes: pl.Series, source: str) -> pl.Series:
    """The tier of each language code; InputError lists the codes that have none."""
    table = languages()
    tiers = codes.replace_strict(table["code"], table["tier"], default=None, return_dtype=pl.String)
    if tiers.null_count():
        unknown = ", ".join(sorted(codes.filter(tiers.is_null()).unique().to_list())[:8])
        raise InputError(
            f"{source}: no tier is known for language {unknown}; add a column 'tier' (high, medium or low) "
            f"to the texts, or use the codes {', '.join(table['code'])}"
        )
    return tiers.alias("tier")


@cache
def language_names() -> dict[str, str]:
    """English names of the languages by code."""
    return dict(languages().select("code", "name").iter_rows())


def language_name(code: str) -> str:
    """The English name of a language, or its code where it is none of the 36.

    >>> language_name("sw"), language_name("tlh")
    ('Swahili', 'tlh')
    """
    return language_names().get(code, code)
