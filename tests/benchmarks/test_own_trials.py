"""Trials from a user's own images of concepts and countries."""

import polars as pl
import pytest

from equiview import api, planning
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.own_trials import trials_of
from equiview.benchmarks.trials import SCHEMA, make_trials
from equiview.data.countries import countries
from equiview.data.items import Items
from equiview.errors import InputError

PLACES = {"USA": "en", "Kenya": "sw", "Türkiye": "tr", "Italy": "it"}
CONCEPTS = ("hat", "doll", "train")


def write_culture(place, images=None, texts=None):
    """A folder with one image of each concept and country, and a name of each concept in each language."""
    place.mkdir()
    rows = [(f"{c}-{k}", c, k) for c in CONCEPTS for k in PLACES]
    names = [(f"{c}-{code}", f"{c} in {code}", code, c) for c in CONCEPTS for code in PLACES.values()]
    images = images or (lambda table: table)
    texts = texts or (lambda table: table)
    images(pl.DataFrame(rows, schema=["id", "concept", "country"], orient="row")).write_csv(
        place / "images.csv"
    )
    texts(pl.DataFrame(names, schema=["id", "text", "language", "concept"], orient="row")).write_csv(
        place / "texts.csv"
    )
    return f"folder:{place}"


def made(*arguments):
    return trials_of(load_benchmark(write_culture(*arguments)))


def test_each_image_is_asked_for_by_the_name_of_its_concept_in_the_language_of_its_country(tmp_path):
    read = load_benchmark(write_culture(tmp_path / "world"))
    trials = trials_of(read)
    assert trials["trial_id"].to_list() == read.images.ids.to_list()
    assert trials.filter(trial_id="hat-Kenya").select("query_id", "language").row(0) == ("hat-sw", "sw")
    assert trials.filter(trial_id="doll-Türkiye")["query_id"].to_list() == ["doll-tr"]
    assert trials.equals(trials_of(load_benchmark(f"folder:{tmp_path / 'world'}")))
    assert SCHEMA.check(trials, "x") is trials or trials.columns == list(SCHEMA.dtypes)
    assert read.relevance.counts.tolist() == [len(PLACES)] * len(read.images)


def test_countries_of_names_say_the_language_and_need_not_be_known(tmp_path):
    def countries_of(table):
        return table.with_columns(
            country=pl.col("language").replace_strict({v: k for k, v in PLACES.items()})
        )

    def moved(table):
        return table.with_columns(pl.col("country").replace("Kenya", "Atlantis"))

    trials = made(tmp_path / "a", moved, lambda table: moved(countries_of(table)))
    assert trials.filter(country="Atlantis")["language"].unique().to_list() == ["sw"]
    with pytest.raises(InputError, match=r"images\.csv: no language is known for country Atlantis; use"):
        made(tmp_path / "b", moved)

    def torn(table):
        first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("fr")).otherwise("language")
        return countries_of(table).with_columns(first.alias("language"))

    with pytest.raises(InputError, match=r"texts\.csv: 'USA' is asked in en and fr; all names"):
        made(tmp_path / "c", None, torn)


def test_no_candidate_shows_what_another_column_says_it_must_not(tmp_path):
    """Every train shows a hat as well, so that for a hat only a doll can be of the same country."""

    def shows(table):
        also = pl.when(pl.col("concept") == "train").then(pl.lit("train; hat ")).otherwise(pl.lit(None))
        more = [(f"cup-{k}", "cup", k, None) for k in PLACES]
        extra = pl.DataFrame(more, schema=["id", "concept", "country", "shows"], orient="row")
        return pl.concat([table.with_columns(shows=also), extra])

    trials = made(tmp_path / "world", shows)
    hats = trials.filter(concept="hat")
    assert len(hats) == len(PLACES)
    for role in ("cultural_id", "nonrelevant_id"):
        assert not hats[role].str.starts_with("train").any()
    assert {name.split("-")[0] for name in hats["cultural_id"]} <= {"doll", "cup"}


def column(name, rows):
    """Put values into some rows of a column."""
    return lambda table: table.with_columns(
        pl.Series(name, [rows.get(row, value) for row, value in enumerate(table[name])])
    )


@pytest.mark.parametrize(
    ("images", "texts", "said"),
    [
        (column("country", {2: None}), None, r"images\.csv: column 'country', row 3: image 'hat-T"),
        (column("concept", {0: " "}), None, r"images\.csv: column 'concept', row 1: image 'hat-USA' has"),
        (column("country", {0: "N/A"}), None, r"images\.csv, 'country': 'N/A' \(1\) looks like a missing"),
        (column("concept", {0: "Hat"}), None, r"'concept': spells one label in two ways: 'Hat' \(1"),
        (column("country", dict.fromkeys(range(12), "USA")), None, "'country' holds 'USA' alone; no trial"),
        (column("concept", dict.fromkeys(range(12), "hat")), None, "'concept' holds 'hat' alone; no trial"),
        (None, lambda table: table.drop("concept").with_columns(image_id=pl.lit("hat-USA")),
         r"has no trials of association; .* \(texts have no 'concept'\)"),
        (lambda table: table.drop("country"), None, r"no trials .* \(images have no 'country'\)"),
        (None, column("language", {1: "en"}), r"texts 'hat-en' and 'hat-sw' both name 'hat' for USA"),
        (None, column("language", dict.fromkeys(range(12), "tlh")), "no text names the concept"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_by_file_and_row(tmp_path, images, texts, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path / "world", images, texts)


def test_a_concept_of_one_country_and_a_name_that_is_missing_are_said_with_counts(tmp_path, caplog):
    def images(table):
        return table.filter((pl.col("concept") != "train") | (pl.col("country") == "USA")).vstack(
            pl.DataFrame({"id": ["cup-a", "cup-b"], "concept": ["cup"] * 2, "country": ["Italy", "Kenya"]})
        )

    trials = made(tmp_path / "world", images)
    assert set(trials["concept"]) == {"hat", "doll"}
    said = [message.partition("images.csv: ")[2] for message in caplog.messages]
    assert said == [
        "1 of 11 images have no trial of their own: no image of another country shows the concept (as "
        "'train-USA': train, USA)",
        "2 of 11 images have no trial of their own: no text names the concept in the language of the country "
        "(as 'cup-a': cup, Italy)",
    ]


def test_the_embedded_images_in_a_folder_have_the_embedded_trials(tmp_path):
    """The drawings of some concepts, with their names for each country, and as a folder: the same trials."""
    whole = load_benchmark("pictograms-culture")
    chosen = whole.images.table["concept"].unique(maintain_order=True).head(5).implode()
    images = whole.images.table.filter(pl.col("concept").is_in(chosen))
    texts = whole.texts.table.filter(pl.col("concept").is_in(chosen))
    (tmp_path / "own").mkdir()
    images.write_parquet(tmp_path / "own" / "images.parquet")
    texts.write_csv(tmp_path / "own" / "texts.csv")
    read = load_benchmark(f"folder:{tmp_path / 'own'}")
    assert trials_of(read).equals(make_trials(Items("image", images), Items("text", texts)))
    run = api.audit("pictogram:aligned", read, ["association"], tmp_path / "run", cache=False)
    assert run.estimates.one("M_sem", direction="text-to-image").n == 80 == len(countries()) * 5
    assert run.verdicts[0].finding in {"fair", "unclear", "biased"}


def test_few_languages_are_said_before_anything_is_encoded(tmp_path, caplog):
    name = write_culture(tmp_path / "world")
    assert planning.power(name, ["association"])["n"].unique().to_list() == [12]
    with pytest.raises(InputError):  # there are no pictures
        api.audit("pictogram:aligned", name, ["association"], tmp_path / "run", cache=False)
    assert any(
        "12 trials are in 4 of the 6 languages that a verdict takes" in text for text in caplog.messages
    )
