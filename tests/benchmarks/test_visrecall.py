"""VisRecall in its released layout: landmarks, their names, and what is wrong with lists of them."""

import json

import pytest

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.benchmarks import layouts

LANDMARK = {"landmark_id": 1, "domestic_language_code": "de", "wikipedia_en": "Blue_Tower"}


@pytest.fixture
def place(tmp_path):
    layouts.visrecall(tmp_path)
    return tmp_path


def read(place, options=""):
    return load_benchmark(f"visrecall:{place}{options}")


def write(place, landmarks=None, pictures=None):
    if landmarks is not None:
        layouts.data(place / "landmark_list.json", landmarks)
    if pictures is not None:
        layouts.data(place / "image_list.json", pictures)


def test_landmarks_names_and_pictures_are_read(place):
    loaded = read(place)
    assert loaded.images.ids.to_list() == ["1/a.jpg", "1/b.jpg", "2/a.jpg"]
    assert loaded.images.attribute("landmark_id").to_list() == ["1", "1", "2"]
    assert loaded.tables["landmarks"].rows() == [("1", "de"), ("2", "en")]
    assert loaded.tables["names"].rows()[:2] == [("1", "en", "Blue Tower"), ("1", "de", "Blauer Turm")]
    assert loaded.about == "3 images of 2 landmarks, 2 languages"


def test_a_landmark_has_as_many_pictures_as_asked_for(place):
    assert read(place, ",images=1").images.ids.to_list() == ["1/a.jpg", "2/a.jpg"]
    with pytest.raises(InputError, match="images is '0'; expected a whole number from 1"):
        read(place, ",images=0")


def test_twenty_pictures_are_read_by_default(place):
    names = [f"{number}.jpg" for number in range(25)]
    write(place, pictures={"1": names})
    for name in names:
        layouts.picture(place / "images/1" / name)
    assert len(read(place).images) == 20


def test_what_is_missing_is_counted(place):
    write(place, [{**LANDMARK, "wikipedia_de": ""}, {**LANDMARK, "landmark_id": "3"}])
    with pytest.raises(
        InputError, match=r"nothing of '2' \(1 of 2 landmarks of image_list.json are missing\)"
    ):
        read(place)
    loaded = read(place, ",unmatched=0.5")
    assert loaded.tables["landmarks"]["landmark_id"].to_list() == ["1"]
    assert loaded.about == (
        "2 images of 1 landmarks, 1 languages; 1 landmarks without pictures are left out; "
        "1 titles are missing; 1 landmarks with pictures are not in the list"
    )


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        ({}, "holds no list of landmarks"),
        ([], "holds no list of landmarks"),
        ([1], "landmark 1: is a number; expected an object with field 'landmark_id'"),
        ([{"landmark_id": 1}], "landmark 1: field 'domestic_language_code' is missing"),
        ([LANDMARK, LANDMARK], "landmark 2: landmark_id '1' is there twice"),
        ([{**LANDMARK, "landmark_id": "a:b"}], "landmark_id 'a:b' must not be empty nor hold ':' or '/'"),
        ([{**LANDMARK, "domestic_language_code": "xx"}], "landmark 1: 'xx' is no language that is known"),
        ([{**LANDMARK, "wikipedia_qq": "x"}], "landmark 1: 'qq' is no language that is known"),
        (
            [{**LANDMARK, "wikipedia_he": "x", "wikipedia_iw": "y"}],
            "landmark 1: has two titles in language 'he'",
        ),
        ([{**LANDMARK, "wikipedia_en": 5}], "landmark 1: field 'wikipedia_en' is a number; expected a text"),
        ([{**LANDMARK, "wikipedia_en": "_ "}], "landmark 1: has no title in any language"),
    ],
)
def test_a_wrong_list_of_landmarks_is_named_with_its_entry(place, landmarks, message):
    write(place, landmarks)
    with pytest.raises(InputError) as caught:
        read(place)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(place / "landmark_list.json"))


@pytest.mark.parametrize(
    ("pictures", "message"),
    [
        ([], "holds no object"),
        ({}, "has no picture of any landmark"),
        ({"1": []}, "has no picture of any landmark"),
        ({"1": "a.jpg"}, "landmark '1': expected a list of names of files"),
        ({"1": ["a.jpg", 2]}, "landmark '1': expected a list of names of files"),
        ({"1": ["a.jpg", "a.jpg"]}, "landmark '1': names 'a.jpg' 2 times"),
        ({"1": ["a.jpg", "gone.jpg"]}, "image_list.json names it (1 of 2 are missing)"),
    ],
)
def test_a_wrong_list_of_pictures_is_named(place, pictures, message):
    write(place, pictures=pictures)
    with pytest.raises(InputError) as caught:
        read(place)
    assert message in str(caught.value)


def test_a_list_that_is_cut_off_is_named(place):
    path = place / "landmark_list.json"
    path.write_text(json.dumps([LANDMARK])[:-4])
    with pytest.raises(InputError, match="is not JSON, is it cut off"):
        read(place)


@pytest.mark.parametrize("name", ["../../../outside.png", "a/../../../outside.png", "..\\o.png"])
def test_a_picture_outside_the_folder_is_refused(place, name):
    write(place, pictures={"1": [name], "2": ["a.jpg"]})
    with pytest.raises(InputError, match="lies outside the folder"):
        read(place)


@pytest.mark.parametrize("region", ["DE", "de-DE", "deu", "ger", "German", "Deutsch", "de-CH"])
def test_a_region_and_a_title_may_name_their_language_otherwise(place, region):
    before = read(place).tables
    landmarks = json.loads((place / "landmark_list.json").read_text())
    landmarks[0]["domestic_language_code"] = region
    landmarks[0]["wikipedia_" + region] = landmarks[0].pop("wikipedia_de")
    write(place, landmarks=landmarks)
    after = read(place).tables
    assert all(before[name].equals(after[name]) for name in before)


@pytest.mark.parametrize("region", ["CA", "JP", "France", "nan", "-", ""])
def test_a_region_that_is_no_language_or_may_be_a_country_is_refused(place, region):
    write(place, landmarks=[LANDMARK | {"domestic_language_code": region}])
    with pytest.raises(InputError, match=rf"landmark 1: {region!r}"):
        read(place)
