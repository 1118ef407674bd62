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
