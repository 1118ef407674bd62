import polars as pl
import pytest

from equiview.audits.knowledge.ask import shipped_prompts
from equiview.audits.knowledge.reading import read_answer
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.pictograms import drawings
from equiview.data.languages import languages


@pytest.fixture(scope="module")
def quiz() -> Benchmark:
    return load_benchmark("pictograms-quiz")


def test_it_asks_330_questions_in_15_languages(quiz: Benchmark) -> None:
    questions = quiz.tables["questions"]
    assert quiz.counts == {"images": 330, "questions": 4950}
    assert questions["language"].n_unique() == 15
    tiers = languages().filter(pl.col("code").is_in(questions["language"].unique().to_list()))["tier"]
    assert tiers.value_counts().sort("count")["count"].to_list() == [3, 5, 7]
    assert quiz.fingerprint == load_benchmark("pictograms-quiz").fingerprint


def test_regions_and_places_of_the_truth_are_balanced(quiz: Benchmark) -> None:
    english = quiz.tables["questions"].filter(language="en")
    assert set(english["region"]) == {
        "en", "de", "zh", "ja", "es", "fr", "pt", "ar", "th", "hi", "sw",
    }  # fmt: skip
    assert set(english["region"].value_counts()["count"]) == {30}
    assert english["truth"].value_counts()["count"].max() == 83
    assert english["truth"].value_counts()["count"].min() == 82


def test_no_language_calls_two_options_the_same(quiz: Benchmark) -> None:
    lowered = quiz.tables["questions"]["options"].list.eval(pl.element().str.to_lowercase())
    assert lowered.list.n_unique().min() == 4


def test_options_look_alike_and_the_truth_is_what_is_drawn(quiz: Benchmark) -> None:
    english = quiz.tables["questions"].filter(language="en")
    shown = dict(quiz.images.table.select("id", "concept").iter_rows())
    named = [row["options"][row["truth"]] == shown[row["image_id"]] for row in english.iter_rows(named=True)]
    assert all(named)
    groups = dict(quiz.images.table.select("id", "group").iter_rows())
    assert set(groups.values()) <= set(drawings()["group"])


def test_a_drawing_bears_the_flag_of_its_region(quiz: Benchmark) -> None:
    image = quiz.images.pictures([quiz.images.ids.to_list().index(quiz.images.ids[0])])[0]
    plain, badge = image.getpixel((2, 2)), image.getpixel((image.width - 8, image.height - 8))
    assert plain == (255, 255, 255)
    assert badge != plain


def test_an_option_is_read_as_the_option_that_it_is(quiz: Benchmark) -> None:
    for options in quiz.tables["questions"]["options"].to_list():
        assert [read_answer(option, options)[0] for option in options] == [0, 1, 2, 3]


def test_there_is_a_prompt_in_each_of_its_languages(quiz: Benchmark) -> None:
    assert set(quiz.tables["questions"]["language"]) <= set(shipped_prompts()["direct"])
