import time
import unicodedata

import polars as pl
import pytest

from equiview.benchmarks.prompts import SHIPPED, check_prompts, read_prompts, shipped_prompts
from equiview.errors import InputError

LANGUAGES = ["de", "en", "es", "fr", "ja", "ru", "tr", "zh"]
WEATHER = """
attribute = "weather"
[values]
rain = ["rain", "drizzle"]
sun = ["sun"]
[[prompts]]
language = "en"
paraphrase = "photo"
checked = "by the author"
[prompts.text]
rain = "2 photos of rain"
sun = "2 photos of sunshine"
[[prompts]]
language = "ru"
paraphrase = "photo"
checked = "by nobody"
[prompts.text]
rain = "2 фотографии дождя"
sun = "2 фотографии солнца"
"""


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_prompts_are_whole(name: str) -> None:
    prompts = shipped_prompts()[name]
    assert check_prompts(prompts) == []
    assert prompts.attribute == name
    assert sorted(prompts.languages) == LANGUAGES
    assert len(prompts.paraphrases) == 3
    assert len(prompts.table) == 8 * 3 * len(prompts.values)
    assert prompts.table["checked"].str.len_chars().min() > 0
    assert all(unicodedata.is_normalized("NFC", text) for text in prompts.table["text"])


def test_fairface_labels_have_their_values() -> None:
    shipped = shipped_prompts()
    assert shipped["gender"].values_of(pl.Series(["male", "Female"])).to_list() == ["Male", "Female"]
    ages = ["0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70"]
    expected = ["0-2", "3-19", "3-19", "20-49", "20-49", "20-49", "50-69", "50-69", "70+"]
    assert shipped["age"].values_of(pl.Series(ages)).to_list() == expected
    races = ["White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern"]
    assert shipped["race"].values_of(pl.Series(races)).n_unique() == 7
    assert len(shipped["race"].values) == 7


def test_prompts_of_a_users_own_are_read(tmp_path) -> None:
    (tmp_path / "weather.toml").write_text(WEATHER)
    prompts = read_prompts(tmp_path / "weather.toml")
    assert prompts.attribute == "weather"
    assert prompts.values_of(pl.Series(["drizzle", "Sun", "snow"])).to_list() == ["rain", "sun", None]
    assert prompts.table.filter(language="ru", value="sun")["text"].to_list() == ["2 фотографии солнца"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('sun = "2 фотографии солнца"\n', "", "ru, 'photo': has no text for 'sun'"),
        ('sun = "2 фото', 'snow = "2 снег"\nsun = "2 фото', "'snow' is none of the values"),
        ("фотографии солнца", "photos of sunshine", "not in the script of the language"),
        ("2 фотографии солнца", "3 фотографии солнца", "says the numbers 3, but en says 2"),
        ("2 фотографии солнца", "2 фотографии дождя", "stands for several values"),
        ("фотографии солнца", "фотографии {weather} солнца", "placeholder {weather} is not filled"),
        ("2 фотографии солнца", " ", "is empty"),
        ('language = "ru"', 'language = "en"', "has 2 texts for 'rain'; it needs one"),
        ('checked = "by nobody"', "", "checked: field required"),
        ("[values]", "[values", "is not TOML"),
    ],
)
def test_what_is_wrong_with_prompts_is_said(tmp_path, before, after, words) -> None:
    assert before in WEATHER
    (tmp_path / "p.toml").write_text(WEATHER.replace(before, after))
    with pytest.raises(InputError) as error:
        read_prompts(tmp_path / "p.toml")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert "p.toml" in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml: no such file"):
        read_prompts(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"drizzle"', '"sun"', "label 'sun' means two values, 'rain' and 'sun'"),
        ('attribute = "weather"', "attribute = " + "[" * 5000, "is nested too deeply"),
        ('attribute = "weather"', "attribute = " + "1" * 5000, "is not TOML"),
        ('language = "en"', 'language = " en"', r"prompts\.0\.language: string should match pattern"),
    ],
)
def test_a_file_that_means_two_things_or_nothing_is_refused(tmp_path, before, after, message) -> None:
    path = tmp_path / "weather.toml"
    path.write_text(WEATHER.replace(before, after))
    with pytest.raises(InputError, match=message):
        read_prompts(path)


def test_placeholders_are_looked_for_in_no_time(tmp_path) -> None:
    path = tmp_path / "weather.toml"
    path.write_text(WEATHER.replace("photos of rain", "photos of rain" + "{" * 200_000))
    began = time.process_time()
    read_prompts(path)
    assert time.process_time() - began < 10


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path) -> None:
    path = tmp_path / "weather.toml"
    path.write_bytes(b"\xef\xbb\xbf" + WEATHER.encode())
    assert read_prompts(path).attribute == "weather"
