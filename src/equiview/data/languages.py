"""Languages: the 36 of Crossmodal-3600 with script and direction, and how much of the web each language has.

Shares are percentages of the pages of CommonCrawl CC-MAIN-2025-18, from plots/languages.csv of
https://github.com/commoncrawl/cc-crawl-statistics (`labs/web_shares.py`), where a page counts for its first
language by CLD2. The tiers of the 36 are those of paper P, table 3. P states no thresholds; `THRESHOLDS` are
ours, round numbers that give its tiers, and are applied to the other languages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Literal, TypeVar

import polars as pl

from equiview.data.labels import check_spellings, looks_missing
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.spelling import cleaned

Tier = Literal["high", "medium", "low"]
TIERS: tuple[Tier, ...] = ("high", "medium", "low")
THRESHOLDS: dict[Tier, float] = {"high": 5.0, "medium": 1.0, "low": 0.0}
"""The least share of the web, in percent, of a language of each tier."""

CODE = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*")
"""What is written as codes of languages are."""
UNDETERMINED = ("und", "zxx", "mis")
"""Codes of ISO 639 that say that no language is known."""
MAPPED = 12
"""Languages that a notice names."""
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
            "counts"
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
    name = cleaned(text)
    if code := _codes().get(name.casefold()):
        return code
    import langcodes

    with suppress(ValueError, LookupError):  # no tag; a tag without a language
        language = langcodes.Language.get(name).language or "und"
        code, _ = langcodes.closest_match(language, list(language_names()), max_distance=ALIKE)
        if code != "und":
            return _codes()[code]
    raise InputError(f"{text!r} is no language that is known; use ISO 639 codes such as 'pt'")


@cache
def language_label(text: str) -> str:
    """How a language is labelled in tables: by its code, with script or region only where they set it apart.

    What is no known language keeps its name, cleaned (`equiview.data.labels`).

    >>> [language_label(text) for text in ("FR", "fr-FR", "fra", "French", "fr_CA", "zh-TW", "sw", "Elvish ")]
    ['fr', 'fr', 'fr', 'fr', 'fr-CA', 'zh-Hant', 'sw', 'Elvish']
    """
    label = cleaned(text)
    if code := _codes().get(label.casefold()):
        return code
    import langcodes

    try:
        tag = langcodes.Language.get(langcodes.standardize_tag(label, macro=True))
    except ValueError:
        return label
    if not tag.is_valid() or tag.language in (None, "und"):
        return label
    code = _codes().get(tag.language, tag.language)
    if tag.variants or tag.extensions or tag.private:
        return tag.to_tag()
    whole, likely = tag.maximize(), langcodes.Language.get(code).maximize()
    script = whole.script if whole.script != likely.script else None
    likely = langcodes.Language.make(language=code, script=script).maximize()
    region = whole.territory if whole.territory != likely.territory else None
    return "-".join(filter(None, (code, script, region)))


@cache
def unknown_code(text: str) -> str:
    """What is wrong with what is written as a code of a language and is none; "" for all else.

    >>> unknown_code("jp")
    "'jp' is no code of a language, did you mean 'ja'? Write a language of your own in words"
    >>> unknown_code("POL"), unknown_code("Elvish")
    ('', '')
    """
    label = cleaned(text)
    if _codes().get(label.casefold()) or not CODE.fullmatch(label):
        return ""
    import langcodes

    with suppress(ValueError):
        if langcodes.Language.get(label).is_valid():
            return ""
    near = _nearest(re.split("[-_]", label.casefold())[0])
    meant = f", did you mean {near!r}? Write" if near else "; write"
    return f"{text!r} is no code of a language{meant} a language of your own in words"


def _nearest(code: str) -> str:
    """The code of a language that may have been meant: itself, its country's, one that looks alike, or ""."""
    import langcodes

    known = _codes()
    if len(code) == 2 and code not in known:
        spoken = langcodes.Language.get(f"und-{code}").maximize().language
        if spoken in known and spoken != "en":  # which is said of no country as well
            return known[spoken]
    like = [other for other in known if other.isascii() and len(other) < 4 and other[0] == code[0]]
    near = [code] if code in known else difflib.get_close_matches(code, like, n=1, cutoff=0.5)
    return known[near[0]] if near else ""


def read_language(text: str, source: str = "") -> str:
    """`language_label`, with a notice where that is not what was written."""
    label = language_label(text)
    if label != text:
        notice(f"{f'{source}: ' if source else ''}language {text!r} is read as {label!r}")
    return label


def read_languages(labels: pl.Series, source: str) -> pl.Series:
    """Every language of a column by its label; a notice says which were written otherwise.

    InputError for what looks like a missing value, for a code that is none, with its row, and for unknown
    languages that differ by case alone.

    >>> read_languages(pl.Series(["fr", "fra", "sw"]), "texts.csv").to_list()
    ['fr', 'fr', 'sw']
    """
    counts: dict[str, int] = dict(labels.drop_nulls().value_counts(sort=True).iter_rows())
    for label, count in counts.items():
        if looks_missing(label) or cleaned(label).casefold() in UNDETERMINED:
            raise InputError(
                f"{source}, column {labels.name!r}: {label!r} ({count:,}) looks like a missing value; say "
                f"the language or leave these rows out; there are {', '.join(list(counts)[:8])}"
            )
    for label, count in counts.items():
        if wrong := unknown_code(label):
            row = labels.eq(label).fill_null(False).arg_true()[0] + 1
            more = f", and {count - 1:,} more" if count > 1 else ""
            raise InputError(f"{source}, column {labels.name!r}, row {row}{more}: {wrong}")
    read = {label: language_label(label) for label in counts}
    check_spellings(
        {read[label]: count for label, count in counts.items()},
        f"{source}, column {labels.name!r}",
        labels.replace(read),
    )
    other = {label: code for label, code in read.items() if label != code}
    if not other:
        return labels
    said = ", ".join(f"{label!r} as {code!r}" for label, code in sorted(other.items())[:MAPPED])
    more = f" and {len(other) - MAPPED} more" if len(other) > MAPPED else ""
    notice(f"{source}: names of languages are read by their codes: {said}{more}")
    return labels.replace(other)


T = TypeVar("T")


def by_label(content: Mapping[str, T], source: str) -> dict[str, T]:
    """What a file holds by language, by the languages' labels; InputError where it has a language twice.

    >>> by_label({"fr-FR": "Bonjour", "sw": "Jambo"}, "greetings.toml")
    {'fr': 'Bonjour', 'sw': 'Jambo'}
    """
    read: dict[str, T] = {}
    for language, value in content.items():
        if (label := read_language(language, source)) in read:
            raise InputError(f"{source}: has {label!r} twice, once as {language!r}; put both into one")
        read[label] = value
    return read


def region_languages(regions: pl.Series, languages: Collection[str], source: str) -> pl.Series:
    """The language of each region, as one of `languages` where it is one of them; null stays null.

    InputError for what is no language, and for capitals that name a country of another language.

    >>> region_languages(pl.Series(["fr-FR", "fra", "FR", None]), ["en", "fr"], "quiz").to_list()
    ['fr', 'fr', 'fr', None]
    """
    of_code: dict[str, str] = {}
    for label in languages:
        with suppress(InputError):
            of_code.setdefault(code_of(label), label)
    read = {}
    for region in regions.drop_nulls().unique(maintain_order=True):
        label = language_label(region)
        try:
            code = region if region in languages else region_code(region)
        except InputError as error:
            row = regions.eq(region).arg_true()[0] + 1
            raise InputError(f"{source}, row {row}: region {error}") from None
        read[region] = label if label in languages else of_code.get(code, code)
    other = {region: code for region, code in read.items() if region != code}
    if not other:
        return regions
    said = ", ".join(f"{region!r} as {code!r}" for region, code in sorted(other.items())[:8])
    notice(f"{source}: regions are read by the codes of their languages: {said}")
    return regions.replace(other)


def region_code(region: str) -> str:
    """The code of the language of a region; InputError as `code_of`, and for what may be a country.

    >>> region_code("FR"), region_code("Swahili")
    ('fr', 'sw')
    >>> region_code("CA")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: 'CA' may be a country or the language ca; write the language in small letters
    """
    code, text = code_of(region), cleaned(region)
    if text.isupper() and text.isascii() and len(text) in (2, 3):
        import langcodes

        country = langcodes.Language.get(f"und-{text}") if len(text) == 2 else None
        if country is None or (country.is_valid() and country.maximize().language != code):
            raise InputError(
                f"{text!r} may be a country or the language {code}; write the language in small letters"
            )
    return code


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
