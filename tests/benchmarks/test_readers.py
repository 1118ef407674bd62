"""Readers of published data sets: what each makes of a small copy in the true layout."""

import json
from pathlib import Path

import pytest

from equiview.benchmarks import BENCHMARKS, load_benchmark
from equiview.benchmarks.flickr30k import PHRASES
from equiview.benchmarks.landmarks import LANDMARKS, NAMES
from equiview.benchmarks.objects import CLASSES, MASKED
from equiview.benchmarks.phase import PEOPLE
from equiview.benchmarks.release import release_of
from equiview.benchmarks.trials import SCHEMA as TRIALS
from equiview.benchmarks.vqav2 import ANSWERS, QUESTIONS
from equiview.benchmarks.xm3600 import TRANSLATED_BY
from equiview.errors import InputError
from equiview.ours.benchmarks import SOURCES
from tests.benchmarks import layouts
from tests.benchmarks.layouts import LAYOUTS
from tests.test_docs import table_of

NO_PICTURES = {"knowrecall", "multi30k"}
NO_TEXTS = {"fairface", "knowrecall", "visrecall", "vqav2"}


@pytest.fixture
def copy(tmp_path):
    def make(name):
        place = tmp_path / name
        LAYOUTS[name](place)
        return place

    return make


def test_every_release_has_a_reader_and_a_layout():
    readers = set(BENCHMARKS.all())
    assert set(LAYOUTS) <= set(SOURCES) <= readers
    assert set(SOURCES) - set(LAYOUTS) <= {"3xcm"}, (
        "every reader but that of trials is tried on a layout here"
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_copy_is_read_whole(copy, name):
    place = copy(name)
    read = load_benchmark(f"{name}:{place}")
    assert read.source.startswith("https://")
    assert read.licence
    assert str(len(read.images)) in read.about
    assert ("path" in read.images.table.columns) == (name not in NO_PICTURES)
    if name not in NO_PICTURES:
        assert {picture.size for picture in read.images.pictures()} == {(2, 2)}
    if name in NO_TEXTS:
        assert read.texts is read.relevance is None
    else:
        assert (read.relevance.counts > 0).all()
    assert set(read.tables) <= set(read.schemas)
    assert read.fingerprint == load_benchmark(f"{name}:{place}").fingerprint
    ready, where = release_of(name).ready(str(place))
    assert (ready, where) == (True, str(place))


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_same_data_elsewhere_is_the_same_benchmark(tmp_path, name):
    prints = set()
    for place in (tmp_path / "here", tmp_path / "there"):
        LAYOUTS[name](place)
        prints.add(load_benchmark(f"{name}:{place}").fingerprint)
    assert len(prints) == 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_missing_is_said_with_where_to_get_it(tmp_path, monkeypatch, name):
    monkeypatch.delenv("EQUIVIEW_DATA", raising=False)
    release = release_of(name)
    for argument in ("", str(tmp_path / "absent"), str(tmp_path)):
        with pytest.raises(InputError) as caught:
            load_benchmark(f"{name}:{argument}")
        assert release.source in str(caught.value)
        assert release.licence in str(caught.value)
        ready, why = release.ready(argument)
        assert (ready, why) == (False, str(caught.value))


def test_a_folder_for_all_data_sets_is_looked_in(tmp_path, monkeypatch):
    layouts.xtd(tmp_path / "xtd")
    monkeypatch.setenv("EQUIVIEW_DATA", str(tmp_path))
    assert release_of("xtd").ready() == (True, str(tmp_path / "xtd"))
    assert len(load_benchmark("xtd").images) == 2
    assert not release_of("xm3600").ready()[0]


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - NO_PICTURES))
def test_without_any_picture_there_are_no_paths_and_with_some_the_first_missing_is_named(copy, name):
    place = copy(name)
    first, *others = map(Path, load_benchmark(f"{name}:{place}").images.table["path"])
    first.unlink()
    with pytest.raises(InputError, match=r"no such picture, but .* names it \(1 of \d+ are missing\)"):
        load_benchmark(f"{name}:{place}")
    for path in others:
        path.unlink()
    assert "path" not in load_benchmark(f"{name}:{place}").images.table.columns


def test_xm3600_pools_all_captions_of_all_languages(copy):
    read = load_benchmark(f"xm3600:{copy('xm3600')}")
    assert len(read.texts) == 12
    assert read.images.table["locale"].to_list() == ["fr", "sw"]
    assert read.texts.table.row(3) == ("00aa-fr-2", "fr 1 of 00aa", "fr", "00aa", 2)
    assert read.relevance.counts.tolist() == [6, 6]
    assert read.about == "2 images, 12 captions in 3 languages, a part of the release"


def test_xm3600_reads_the_older_code_of_hebrew_and_leaves_blanks_out(tmp_path):
    captions = {"iw": {"caption": ["one", " ", "three"]}, "xx": {"caption": ["not a language"]}}
    layouts.lines(tmp_path / "captions.jsonl", {"image/key": "k", "image/locale": "iw", **captions})
    read = load_benchmark(f"xm3600:{tmp_path}")
    assert read.texts.ids.to_list() == ["k-he-1", "k-he-3"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["{"], "line 1: is not JSON"),
        (["[]"], "line 1: holds a list"),
        ([{"image/key": "k", "image/locale": "en"}], "line 1: has captions in none"),
        ([{"image/locale": "en", "en": {"caption": ["a"]}}], "line 1: field 'image/key' is missing"),
        ([{"image/key": "k", "image/locale": "en", "en": {}}], "line 1, en: field 'caption' is missing"),
        ([{"image/key": "k", "image/locale": "en", "en": {"caption": ["a"]}}] * 2, "2: image 'k' is rep"),
        ([{"image/key": "k", "image/locale": "en", "en": {"caption": ["a\ud800"]}}], "1: a text holds half"),
        ([{"image/key": "k", "image/locale": "en", "en": {"caption": ["a", "b"], TRANSLATED_BY: ["m"]}}],
         f"1, en: 2 captions, but {TRANSLATED_BY} names 1 models"),
    ],
)  # fmt: skip
def test_xm3600_names_the_line_that_is_wrong(tmp_path, rows, message):
    layouts.lines(tmp_path / "captions.jsonl", *rows)
    with pytest.raises(InputError, match=message):
        load_benchmark(f"xm3600:{tmp_path}")


def test_multi30k_reads_both_parts(copy):
    place = copy("multi30k")
    translation = load_benchmark(f"multi30k:{place}")
    assert translation.texts.table.filter(image_id="22", language="cs").row(0) == (
        "22-cs-1", "cs\u20281", "cs", "22", 1,
    )  # fmt: skip
    assert translation.relevance.counts.tolist() == [4, 4, 4]
    independent = load_benchmark(f"multi30k:{place},part=independent")
    assert independent.relevance.counts.tolist() == [10, 10, 10]
    assert independent.texts.table.filter(id="33-de-5")["text"].to_list() == ["de 2 5"]
    assert set(independent.images.ids) == set(translation.images.ids)


def test_multi30k_refuses_lines_that_do_not_belong_to_the_images(copy):
    place = copy("multi30k")
    layouts.lines(place / "data/task1/raw/test_2016_flickr.de.gz", "one", "two")
    with pytest.raises(InputError, match=r"flickr\.de\.gz: has 2 lines, but test_2016_flickr\.txt names 3"):
        load_benchmark(f"multi30k:{place}")
    with pytest.raises(InputError, match="no captions of split 'test_2020'"):
        load_benchmark(f"multi30k:{place},split=test_2020")
    with pytest.raises(InputError, match="part is 'both'; expected one of translation, independent"):
        load_benchmark(f"multi30k:{place},part=both")
    with pytest.raises(InputError, match="no option 'langs'; it has: part, split"):
        load_benchmark(f"multi30k:{place},langs=en")


def test_multi30k_names_a_line_that_is_not_text(copy):
    place = copy("multi30k")
    path = place / "data/task1/raw/test_2016_flickr.de"
    path.with_name("test_2016_flickr.de.gz").unlink()
    path.write_bytes(b"eins\nzw\xffei\ndrei\n")
    with pytest.raises(InputError, match=r"test_2016_flickr\.de, line 2: is not UTF-8"):
        load_benchmark(f"multi30k:{place}")
    path.rename(path.with_name("test_2016_flickr.de.gz"))
    with pytest.raises(InputError, match="cannot be read, is it cut off"):
        load_benchmark(f"multi30k:{place}")


def test_flickr30k_and_coco_read_karpathys_splits(copy):
    place = copy("flickr30k")
    assert load_benchmark(f"flickr30k:{place}").images.ids.to_list() == ["11", "22"]
    assert load_benchmark(f"flickr30k:{place},split=train").texts.ids.to_list()[-1] == "33-en-5"
    with pytest.raises(InputError, match="no image of split 'restval'"):
        load_benchmark(f"coco:{copy('coco')},split=restval")


def test_coco_says_what_is_in_the_images(copy):
    read = load_benchmark(f"coco:{copy('coco')}")
    assert read.images.ids.to_list() == ["1", "2"]
    assert read.relevance.counts.tolist() == [5, 5]
    objects = read.tables["objects"]
    assert objects.row(0) == ("1", "person", "person", 1.0, 2.0, 30.0, 40.0, 900.5, False)
    assert objects.select("object", "crowd").rows() == [("person", False), ("dog", True)]


def test_coco_reads_its_own_captions_too(copy):
    place = copy("coco")
    read = load_benchmark(f"coco:{place},split=val2014")
    assert read.relevance.counts.tolist() == [2, 2]
    assert read.texts.texts[0] == "1 0"
    (place / "dataset_coco.json").unlink()
    assert load_benchmark(f"coco:{place}").name == "coco-val2014"


def test_coco_reads_masks_on_request(copy):
    place = copy("coco")
    path = place / "annotations/instances_val2014.json"
    content = json.loads(path.read_text())
    content["annotations"][0]["segmentation"] = [[1, 2, 31, 2, 31, 42]]
    layouts.data(path, content)
    assert "segmentation" not in load_benchmark(f"coco:{place}").tables["objects"].columns
    masks = load_benchmark(f"coco:{place},masks=yes").tables["objects"]["segmentation"].to_list()
    assert masks == ["[[1,2,31,2,31,42]]", None]
    with pytest.raises(InputError, match="masks is 'maybe'; expected yes or no"):
        load_benchmark(f"coco:{place},masks=maybe")


def test_detections_stand_for_annotated_objects(copy):
    place = copy("coco")
    found = [
        {"image_id": 1, "category_id": 18, "bbox": [1, 2, 3, 4], "score": 0.9},
        {"image_id": 2, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.4},
        {"image_id": 999, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.9},
    ]
    layouts.data(place / "found.json", found)
    name = f"coco:{place},detections={place / 'found.json'}"
    assert load_benchmark(name).tables["objects"].row(0) == (
        "1",
        "dog",
        None,
        1.0,
        2.0,
        3.0,
        4.0,
        12.0,
        False,
    )
    assert load_benchmark(f"{name},score=.3").tables["objects"]["object"].to_list() == ["dog", "person"]
    for wrong, message in [
        ({"category_id": 77}, r"found\.json, detection 1: category 77 is not among"),
        ({"bbox": [1, 2, 3]}, r"detection 1: bbox \[1, 2, 3\] is not 4 numbers"),
        ({"bbox": [0.1, 0.2, 0.3, 0.4]}, r"1 of 1 boxes contradict .* a detector.s boxes are x, y, width"),
        ({"image_id": 5}, r"holds no detection with a score of 0\.5 or more in the 2 images"),
    ]:
        layouts.data(place / "found.json", [found[0] | wrong])
        with pytest.raises(InputError, match=message):
            load_benchmark(name)
    with pytest.raises(InputError, match="score is of detections"):
        load_benchmark(f"coco:{place},score=.3")


def test_detections_in_flickr30k_are_of_cocos_classes(copy):
    place = copy("flickr30k")
    found = [{"image_id": 11, "category_id": 90, "bbox": [1, 2, 3, 4], "score": 0.9}]
    layouts.data(place / "found.json", found)
    read = load_benchmark(f"flickr30k:{place},detections={place / 'found.json'}")
    assert read.tables["objects"].select("image_id", "object").rows() == [("11", "toothbrush")]
    assert [(n, name) for n, name in enumerate(CLASSES, start=1) if n in {13, 90}] == [
        (13, "stop sign"), (90, "toothbrush")
    ]  # fmt: skip
    assert len(list(filter(None, CLASSES))) == 80


def test_flickr30k_entities_says_what_is_where_and_which_words_name_it(copy):
    place = copy("flickr30k")
    layouts.entities(place, "11", "[/EN#5/people 11.jpg] [/EN#0/notvisual {n}]")
    layouts.entities(place, "22", "[/EN#5/people a word that is not there] .")
    read = load_benchmark(f"flickr30k:{place}")
    assert read.tables["objects"].row(0) == ("11", "people", None, 1.0, 2.0, 4.0, 6.0, 24.0, False)
    assert len(read.tables["objects"]) == 2
    assert read.tables["phrases"].rows() == [(f"11-en-{n}", 0, 6, "people") for n in range(1, 6)]
    assert read.about.endswith("2 objects, 5 phrases that name them; 5 more are not in their caption")
    (place / "Annotations/22.xml").write_text("<annotation>")
    with pytest.raises(InputError, match=r"22\.xml: is not XML, is it cut off"):
        load_benchmark(f"flickr30k:{place}")
    (place / "Sentences/22.txt").write_text("one\n")
    with pytest.raises(InputError, match=r"22\.txt: has 1 sentences, but there are 5 captions"):
        load_benchmark(f"flickr30k:{place}")


def test_a_file_that_is_cut_off_says_so(copy):
    place = copy("flickr30k")
    path = place / "dataset_flickr30k.json"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(InputError, match=r"dataset_flickr30k\.json: is not JSON, is it cut off"):
        load_benchmark(f"flickr30k:{place}")


def test_xtd_and_xflickrco_line_up_languages(copy):
    xtd = load_benchmark(f"xtd:{copy('xtd')}")
    assert sorted(xtd.texts.table["language"].unique()) == ["en", "es", "ja"]
    assert xtd.relevance.counts.tolist() == [3, 3]
    shared = load_benchmark(f"xflickrco:{copy('xflickrco')}")
    assert shared.texts.ids.to_list() == ["11-de-1", "7-de-1", "11-zh-1", "7-zh-1"]


def test_fairface_has_labels_and_no_texts(copy):
    read = load_benchmark(f"fairface:{copy('fairface')}")
    with pytest.raises(InputError, match="benchmark 'fairface-val' has no texts, which this audit needs"):
        read.need_texts()
    assert read.images.table.drop("path").rows() == [
        ("val/1", "3-9", "male", "East Asian"),
        ("val/2", "more than 70", "female", "Latino_Hispanic"),
    ]
    with pytest.raises(InputError, match="get FairFace"):
        load_benchmark(f"fairface:{copy('fairface')},split=train")


def test_both_splits_of_fairface_are_one_gallery(copy):
    """Faces of both have the same numbers; labels of older copies have no column of their own for them."""
    place = copy("fairface")
    (place / "fairface_label_train.csv").write_text(
        "file,age,gender,race\ntrain/1.jpg,20-29,Female,Black\n", "utf-8"
    )
    (place / "train").mkdir()
    (place / "train/1.jpg").write_bytes((place / "val/1.jpg").read_bytes())
    read = load_benchmark(f"fairface:{place},split=all")
    assert read.name == "fairface-all"
    assert read.images.table.drop("path").rows() == [
        ("train/1", "20-29", "female", "Black", "train"),
        ("val/1", "3-9", "male", "East Asian", "val"),
        ("val/2", "more than 70", "female", "Latino_Hispanic", "val"),
    ]
    assert read.images.table["path"][0].endswith("train/1.jpg")


def test_phase_describes_people_and_what_those_of_an_image_share(copy):
    place = copy("phase")
    read = load_benchmark(f"phase:{place}")
    assert read.images.table["gender"].to_list() == ["mixed", "female"]
    assert read.images.table["skintone"].to_list() == ["lighter", "lighter"]
    people = read.tables["people"]
    assert people.row(1)[:6] == ("101", "person1", 5.0, 6.0, 7.0, 8.0)
    assert people["gender"].to_list() == ["male", "female", "female"]
    path = place / "phase_gcc_val_regions_20221101.json"
    content = json.loads(path.read_text())
    content["101"]["person0"]["region"] = "[1,2,3]"
    layouts.data(path, content)
    with pytest.raises(InputError, match=r"image '101', person0: region \[1, 2, 3\] is not 4 numbers"):
        load_benchmark(f"phase:{place}")


def test_coco_people_joins_annotations_with_captions(copy):
    place = copy("coco-people")
    read = load_benchmark(f"coco-people:{place}")
    assert read.images.table.drop("path").rows() == [
        ("1", "male", "light"), ("2", "unsure", "both"), ("3", None, None),
    ]  # fmt: skip
    assert read.relevance.counts.tolist() == [2, 2, 2]
    assert load_benchmark(f"coco-people:{place},split=train").images.ids.to_list() == ["1"]
    (place / "annotations/captions_val2014.json").unlink()
    assert load_benchmark(f"coco-people:{place}").counts == {"images": 3, "objects": 2}


@pytest.mark.parametrize("name", ["vqav2", "coco"])
def test_people_of_cocos_images_meet_other_benchmarks_by_number(copy, name):
    split = "" if name == "vqav2" else ",split=val2014"
    read = load_benchmark(f"{name}:{copy(name)}{split},people={copy('coco-people')}")
    table = read.images.table
    of_image = dict(table.select("id", "gender").iter_rows())
    assert (of_image["1"], of_image["2"]) == ("male", "unsure")
    assert table.filter(id="1")["skin"].item() == "light"
    assert set(of_image.values()) <= {"male", "unsure", None}


def test_people_who_are_not_there_are_said(copy):
    vqa = copy("vqav2")
    with pytest.raises(InputError, match="no such folder"):
        load_benchmark(f"vqav2:{vqa},people=nowhere")
    place = copy("coco-people")
    (place / "images_val2014.csv").write_text("id,bb_skin,bb_gender\n999,Light,Male\n")
    with pytest.raises(InputError, match="labels none of the 2 images"):
        load_benchmark(f"vqav2:{vqa},people={place}")


def test_vqav2_has_questions_and_ten_answers_each(copy):
    place = copy("vqav2")
    read = load_benchmark(f"vqav2:{place}")
    questions, answers = read.tables["questions"], read.tables["answers"]
    assert questions.row(2) == ("2000", "2", "what is 2000?", "en", "what is", "other", "dog")
    assert answers.group_by("question_id").len()["len"].to_list() == [10, 10, 10]
    asked = place / "v2_OpenEnded_mscoco_val2014_questions.json"
    content = json.loads(asked.read_text())
    layouts.data(asked, {"questions": content["questions"] + content["questions"][:1]})
    with pytest.raises(
        InputError, match=r"'vqav2-val2014', table 'questions': .* repeats '1000' in rows 1 and 4"
    ):
        load_benchmark(f"vqav2:{place}")
    layouts.data(asked, content)
    path = place / "v2_mscoco_val2014_annotations.json"
    content = json.loads(path.read_text())
    layouts.data(path, {"annotations": content["annotations"][:2]})
    with pytest.raises(InputError, match=r"nothing of '2000' \(1 of 3 questions of .* are missing\)"):
        load_benchmark(f"vqav2:{place}")
    path.unlink()
    with pytest.raises(InputError, match=r"holds no v2_mscoco_val2014_annotations\.json"):
        load_benchmark(f"vqav2:{place}")


def test_the_page_of_benchmarks_says_of_each_where_to_get_it():
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    rows = {
        line.split("`")[1].partition(":")[0]: line for line in page.splitlines() if line.startswith("| `")
    }
    for name in SOURCES:
        release = release_of(name)
        assert f"<{release.source}>" in rows[name]
        assert rows[name].endswith(f"| {release.licence} |")


def test_the_page_of_benchmarks_has_the_columns_of_every_table():
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    for schema in (TRIALS, MASKED, PHRASES, PEOPLE, QUESTIONS, ANSWERS, LANDMARKS, NAMES):
        assert f"<!-- schema: {schema.name} -->\n{table_of(schema)}\n" in page
