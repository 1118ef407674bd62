import re

import polars as pl
import pytest
from pydantic import TypeAdapter

from equiview.data.fields import LanguageLabel, LanguageLabels
from equiview.data.languages import (
    TIERS,
    by_label,
    code_of,
    known_languages,
    language_label,
    language_name,
    language_names,
    languages,
    read_languages,
    tier_by_code,
    tiers_from_shares,
    tiers_of,
    web_shares,
)
from equiview.errors import InputError

ALL_PAGES = 2_747_336_110
"""Pages of CC-MAIN-2025-18; 81,917,923 of them are in a language that was not identified."""


def test_there_are_36_languages_in_three_tiers():
    counts = dict(languages()["tier"].value_counts().iter_rows())
    assert [counts[tier] for tier in TIERS] == [3, 12, 21]
    assert tiers_of(pl.Series(["en", "quz"]), "x").to_list() == ["high", "low"]
    with pytest.raises(InputError, match="no tier is known for language tlh; add a column 'tier'"):
        tiers_of(pl.Series(["en", "tlh"]), "texts.csv")


def test_shares_of_the_web_are_what_their_pages_say():
    table = web_shares()
    assert len(table) == table["code"].n_unique() == table["iso639_3"].n_unique() == 161
    assert table["pages"].sum() == ALL_PAGES - 81_917_923
    assert table["commoncrawl_percent"].to_list() == (100 * table["pages"] / ALL_PAGES).round(4).to_list()
    assert table["pages"].is_sorted(descending=True)


def test_shares_of_the_36_are_those_of_the_paper():
    shares = dict(web_shares().select("code", "commoncrawl_percent").iter_rows())
    counted_as = {"quz": "qu"}
    for row in languages().iter_rows(named=True):
        assert shares[counted_as.get(row["code"], row["code"])] == row["commoncrawl_percent"], row["code"]


def test_tiers_by_share_are_those_of_the_paper():
    table = languages()
    assert tiers_from_shares(table["commoncrawl_percent"]).to_list() == table["tier"].to_list()
    assert {code: tier_by_code()[code] for code in table["code"]} == dict(
        table.select("code", "tier").iter_rows()
    )


def test_a_language_has_its_tier_under_each_of_its_codes():
    assert tiers_of(pl.Series(["deu", "de", "yo", "tgl", "fil"]), "x").to_list() == ["high"] * 2 + ["low"] * 3
    names = [language_name(code) for code in ("bg", "fa", "bih", "lif", "quz")]
    assert names == ["Bulgarian", "Farsi", "Bihari languages", "Limbu", "Cusco Quechua"]


@pytest.mark.parametrize("share", [-0.1, 100.5, None, float("nan")])
def test_a_share_that_is_no_percentage_is_named_by_row(share):
    with pytest.raises(InputError, match=r"percent, row 2: .* is no percentage from 0 to 100"):
        tiers_from_shares(pl.Series("percent", [5.0, share]))


def test_every_language_is_known_by_its_codes_and_names() -> None:
    tables = (
        (known_languages(), ("code", "name")),
        (languages(), ("native_name",)),
        (web_shares(), ("iso639_3",)),
    )
    for table, columns in tables:
        for row in table.iter_rows(named=True):
            for column in columns:
                assert code_of(row[column]) == row["code"] == code_of(f" {row[column].upper()} ")


@pytest.mark.parametrize(
    ("code", "others"),
    [
        ("pt", "pt-BR"),
        ("fr", "fr_FR fre"),
        ("zh", "zh-Hant-TW cmn"),
        ("he", "iw iw-IL"),
        ("ar", "arb ar-EG"),
        ("sr", "sr-Latn sh"),
        ("no", "nb nob"),
        ("fil", "tl"),
        ("sw", "swh"),
    ],
)
def test_other_codes_of_a_language_are_that_language(code: str, others: str) -> None:
    assert {code_of(other) for other in others.split()} == {code}


@pytest.mark.parametrize(
    "text", ["", " ", "xx", "zzz", "tlh", "yue", "und-Latn", "mul", "en-", "x-klingon", "a b"]
)
def test_what_is_no_language_that_is_known_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no language that is known; use ISO 639 codes such as 'pt'"):
        code_of(text)


def test_every_language_that_is_known_is_its_own_label():
    for code, name in language_names().items():
        assert language_label(code) == code
        assert language_label(f"{code.upper()} ") == code
        assert language_label(name) == code


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("en-US", "en"), ("en-GB", "en-GB"), ("EN_gb", "en-GB"), ("pt-BR", "pt"), ("pt-PT", "pt-PT"),
        ("zh-CN", "zh"), ("zh-Hans", "zh"), ("cmn", "zh"), ("zh-TW", "zh-Hant"), ("zh-Hant", "zh-Hant"),
        ("zh-HK", "zh-Hant-HK"), ("sr-Latn", "sr-Latn"), ("swh", "sw"), ("arz", "arz"), ("prs", "fa-AF"),
        ("de-1996", "de-1996"), ("en-x-plain", "en-x-plain"), ("tl", "fil"), ("iw", "he"),
        ("tlh", "tlh"), ("Klingon", "Klingon"), ("dialect", "dialect"), ("*", "*"), ("", ""), ("🙂", "🙂"),
    ],
)  # fmt: skip
def test_a_label_keeps_what_sets_a_variety_apart(text, label):
    assert language_label(text) == label
    assert language_label(label) == label


def test_settings_name_languages_in_any_way():
    fields = TypeAdapter(LanguageLabels)
    assert fields.validate_python(["French", "fr", "SW"]) == ("fr", "sw")
    assert TypeAdapter(LanguageLabel).validate_python("") == ""


def test_a_file_that_has_a_language_twice_is_refused():
    with pytest.raises(InputError, match="words: has 'fr' twice, once as 'French'; put both into one"):
        by_label({"fr": 1, "French": 2}, "words")


def test_what_is_read_otherwise_than_written_is_said_once(caplog):
    for _ in range(2):
        TypeAdapter(LanguageLabels).validate_python(["Kiswahili", "sw"])
        by_label({"swh": 1}, "greetings.toml")
    assert caplog.messages == [
        "equiview: note: language 'Kiswahili' is read as 'sw'",
        "equiview: note: greetings.toml: language 'swh' is read as 'sw'",
    ]


def test_codes_of_every_kind_are_read_and_the_mapping_is_said(caplog):
    written = [
        "zh-CN",
        "zh_TW",
        "FR",
        "ru_RU",
        "ger",
        "POL",
        "eng",
        "deu",
        "iw",
        "cmn",
        "nb",
        "no",
        "pt-PT",
        "pt",
    ]
    read = ["zh", "zh-Hant", "fr", "ru", "de", "pl", "en", "de", "he", "zh", "nb", "no", "pt-PT", "pt"]
    assert read_languages(pl.Series("language", written), "codes.csv").to_list() == read
    (said,) = caplog.messages
    assert "codes.csv: names of languages are read by their codes: 'FR' as 'fr', 'POL' as 'pl'" in said
    assert "'nb'" not in said


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("jp", "row 2, and 1 more: 'jp' is no code of a language, did you mean 'ja'?"),
        ("CZ", "row 2, and 1 more: 'CZ' is no code of a language, did you mean 'cs'?"),
        ("egn", "'egn' is no code of a language, did you mean 'en'?"),
        ("en-Xxxx", "'en-Xxxx' is no code of a language, did you mean 'en'?"),
        ("xyz-x", "'xyz-x' is no code of a language"),
        ("und", "'und' (2) looks like a missing value; say the language"),
    ],
)
def test_a_code_that_is_none_is_refused_with_its_row_and_the_nearest(code, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read_languages(pl.Series("language", ["en", code, code]), "codes.csv")
