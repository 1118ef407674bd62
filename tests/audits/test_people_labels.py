"""Whom an image shows, at the door of every audit that reads it: one spelling, nothing missing."""

import polars as pl
import pytest

from equiview.audits.amplification import AMPLIFICATION
from equiview.audits.amplification.ask import asked_of
from equiview.audits.parity import PARITY
from equiview.audits.prevalence import PREVALENCE
from equiview.audits.social import SOCIAL
from equiview.audits.social.observe import labels_of
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import load_subject
from tests.benchmarks.layouts import LAYOUTS
from tests.conftest import write_world

WRITTEN = (
    "female",
    " female",
    "female\u00a0",
    "fe\u200bmale",
    "\ufefffemale",
    "ｆｅｍａｌｅ",
    "fe\u00admale",
    "female",
)
"""One label, as spreadsheets, web pages and keyboards write it."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("labels") / "world", images=40, width=4)


def with_gender(world, genders, of="images"):
    read = load_benchmark(f"folder:{world}")
    tables = {"images": read.images.table, "texts": read.need_texts().table}
    column = pl.Series([genders[row % len(genders)] for row in range(len(tables[of]))])
    tables[of] = tables[of].with_columns(gender=column)
    images = Items("image", tables["images"], "images.csv")
    return Benchmark("world", images, Items("text", tables["texts"], "texts.csv"), read.relevance)


def social(world, genders, **given):
    settings = SOCIAL.configure(given)
    labels = labels_of(with_gender(world, genders).images, settings)
    unknown = {word.casefold() for word in settings.unknown}
    return {value for value in labels["value"] if value.casefold() not in unknown}


def parity(world, genders, **given):
    settings = PARITY.configure({"zero_shot": False, **given})
    subject = load_subject(f"embeddings:{world}")
    groups = PARITY.observe(subject, with_gender(world, genders), settings, silent)["groups"]["value"]
    return {value.lower() for value in groups}  # by the words of its prompts, which are capital


def amplification(world, genders, **given):
    given = {"excluded" if name == "unknown" else name: value for name, value in given.items()}
    settings = AMPLIFICATION.configure({"least": 2, **given})
    return set(asked_of(with_gender(world, genders), settings).people["group"])


def prevalence(world, genders, **given):
    settings = PREVALENCE.configure({"by": "gender", **given})
    subject = load_subject(f"embeddings:{world}")
    observed = PREVALENCE.observe(subject, with_gender(world, genders, of="texts"), settings, silent)
    return set(observed["items"]["group"])


AUDITS = (social, parity, amplification, prevalence)


@pytest.mark.parametrize("groups", AUDITS)
def test_a_label_is_one_group_however_it_is_written(world, groups):
    assert groups(world, [*WRITTEN, "male"]) == {"female", "male"}


@pytest.mark.parametrize("groups", AUDITS)
@pytest.mark.parametrize("other", ["Female", "FEMALE", "fe\u200dmale"])
def test_labels_that_differ_by_case_or_by_nothing_that_is_seen_are_refused_with_counts(world, groups, other):
    with pytest.raises(
        InputError,
        match=r"s\.csv, .*: '\S+' \(\d+, first in row \d\) and '\S+' \(\d+, first in row \d\);",
    ) as error:
        groups(world, ["female", other, "male"])
    assert ascii(other) in str(error.value)


@pytest.mark.parametrize("groups", AUDITS)
@pytest.mark.parametrize(
    "word", ["None", "n/a", "N/A", "NA", "-", "null", "NULL", "<NA>", "?", "–", "missing"]
)
def test_what_looks_missing_is_refused_with_the_labels_seen(world, groups, word):
    with pytest.raises(
        InputError, match=r"looks like a missing value; .* there are .*'female' \(\d+\)"
    ) as error:
        groups(world, ["female", "male", word])
    assert repr(word) in str(error.value)


@pytest.mark.parametrize("groups", AUDITS[:3])
@pytest.mark.parametrize("word", ["None", "n/a", "-"])
def test_what_looks_missing_may_be_named_by_a_setting(world, groups, word):
    assert groups(world, ["female", "male", f" {word}"], unknown=[word]) == {"female", "male"}


@pytest.mark.parametrize("groups", AUDITS[:3])
def test_nan_says_nothing(world, groups):
    assert groups(world, ["female", "male", "nan", "NaN"]) == {"female", "male"}


def test_people_of_one_image_whose_labels_differ_by_case_are_refused(tmp_path):
    LAYOUTS["phase"](tmp_path)
    (path,) = tmp_path.glob("*.json")
    content = path.read_text()
    path.write_text(content.replace('"female"', '"Male "', 1))
    with pytest.raises(
        InputError, match=r"'gender': spells one label in two ways: 'male' \(1\) and 'Male' \(1\)"
    ):
        load_benchmark(f"phase:{tmp_path}")
    path.write_text(content.replace('"female"', '"male\\u200b"', 1))
    assert load_benchmark(f"phase:{tmp_path}").images.table["gender"].to_list() == ["male", "female"]


def test_what_was_written_in_several_ways_and_is_one_label_is_said(world, caplog):
    social(world, ["female", "female ", "male"])
    assert "images.csv, 'gender': 'female' is also written 'female '; each is one label" in caplog.text


def test_a_label_that_looks_missing_may_be_kept(tmp_path):
    place = write_world(tmp_path / "world", images=30, width=4)
    countries = pl.Series("country", ["NA", "ZA", "KE"] * 10)
    pl.read_csv(place / "images.csv").with_columns(countries).write_csv(place / "images.csv")
    refused = load_benchmark(f"folder:{place}").images
    with pytest.raises(
        InputError,
        match=r"'NA' \(10\) looks like a missing value; .*row 1\), or keep it as a label \(keep=NA",
    ):
        refused.labels("country")
    kept = load_benchmark(f"folder:{place},keep=NA").images
    assert kept.labels("country").to_list() == countries.to_list()
    assert kept.take([0]).labels("country").to_list() == ["NA"]
    assert kept.fingerprint != refused.fingerprint
