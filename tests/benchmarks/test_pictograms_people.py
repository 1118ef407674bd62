"""The embedded benchmark of people: whole, balanced, named by CLDR alone, and small."""

from __future__ import annotations

import io
from importlib.resources import files

import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.pictograms import drawings, names
from equiview.benchmarks.pictograms_people import neutral_names, people, people_names
from equiview.data.languages import languages
from equiview.errors import InputError

DATA = files("equiview.benchmarks") / "pictogram_data"


def test_every_role_has_each_gender_in_each_skin_once():
    counts = people().group_by("role", "gender", "skin").len()
    assert len(counts) == 64 * 3 * 6
    assert counts["len"].max() == 1
    assert people()["concept"].n_unique() == people()["image_id"].n_unique() == 1152
    assert set(people()["gender"]) == {"woman", "man", "person"}
    assert set(people()["skin"]) == {None, "light", "medium-light", "medium", "medium-dark", "dark"}


def test_attributes_are_what_the_code_points_say():
    tones = dict(zip(["1f3fb", "1f3fc", "1f3fd", "1f3fe", "1f3ff"], range(5), strict=True))
    order = ["light", "medium-light", "medium", "medium-dark", "dark"]
    for row in people().iter_rows(named=True):
        codes = row["concept"].split("-")
        skins = [order[tones[code]] for code in codes if code in tones]
        assert skins == ([row["skin"]] if row["skin"] else []), row["concept"]
        woman = codes[0] == "1f469" or codes[-1] == "2640"
        man = codes[0] == "1f468" or codes[-1] == "2642"
        assert (woman, man) == (row["gender"] == "woman", row["gender"] == "man"), row["concept"]


def test_names_are_those_of_the_other_tables_where_both_have_them():
    both = people_names().join(names(), on=["concept", "language"], suffix="_other")
    assert len(both) > 3000
    assert (both["text"] == both["text_other"]).all()
    shared = people().join(drawings(), on="concept", suffix="_other")
    assert len(shared) > 100


def test_no_name_is_made_up_where_a_language_has_none():
    missing = people_names().group_by("language").len().filter(pl.col("len") < 1152).select("language", "len")
    assert missing.rows() == [("mi", 1152 - 282)]
    assert set(people_names()["language"]) == set(languages()["code"])
    assert people_names().select("language", "text").is_duplicated().sum() == 0
    english = people_names().filter(language="en").select("concept", english="text")
    borrowed = people_names().filter(pl.col("language") != "en").join(english, on="concept")
    assert (borrowed["text"].str.to_lowercase() == borrowed["english"].str.to_lowercase()).sum() < 40


def test_neutral_names_name_no_gender_in_english():
    prompts = neutral_names()
    counts = dict(prompts.group_by("language").len().iter_rows())
    assert {code: n for code, n in counts.items() if n != 64} == {"mi": 39}
    words = set(" ".join(prompts.filter(language="en")["text"]).lower().split())
    assert not words & {"man", "woman", "men", "women", "male", "female", "skin"}
    assert prompts["prompt_id"].n_unique() == len(prompts) == 2279


def test_english_is_the_default_and_other_languages_are_asked_for():
    english = load_benchmark("pictograms-people")
    assert english.counts == {"images": 1152, "texts": 1152, "neutral_prompts": 64}
    assert set(english.relevance.counts.tolist()) == {1}
    assert "woman firefighter: dark skin tone" in english.texts.table["text"].to_list()
    everything = load_benchmark("pictograms-people:languages=all")
    assert everything.counts == {"images": 1152, "texts": 41_190, "neutral_prompts": 2279}
    assert load_benchmark("pictograms-people:languages=sw+mi").texts.table["language"].n_unique() == 2
    assert english.fingerprint == load_benchmark("pictograms-people:languages=en").fingerprint


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("languages=xx", "'xx' is none of its languages"),
        ("languages=", "'' is none of its languages"),
        ("folder", "takes no argument 'folder'"),
        ("language=en", "has no option 'language'; it has: languages"),
    ],
)
def test_what_it_does_not_have_is_told(argument, message):
    with pytest.raises(InputError, match=message):
        load_benchmark(f"pictograms-people:{argument}")


def test_pictures_open_and_are_small():
    for picture in people()["picture"][::40]:
        image = Image.open(io.BytesIO(picture))
        assert (image.size, image.mode) == ((96, 96), "RGBA")
    sizes = [len((DATA / name).read_bytes()) for name in ("people.parquet", "people_names.parquet")]
    assert sum(sizes) < 3e6
