"""Languages: the 36 of Crossmodal-3600 with script and direction, and how much of the web each language has.

Shares are percentages of the pages of CommonCrawl CC-MAIN-2025-18, from plots/languages.csv of
https://github.com/commoncrawl/cc-crawl-statistics (`labs/web_shares.py`), where a page counts for its first
language by CLD2. The tiers of the 36 are those of paper P, table 3. P states no thresholds; `THRESHOLDS` are
ours, round numbers that give its tiers, and are applied to the other languages.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Literal

import polars as pl

from equiview.errors import InputError

Tier = Literal["high", "medium", "low"]
TIERS: tuple[Tier, ...] = ("high", "medium", "low")
THRESHOLDS: dict[Tier, float] = {"high": 5.0, "medium": 1.0, "low": 0.0}
"""The least share of the web, in percent, of a language of each tier."""

ALIKE = 3
"""How far apart, as langcodes counts, codes of one language are: Bokmål is 1 from Norwegian, Danish 12."""

RIGHT_TO_LEFT = frozenset({"ckb", "dv", "ps", "sd", "ug", "ur", "yi"})
"""Languages beyond the 36 that are written from right to left."""


@cache
def languages() -> pl.DataFrame:
    """One row per language, by share of the web, largest first.

    Columns: code, name, native_name, tier, commoncrawl_percent, script, direction (ltr or rtl), family.

    >>> languages()["code"].head(3).to_list()
    ['en', 'ru', 'de']
    """
    return pl.read_csv(files("equiview.data").joinpath("languages.csv").read_bytes())


@cache
def web_shares() -> pl.DataFrame:
    """One row for each of the 161 languages that CommonCrawl identifies, most written first.

    Columns: code (ISO 639-1, else 639-3), iso639_3, name, pages, commoncrawl_percent, tier. Codes are those
    of `languages()` where it has the language, except for Cusco Quechua, which is counted as Quechua.

    >>> web_shares().filter(code="yo").row(0)
    ('yo', 'yor', 'Yoruba', 22568, 0.0008, 'low')
    """
    table = pl.read_csv(files("equiview.data").joinpath("web_shares.csv").read_bytes())
    return table.with_columns(tiers_from_shares(table["commoncrawl_percent"]))


def tiers_from_shares(shares: pl.Series) -> pl.Series:
    """The tier of languages by their share of the web, in percent: high from 5, medium from 1, else low.

    The thresholds are ours; on the 36 languages of P they give its tiers. InputError for a share that is
    missing or not between 0 and 100, naming the row.

    >>> tiers_from_shares(pl.Series([43.9, 4.9, 0.0014])).to_list()
    ['high', 'medium', 'low']
    """
    wrong = shares.is_between(0, 100).not_().fill_null(True).arg_true()
    if len(wrong):
        row = wrong[0]
        raise InputError(
            f"{shares.name or 'shares'}, row {row + 1}: {shares[row]} is no percentage from 0 to 100"
        )
    tiers = pl.Series("tier", [None] * len(shares), dtype=pl.String)
    for tier in reversed(TIERS):
        tiers = tiers.set(shares >= THRESHOLDS[tier], tier)
    return tiers


@cache
def tier_by_code() -> dict[str, str]:
    """The tier of every language that is known, by each of its codes: `sw` and `swa` alike."""
    shares, published = web_shares(), languages()
    codes = [*shares["iso639_3"], *shares["code"], *published["code"]]
    return dict(zip(codes, [*shares["tier"], *shares["tier"], *published["tier"]], strict=True))


def tiers_of(codes: pl.Series, source: str) -> pl.Series:
    """The tier of each language code; InputError lists the codes that have none.

    >>> tiers_of(pl.Series(["en", "bg", "bul", "quz"]), "texts.csv").to_list()
    ['high', 'low', 'low', 'low']
    """
    tiers = codes.replace_strict(tier_by_code(), default=None, return_dtype=pl.String)
    if tiers.null_count():
        unknown = ", ".join(sorted(codes.filter(tiers.is_null()).unique().to_list())[:8])
        raise InputError(
            f"{source}: no tier is known for language {unknown}; add a column 'tier' to the texts that "
            "says high, medium or low for every language, or use ISO 639 codes of languages that CommonCrawl "
            "counts (equiview.data.languages.web_shares)"
        )
    return tiers.alias("tier")


@cache
def known_languages() -> pl.DataFrame:
    """Every language that is known, by code: code, name, tier, commoncrawl_percent. The 36 come first."""
    tables = (
        table.select("code", "name", "tier", "commoncrawl_percent") for table in (languages(), web_shares())
    )
    return pl.concat(tables).unique("code", keep="first", maintain_order=True)


def code_of(text: str) -> str:
    """Our code of a language, from a code of ISO 639, a tag of BCP 47 or its English or native name.

    Other codes of a language are that language, and so are those of its standard form: `fra`, `iw`, `cmn`,
    `nb`. Region and script are dropped. InputError for a language that is not known.

    >>> [code_of(text) for text in ("fr-FR", "fra", "French", "iw", "zh-Hant-TW", "nb", "quz")]
    ['fr', 'fr', 'fr', 'he', 'zh', 'no', 'quz']
    """
    if code := _codes().get(text.strip().casefold()):
        return code
    import langcodes

    with suppress(ValueError, LookupError):  # no tag; a tag without a language
        language = langcodes.Language.get(text.strip()).language or "und"
        code, _ = langcodes.closest_match(language, list(language_names()), max_distance=ALIKE)
        if code != "und":
            return _codes()[code]
    raise InputError(f"{text!r} is no language that is known; use ISO 639 codes such as 'pt'")


@cache
def _codes() -> dict[str, str]:
    """The code of each language by its code, its code of three letters and its names, in small letters."""
    published, counted = languages(), web_shares()
    codes = {row["iso639_3"]: row["code"] for row in counted.reverse().iter_rows(named=True)}
    for table, name in ((counted, "name"), (published, "native_name"), (published, "name")):
        codes |= {row[name].casefold(): row["code"] for row in table.iter_rows(named=True)}
    return codes | {code: code for code in language_names()}


@cache
def language_names() -> dict[str, str]:
    """English names of the languages by code; of the 36, the names that P uses."""
    return dict(known_languages().select("code", "name").iter_rows())


def language_name(code: str) -> str:
    """The English name of a language, or its code where it is not known.

    >>> language_name("sw"), language_name("tlh")
    ('Swahili', 'tlh')
    """
    return language_names().get(code, code)


def direction_of(code: str) -> str | None:
    """`ltr` or `rtl`, as a language is written; None of one whose direction is not known.

    >>> direction_of("ar"), direction_of("ur"), direction_of("tlh")
    ('rtl', 'rtl', None)
    """
    published = dict(languages().select("code", "direction").iter_rows())
    return published.get(code) or ("rtl" if code in RIGHT_TO_LEFT else None)
