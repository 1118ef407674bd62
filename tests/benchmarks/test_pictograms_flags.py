import pytest

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.base import embedded, having
from equiview.benchmarks.landmarks import LANDMARKS, NAMES
from equiview.benchmarks.pictograms import flags as sixteen
from equiview.benchmarks.pictograms_flags import ASKED
from equiview.benchmarks.quiz import QUESTIONS
from equiview.benchmarks.removals import MENTIONS, REMOVALS
from equiview.benchmarks.vocabulary import in_english, language_of, said, spoken_languages
from equiview.data.countries import languages_of


@pytest.fixture(scope="module")
def flags():
    return load_benchmark("pictograms-flags")


def test_each_flag_is_named_in_15_languages_and_asked_about_in_each(flags):
    assert flags.counts == {"images": 241, "landmarks": 241, "names": 3615, "appearance_prompts": 15}
    names = flags.tables["names"]
    assert names.group_by("landmark_id").len()["len"].unique().to_list() == [15]
    assert set(names["language"]) == set(ASKED)
    assert not names["name"].str.strip_chars().eq("").any()


def test_its_region_is_the_language_of_the_place(flags):
    landmarks = flags.tables["landmarks"]
    wanted = languages_of(landmarks["landmark_id"], "flags")
    assert landmarks["region"].to_list() == wanted.to_list()


def test_it_looks_as_the_flags_that_came_before_it(flags):
    kenya = flags.images.pictures([flags.images.ids.to_list().index("KE")])[0]
    assert kenya.size == (96, 72)
    black, red, green = (kenya.getpixel((4, row)) for row in (6, 36, 66))
    assert max(black) < 40
    assert red[0] > 150 > max(red[1:])
    assert green[1] > 80 > green[0]
    assert len(sixteen()) == 16


def test_the_benchmark_that_has_what_an_audit_needs_is_found():
    assert having(LANDMARKS) == having(NAMES) == "pictograms-flags"
    assert having(QUESTIONS) == "pictograms-quiz"
    assert having(REMOVALS) == having(MENTIONS) == "scenes"


def test_what_comes_with_equiview_needs_no_argument():
    assert list(embedded()) == [
        "pictograms",
        "pictograms-culture",
        "pictograms-flags",
        "pictograms-people",
        "pictograms-quiz",
        "pictograms-roles",
        "scenes",
    ]


@pytest.mark.parametrize("language", ["de", "hi", "quz", "zh"])
def test_what_is_said_can_be_read_again(language):
    concepts = ["1f355", "1f98a", "1f6cf"]
    text = said(concepts, language)
    assert language_of(text) == language
    assert in_english(text, language) == said(concepts, "en") == "pizza; fox; bed"


def test_other_texts_are_in_no_language_and_stay_as_they_are():
    assert language_of("A tall tower of iron.") is None
    assert language_of("") is None
    assert in_english("Ein hoher Turm; Fuchs", "de") == "Ein hoher Turm; fox"
    assert len(spoken_languages()) == 36
