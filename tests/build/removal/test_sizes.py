"""Boxes and pictures that do not belong together are refused, and boxes are read as they are said to be."""

import json

import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.build.removal.build import ObjectRemoval
from equiview.build.removal.settings import RemovalMakingSettings
from equiview.errors import InputError
from tests.build.removal.world import DOG, HEIGHT, PERSON, WIDTH, coco

FILE = "annotations/instances_val2014.json"
XYWH = [[4.0, 4.0, 20.0, 20.0], [40.0, 8.0, 16.0, 32.0]]


@pytest.fixture
def name(tmp_path):
    """A COCO that states the size of its pictures and the true area of its objects."""
    name = coco(tmp_path, {n: [DOG, PERSON] for n in (1, 2)})

    def state(content):
        for entry in content["images"]:
            entry.update(width=WIDTH, height=HEIGHT)
        for entry in content["annotations"]:
            entry["area"] = entry["bbox"][2] * entry["bbox"][3]

    change(tmp_path, state)
    return name


def change(place, how):
    content = json.loads((place / FILE).read_text())
    how(content)
    (place / FILE).write_text(json.dumps(content))


def boxes_as(place, rewrite):
    def how(content):
        for entry in content["annotations"]:
            entry["bbox"] = rewrite(*entry["bbox"])

    change(place, how)


def edges(x, y, width, height):
    return [x, y, x + width, y + height]


def shares(x, y, width, height):
    return [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT]


def job(name, **settings):
    return ObjectRemoval(RemovalMakingSettings.of({"benchmark": name, **settings}))


def test_a_true_copy_is_taken(name):
    assert len(job(name).items.images) == 2


@pytest.mark.parametrize(("kind", "rewrite"), [("xyxy", edges), ("relative", shares)])
def test_boxes_of_another_kind_are_refused_and_read_where_they_are_named(name, tmp_path, kind, rewrite):
    before = load_benchmark(name).tables["objects"]
    boxes_as(tmp_path, rewrite)
    with pytest.raises(InputError, match=r"4 of 4 boxes contradict .* boxes=xywh\|xyxy\|relative"):
        load_benchmark(name)
    items = job(name, boxes=kind).items
    assert items.tables["objects"].rows() == before.rows()
    assert items.tables["objects"].select("x", "y", "width", "height").rows()[:2] == [*map(tuple, XYWH)]


@pytest.mark.parametrize("times", [0.5, 2])
def test_pictures_of_another_size_are_refused(name, tmp_path, times):
    path = tmp_path / "val2014/1.jpg"
    Image.open(path).resize((int(WIDTH * times), int(HEIGHT * times))).save(path)
    with pytest.raises(InputError, match=r"1.jpg: is .* pixels, but its boxes are of 64 x 48 \(1 of 2"):
        job(name)


@pytest.mark.parametrize("turn", [3, 6])
def test_pictures_turned_by_their_exif_are_refused(name, tmp_path, turn):
    path = tmp_path / "val2014/2.jpg"
    image = Image.open(path)
    image.load()
    exif = image.getexif()
    exif[0x0112] = turn
    image.save(path, exif=exif)
    with pytest.raises(InputError, match="but its boxes are of 64 x 48"):
        job(name)


def test_sizes_are_no_part_of_what_a_benchmark_is(name, tmp_path):
    before = load_benchmark(name).fingerprint
    change(tmp_path, lambda content: [entry.pop("width") for entry in content["images"]])
    assert load_benchmark(name).fingerprint == before


def test_relative_boxes_need_sizes(name, tmp_path):
    change(tmp_path, lambda content: content["images"][0].pop("width"))
    with pytest.raises(InputError, match="not every image has a width and a height"):
        load_benchmark(f"{name},boxes=relative")


def no_sizes(place):
    change(place, lambda content: [entry.pop("width") and entry.pop("height") for entry in content["images"]])


SAID = [("xyxy", None), ("relative", None), ("relative", edges), ("xyxy", shares), ("xywh", edges)]


@pytest.mark.parametrize(("said", "rewrite"), [*SAID, ("xywh", shares)])
def test_boxes_that_are_not_what_is_said_of_them_are_refused(name, tmp_path, said, rewrite):
    if rewrite:
        boxes_as(tmp_path, rewrite)
    with pytest.raises(InputError, match="boxes contradict their area or the picture's size"):
        load_benchmark(f"{name},boxes={said}")


def test_shares_with_areas_of_shares_are_refused_without_sizes(name, tmp_path):
    boxes_as(tmp_path, shares)
    no_sizes(tmp_path)
    change(tmp_path, lambda content: [entry.update(area=0.1) for entry in content["annotations"]])
    with pytest.raises(InputError, match="4 of 4 boxes contradict"):
        load_benchmark(name)


def test_edges_with_areas_of_masks_are_refused_by_the_pictures_alone(name, tmp_path):
    boxes_as(tmp_path, edges)
    no_sizes(tmp_path)
    change(tmp_path, lambda content: [entry.update(area=300.0) for entry in content["annotations"]])
    with pytest.raises(InputError, match=r"is 64 x 48 pixels, but its boxes reach to 96 x 48"):
        job(name)


def test_halved_pictures_are_refused_though_nothing_states_their_size(name, tmp_path):
    no_sizes(tmp_path)
    assert len(job(name).items.images) == 2
    for path in (tmp_path / "val2014").iterdir():
        Image.open(path).resize((WIDTH // 2, HEIGHT // 2)).save(path)
    with pytest.raises(InputError, match=r"is 32 x 24 pixels, but its boxes reach to 56 x 40 \(2 of 2"):
        job(name)
