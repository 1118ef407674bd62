"""Prompts that name no attribute: those that ship, those of a user, the words that must not be in them."""

from pathlib import Path

import polars as pl
import pytest

from equiview.benchmarks.neutral import (
    NEUTRAL_PROMPTS,
    attribute_words,
    check_neutral,
    named_attributes,
    neutral_prompts_of,
    read_neutral_prompts,
    shipped_neutral_prompts,
)
from equiview.errors import InputError
from tests.audits.social.worlds import people

LANGUAGES = ["de", "en", "es", "fr", "ja", "ru", "tr", "zh"]
ATTRIBUTES = ["gender", "skin", "race", "age"]
OWN = """
[templates]
en = ["{person}", "a photo of {person}"]
[concepts.kind]
en = "a kind person"
[concepts.tall]
en = "a tall person"
"""


def test_eleven_templates_and_twenty_nine_concepts_in_eight_languages():
    table = shipped_neutral_prompts()
    assert sorted(table["language"].unique()) == LANGUAGES
    for (_,), part in table.group_by("language"):
        assert len(part) == part["text"].n_unique() == 319
        assert part["concept"].n_unique() == 29
        assert part.group_by("concept").len()["len"].unique().to_list() == [11]
    assert not table["text"].str.contains("[{}]").any()


@pytest.mark.parametrize("language", LANGUAGES)
def test_those_that_ship_are_neutral(language):
    check_neutral(shipped_neutral_prompts().filter(language=language), ATTRIBUTES, "ours")


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_words_are_listed_in_every_language(attribute):
    assert sorted(attribute_words()[attribute]) == LANGUAGES


@pytest.mark.parametrize(
    ("text", "language", "named"),
    [
        ("a photo of a Woman.", "en", [("gender", "woman")]),
        ("a businesswoman", "en", [("gender", "businesswoman")]),
        ("a dark-skinned person", "en", [("skin", "dark-skinned"), ("skin", "dark"), ("skin", "skinned")]),
        ("a person with a white cane", "en", []),
        ("a human", "en", []),
        ("a person from Germany", "en", []),
        ("eine alte Dame", "de", [("gender", "dame"), ("age", "alte")]),
        ("la mujer", "es", [("gender", "mujer")]),
        ("молодой человек", "ru", [("age", "молодой")]),
        ("genç bir kadın", "tr", [("gender", "kadın"), ("age", "genç")]),
        ("黑人的照片", "zh", [("skin", "黑"), ("race", "黑人")]),
        ("若い人", "ja", [("age", "若い")]),
        ("mwanamke", "sw", []),
    ],
)
def test_words_that_name_an_attribute_are_found(text, language, named):
    assert named_attributes(text, language, ATTRIBUTES) == named


def table_of(**texts):
    rows = [(name, "en", text, name) for name, text in texts.items()]
    return pl.DataFrame(rows, schema=["prompt_id", "language", "text", "concept"], orient="row")


def test_a_prompt_that_names_an_attribute_is_said_by_name():
    prompts = table_of(one="a doctor", two="an old doctor", three="an old nurse")
    message = (
        r"mine: prompt 'two' \('an old doctor'\) names age by the word 'old'.*\(2 prompts do\); rephrase it"
    )
    with pytest.raises(InputError, match=message):
        check_neutral(prompts, ["age"], "mine")
    check_neutral(prompts, ["gender"], "mine")
    check_neutral(prompts, ["age"], "mine", allowed=["Old"])


def test_a_user_brings_templates_or_a_table(tmp_path):
    toml, csv = tmp_path / "own.toml", tmp_path / "own.csv"
    toml.write_text(OWN)
    assert read_neutral_prompts(toml)["text"].to_list() == [
        "a kind person", "a photo of a kind person", "a tall person", "a photo of a tall person",
    ]  # fmt: skip
    table_of(a="a doctor").write_csv(csv)
    table, source = neutral_prompts_of(people(24), [str(toml), str(csv)])
    assert len(table) == 5
    assert source == f"{toml}, {csv}"


def test_a_benchmark_s_own_prompts_come_before_ours():
    assert neutral_prompts_of(people(24))[0]["concept"][0] == "role 0"
    assert len(neutral_prompts_of(people(24, prompts=False))[0]) == 8 * 319


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "templates: field required"),
        ("[templates\n", "is not TOML"),
        (OWN.replace('["{person}", ', '["someone", '), "templates.en: 'someone' has no place for {person}"),
        (OWN.replace('en = "a tall person"', 'de = "x"'), "concept 'tall' has no 'en'"),
        ("[templates]\nen = []\n[concepts.a]\nen = 'b'\n", "holds no prompt"),
        (OWN.replace('"a kind person"', '""').replace('"{person}", ', '"{person} ",'), "row 1: is empty"),
    ],
)
def test_a_file_that_is_wrong_is_said_to_be(tmp_path, content, message):
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_neutral_prompts(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_table_without_texts_is_said_to_lack_them(tmp_path):
    path = tmp_path / "own.csv"
    table_of(a="a doctor").drop("text").write_csv(path)
    with pytest.raises(InputError, match="column 'text'"):
        read_neutral_prompts(path)
    assert NEUTRAL_PROMPTS.name == "neutral_prompts"


def test_published_prompts_are_named_and_word_for_word() -> None:
    prompts = read_neutral_prompts(Path("berg"))
    assert prompts.height == 11 * 29
    assert prompts["language"].unique().to_list() == ["en"]
    assert {"This is the face of a kind person", "A noncriminal individual", "rich"} <= set(prompts["text"])
    check_neutral(prompts, ["gender", "age", "race", "skin"], "berg")
