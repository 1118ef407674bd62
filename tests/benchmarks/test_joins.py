"""Readers that join two files: ids are told apart from their spelling, and what finds no partner is said."""

import json

import pytest

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.benchmarks import layouts


def edited(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def respelled(spell):
    def change(content):
        for entry in content["annotations"][::2]:
            entry["image_id"] = spell(entry["image_id"])

    return change


SPELLINGS = [float, lambda number: f"{number:012d}", lambda number: f"{number}.0"]


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("file", ["captions", "instances"])
@pytest.mark.parametrize("name", ["coco", "coco-people"])
def test_a_number_is_one_image_however_it_is_written(tmp_path, spell, file, name):
    (layouts.coco if name == "coco" else layouts.coco_people)(tmp_path)
    argument = f"{name}:{tmp_path}" + (",split=val2014" if name == "coco" else "")
    before = load_benchmark(argument)
    edited(tmp_path / f"annotations/{file}_val2014.json", respelled(spell))
    assert load_benchmark(argument).fingerprint == before.fingerprint


@pytest.mark.parametrize("file", ["captions", "instances"])
def test_an_annotation_without_its_image_is_refused(tmp_path, file):
    layouts.coco(tmp_path)
    edited(
        tmp_path / f"annotations/{file}_val2014.json",
        lambda content: content["annotations"][0].pop("image_id"),
    )
    with pytest.raises(InputError, match="annotation 1: field 'image_id' is missing"):
        load_benchmark(f"coco:{tmp_path},split=val2014")


def test_images_that_the_other_file_lacks_are_counted_and_refused_above_a_share(tmp_path):
    layouts.coco(tmp_path)
    edited(tmp_path / "annotations/instances_val2014.json", lambda content: content["images"].pop(1))
    with pytest.raises(
        InputError, match=r"nothing of '2' \(1 of 2 images are missing\).*unmatched=0.5 or more"
    ):
        load_benchmark(f"coco:{tmp_path},split=val2014")
    assert len(load_benchmark(f"coco:{tmp_path},split=val2014,unmatched=0.5").images) == 2


def test_annotations_of_images_that_their_file_lacks_are_refused(tmp_path):
    layouts.coco(tmp_path)
    edited(tmp_path / "annotations/instances_val2014.json", lambda content: content["images"].pop())
    with pytest.raises(InputError, match=r"nothing of '999' \(1 of 3 images of annotations are missing\)"):
        load_benchmark(f"coco:{tmp_path},split=val2014")


def test_annotations_of_a_file_that_lists_no_image_are_of_the_images_of_captions(tmp_path):
    layouts.coco(tmp_path)
    edited(tmp_path / "annotations/instances_val2014.json", lambda content: content.pop("images"))
    with pytest.raises(InputError, match=r"nothing of '999' \(1 of 3 images of annotations are missing\)"):
        load_benchmark(f"coco:{tmp_path},split=val2014")
    assert len(load_benchmark(f"coco:{tmp_path},split=val2014,unmatched=0.4").tables["objects"]) == 2


def test_people_without_captions_are_refused(tmp_path):
    layouts.coco_people(tmp_path)
    with (tmp_path / "images_val2014.csv").open("a") as stream:
        stream.write("77,[nan],[0.1],,,val\n")
    (tmp_path / "val2014/COCO_val2014_000000000077.jpg").write_bytes(
        (tmp_path / "val2014/COCO_val2014_000000000001.jpg").read_bytes()
    )
    with pytest.raises(InputError, match=r"nothing of '77' \(1 of 4 images"):
        load_benchmark(f"coco-people:{tmp_path}")


def test_one_number_in_two_spellings_is_no_two_people(tmp_path):
    layouts.coco_people(tmp_path)
    with (tmp_path / "images_val2014.csv").open("a") as stream:
        stream.write("001,[nan],[0.1],,,val\n")
    with pytest.raises(InputError, match="repeats '1' in rows 1 and 4"):
        load_benchmark(f"coco-people:{tmp_path}")


@pytest.mark.parametrize(
    ("name", "said"), [("dog", "number 1 is of 'dog' and of 'person'"), ("", "field 'name' is empty")]
)
def test_a_class_has_one_name(tmp_path, name, said):
    layouts.coco(tmp_path)
    number = 1 if name else 3
    edited(
        tmp_path / "annotations/instances_val2014.json",
        lambda content: content["categories"].append({"id": number, "name": name}),
    )
    with pytest.raises(InputError, match=said):
        load_benchmark(f"coco:{tmp_path},split=val2014")


def test_answers_are_of_the_image_of_their_question(tmp_path):
    layouts.vqav2(tmp_path)
    before = load_benchmark(f"vqav2:{tmp_path}").fingerprint
    path = tmp_path / "v2_mscoco_val2014_annotations.json"
    edited(path, lambda content: content["annotations"].reverse())
    assert load_benchmark(f"vqav2:{tmp_path}").fingerprint == before
    edited(path, lambda content: content["annotations"][0].update(image_id=1))
    with pytest.raises(InputError, match="question 2000: image_id is 1, but '2' in"):
        load_benchmark(f"vqav2:{tmp_path}")


def test_two_faces_of_one_name_are_refused(tmp_path):
    layouts.fairface(tmp_path)
    layouts.picture(tmp_path / "val/1.png")
    with (tmp_path / "fairface_label_val.csv").open("a") as stream:
        stream.write("val/1.png,3-9,Male,White,False\n")
    with pytest.raises(InputError, match=r"names 'val/1.jpg' and 'val/1.png', which would be one image"):
        load_benchmark(f"fairface:{tmp_path}")


def test_questions_without_answers_are_read_where_the_user_says_so(tmp_path, caplog):
    layouts.vqav2(tmp_path)
    path = tmp_path / "v2_mscoco_val2014_annotations.json"
    edited(path, lambda content: content["annotations"][0].update(question_id=7))
    with pytest.raises(InputError, match=r"nothing of '1000' \(1 of 3 questions"):
        load_benchmark(f"vqav2:{tmp_path}")
    read = load_benchmark(f"vqav2:{tmp_path},unmatched=0.4")
    assert read.tables["questions"]["answer"].to_list() == [None, "dog", "dog"]
    assert "annotates 1 questions that are not in" in caplog.text


def test_people_are_joined_with_numbers_of_coco_alone(tmp_path, caplog):
    layouts.coco(tmp_path / "coco")
    layouts.coco_people(tmp_path / "people")
    people = f"split=test,people={tmp_path / 'people'}"
    assert load_benchmark(f"coco:{tmp_path / 'coco'},{people}").images.attribute("gender")[0] == "male"
    assert "labels 2 of the 2 images, and 1 others" in caplog.text
    layouts.coco_annotations(tmp_path / "coco", "removed", [1, 2])
    with pytest.raises(InputError, match="leave it out with split=removed"):
        load_benchmark(f"coco:{tmp_path / 'coco'},split=removed,people={tmp_path / 'people'}")
    edited(tmp_path / "coco/dataset_coco.json", lambda content: content["images"][1].pop("cocoid"))
    (tmp_path / "coco/annotations/instances_val2014.json").unlink()
    with pytest.raises(InputError, match="is not named by its number in COCO"):
        load_benchmark(f"coco:{tmp_path / 'coco'},{people}")


def test_a_landmark_is_one_however_its_number_is_written(tmp_path):
    layouts.visrecall(tmp_path)
    before = load_benchmark(f"visrecall:{tmp_path}").fingerprint
    path = tmp_path / "landmark_list.json"
    for number in ("01", 1.0, "1.0"):
        content = json.loads(path.read_text())
        content[0]["landmark_id"] = number
        layouts.data(path, content)
        assert load_benchmark(f"visrecall:{tmp_path}").fingerprint == before
    edited(tmp_path / "image_list.json", lambda content: content.update({"02": ["a.jpg"]}))
    with pytest.raises(InputError, match="'2' is there twice"):
        load_benchmark(f"visrecall:{tmp_path}")


def test_of_two_files_that_could_be_a_picture_neither_is_taken(tmp_path):
    layouts.phase(tmp_path)
    layouts.picture(tmp_path / "phase_images/train/101.jpg")
    layouts.text(tmp_path / "phase_images/val/101.json", "{}")
    paths = load_benchmark(f"phase:{tmp_path}").images.table["path"]
    assert paths[0].endswith("phase_images/val/101.png")
    layouts.picture(tmp_path / "phase_images/val/101.jpg")
    with pytest.raises(InputError, match=r"the picture of '101' could also be .*101\.jpg; keep one"):
        load_benchmark(f"phase:{tmp_path}")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"id": "11", "img_path": "12.jpg"}, "the picture of '11' is '12.jpg', but '11.jpg' in"),
        ({"id": "011", "img_path": "11.jpg"}, "'11.jpg' is the picture of '011' and of '11'"),
    ],
)
def test_languages_agree_which_picture_an_image_is(tmp_path, entry, said):
    layouts.xflickrco(tmp_path)
    layouts.lines(tmp_path / "annotations/zh/test.jsonl", {"sentences": ["zh a"], **entry})
    with pytest.raises(InputError, match=said):
        load_benchmark(f"xflickrco:{tmp_path}")


def test_a_language_without_some_images_is_said(tmp_path, caplog):
    layouts.xflickrco(tmp_path)
    path = tmp_path / "annotations/zh/test.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert len(load_benchmark(f"xflickrco:{tmp_path}").images) == 2
    assert "has captions of 1 of the 2 images" in caplog.text


def test_how_many_images_have_no_text_objects_or_judgement_is_said(tmp_path, caplog):
    layouts.coco(tmp_path)
    place = f"coco:{tmp_path},split=val2014"
    path = tmp_path / "annotations/captions_val2014.json"
    edited(path, lambda content: content["images"].append({"id": 999, "file_name": "none.jpg"}))
    for file in (tmp_path / "val2014").iterdir():
        file.unlink()
    found = [{"image_id": image, "category_id": 18, "bbox": [0, 0, 2, 2], "score": 0.9} for image in (1, 55)]
    layouts.data(tmp_path / "found.json", found)
    assert load_benchmark(place).about.endswith("3 objects in 2 of the images")
    assert "1 of 3 images have no text, as '999'" in caplog.text
    load_benchmark(f"{place},detections={tmp_path / 'found.json'}")
    assert "1 of 2 detections are of other images, and 2 of 3 images have none" in caplog.text
    layouts.text(tmp_path / "items.csv", "item_id,language,query_id\na,en,q1\n")
    layouts.text(tmp_path / "queries.csv", "query_id\nq1\nq2\n")
    load_benchmark(f"run:{tmp_path / 'lists.txt'}")
    assert "nothing is relevant to 1 of 2 queries, as 'q2'" in caplog.text
