"""A whole build: what it writes, the same by any number of processes and after a kill."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import polars as pl
import pytest
from onnx import TensorProto, helper

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.build.removal import REMOVAL
from equiview.errors import InputError
from equiview.making.make import make
from tests.benchmarks import layouts
from tests.build.removal.world import DOG, PERSON, coco, content, write
from tests.faults.faults import FAULTS

KILL = "os.kill(os.getpid(), signal.SIGKILL)"
WAIT = "print('begun', flush=True); sys.stdin.read()"
MANY = 40
"""Images of a build by several processes, each of which takes 16 at a time."""

STOPPING = """
import os, signal, sys
from pathlib import Path
from equiview import api

def progress(label, done, total):
    if label == "removing" and done == 3:
        {then}

api.make("removal", {{"benchmark": sys.argv[1]}}, Path(sys.argv[2]), progress=progress)
"""


def many(place: Path) -> str:
    """Images that differ in where their objects are; every fifth has only one class."""
    return coco(
        place,
        {
            image: [{**DOG, "bbox": [4, 4, 10 + image % 7, 20]}, *([PERSON] if image % 5 else [])]
            for image in range(1, MANY + 1)
        },
    )


def built(name: str, out: Path, *, fill: str = "mean", **settings: Any) -> pl.DataFrame:
    given = {"benchmark": name, "fill": fill} | settings
    make(REMOVAL, REMOVAL.settings.of(given), out)
    return pl.read_csv(out / "counts.csv")


def test_what_is_written_says_what_was_done(tmp_path: Path) -> None:
    counts = built(many(tmp_path / "in"), tmp_path / "out", per_picture=2)
    counted = dict(counts.drop("kind").rows())
    assert counted["images"] == MANY
    assert counted["pictures made"] == 32
    assert counted["it is the only class of its image"] == 8
    assert counted["its image has enough removals"] == 32
    assert pl.read_csv(tmp_path / "out/counts.csv").equals(counts)
    table = pl.read_parquet(tmp_path / "out/removals.parquet")
    assert table["id"].to_list() == [str(number) for number in range(1, 33)]
    row = table.row(0, named=True)
    assert (row["source_id"], row["filling"], len(row["captions"])) == ("1", "mean", 2)
    assert set(row["removed"]) | set(row["kept"]) == {"dog", "person"}
    assert (tmp_path / "out" / row["path"]).exists()


def test_pictures_are_known_again_by_what_they_were_made_of(tmp_path: Path) -> None:
    """New pictures are numbered from 1, as are the images of this COCO."""
    name, out = many(tmp_path / "in"), tmp_path / "out"
    built(name, out)
    read = load_benchmark(f"removals:{out},of={name}")
    assert read.images.ids[MANY] == "removed-1"
    assert read.tables["removals"].row(0)[:2] == ("removed-1", "1")
    first, second = (tmp_path / f"in/val2014/{number}.jpg" for number in (1, 2))
    first.write_bytes(second.read_bytes())
    with pytest.raises(
        InputError, match=r"image '1' of .* is not the picture that objects were removed from"
    ):
        load_benchmark(f"removals:{out},of={name}")
    table = pl.read_parquet(out / "removals.parquet").drop("source_hash")
    table.write_parquet(out / "removals.parquet")  # as earlier versions wrote it
    assert load_benchmark(f"removals:{out},of={name}").counts == read.counts


def test_what_is_written_is_read_as_a_benchmark(tmp_path: Path) -> None:
    out = tmp_path / "out"
    built(many(tmp_path / "in"), out, classes=["dog"])
    read = load_benchmark(f"coco:{out},split=removed")
    table = pl.read_parquet(out / "removals.parquet")
    assert read.images.ids.to_list() == table["id"].to_list()
    assert read.images.pictures([0])[0].size == (64, 48)
    assert read.need_texts().texts == [caption for captions in table["captions"] for caption in captions]
    assert set(read.tables["objects"]["object"]) == {"person"}
    instances = json.loads((out / "annotations/instances_removed.json").read_text())
    assert {entry["name"]: entry["id"] for entry in instances["categories"]} == {"person": 1, "dog": 18}


def test_it_says_which_classes_every_caption_names(tmp_path: Path) -> None:
    built(many(tmp_path / "in"), tmp_path / "out")
    captions = pl.read_parquet(tmp_path / "out/captions.parquet")
    assert len(captions) == 3 * MANY
    assert captions.row(0) == (
        "1-en-1", "1", "A man throws a frisbee to his dog.", ["dog", "frisbee", "person"],
    )  # fmt: skip


def test_masks_go_with_what_stays(tmp_path: Path) -> None:
    outline = [[40, 8, 56, 8, 56, 40]]
    name = coco(tmp_path / "in", {1: [DOG, PERSON | {"segmentation": outline}]})
    built(f"{name},masks=yes", tmp_path / "out", classes=["dog"])
    read = load_benchmark(f"coco:{tmp_path / 'out'},split=removed,masks=yes")
    assert json.loads(read.tables["objects"]["segmentation"][0]) == outline


def test_any_number_of_processes_makes_the_same_files(tmp_path: Path) -> None:
    name = many(tmp_path / "in")
    built(name, tmp_path / "one")
    built(name, tmp_path / "two", jobs=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_build_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    name = many(tmp_path / "in")
    built(name, tmp_path / "whole", fill="inpaint")
    out = tmp_path / "killed"
    process = subprocess.run([sys.executable, "-c", STOPPING.format(then=KILL), name, str(out)], check=False)
    assert process.returncode == -signal.SIGKILL
    records = out / "records"
    done = {path.name: path.stat().st_mtime_ns for path in records.glob("*.json")}
    assert len(done) == 3
    assert not (out / "removals.parquet").exists()
    built(name, out, fill="inpaint")
    assert {name: (records / name).stat().st_mtime_ns for name in done} == done
    assert content(out) == content(tmp_path / "whole")


def test_a_folder_is_not_continued_with_something_else(tmp_path: Path) -> None:
    name = many(tmp_path / "in")
    built(name, tmp_path / "out")
    with pytest.raises(InputError, match=r"out: was begun with another filling; choose another folder"):
        built(name, tmp_path / "out", fill="zero")
    with pytest.raises(InputError, match=r"was begun with another rules\.strict, seed; choose"):
        built(name, tmp_path / "out", seed=1, rules={"strict": True})


def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path) -> None:
    name = many(tmp_path / "in")
    built(name, tmp_path / "whole", fill="inpaint")
    out = tmp_path / "out"
    words = [sys.executable, "-c", STOPPING.format(then=WAIT), name, str(out)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        with pytest.raises(InputError, match="out: another process is writing to it; wait until it is done"):
            built(name, out, fill="inpaint")
        process.communicate()
    assert process.returncode == 0
    assert content(out) == content(tmp_path / "whole")


def test_a_plan_says_how_many_images_are_looked_at(tmp_path: Path) -> None:
    plan = api.plan_making("removal", {"benchmark": many(tmp_path / "in")})
    assert plan["What would be done at most"].row(0) == ("remove", MANY, "images")


def test_an_image_whose_record_was_deleted_is_done_again_and_written(tmp_path: Path) -> None:
    built(many(tmp_path / "in"), tmp_path / "out")
    before = content(tmp_path / "out")
    next((tmp_path / "out/records").iterdir()).unlink()
    (tmp_path / "out/index.html").unlink()
    built(f"coco:{tmp_path / 'in'}", tmp_path / "out")
    assert content(tmp_path / "out") == before


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a list": lambda record: [record],
    "no made": lambda record: record.pop("made"),
    "made of words": lambda record: record.update(made=["dog"]),
    "made is null": lambda record: record.update(made=None),
    "no reason": lambda record: record["rejected"].append({"target": "dog"}),
    "no rejected": lambda record: record.pop("rejected"),
    "a width in words": lambda record: record.update(width="64"),
    "a width of nothing": lambda record: record.update(width=0),
    "a width without end": lambda record: record.update(width=10**12),
    "boxes that are true": lambda record: record.update(boxes_outside=True),
    "fewer than no crowds": lambda record: record.update(crowds=-1),
    "another image": lambda record: record.update(image_id="2"),
    "a number as image": lambda record: record.update(image_id=1),
    "a picture elsewhere": lambda record: record["made"][0].update(file="../../removals.parquet"),
    "a picture of another class": lambda record: record["made"][0].update(target="person"),
    "a share beyond all": lambda record: record["made"][0].update(share=1.5),
    "a share of null": lambda record: record["made"][0].update(share=None),
    "a box of three": lambda record: record["made"][0].update(region=[[1, 2, 3]]),
    "a region in words": lambda record: record["made"][0].update(region="all"),
    "captions in words": lambda record: record["made"][0].update(captions="a dog"),
    "a caption of a number": lambda record: record["made"][0].update(captions=[{"caption": 1}]),
    "nothing removed": lambda record: record["made"][0].update(removed=[]),
    "refusals in words": lambda record: record.update(captions_refused={"too short": "two"}),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose images are done and whose tables are not written."""
    place = tmp_path_factory.mktemp("begun")
    built(coco(place / "in", {1: [DOG, PERSON]}), place / "out")
    (place / "out/removals.parquet").unlink()
    return place


def continued(begun: Path, place: Path, spoil: Callable[[Path], object]) -> str:
    """What is said where the record is spoiled before the build goes on."""
    shutil.copytree(begun, place)
    (path,) = (place / "out/records").iterdir()
    spoil(path)
    with pytest.raises(InputError) as error:
        built(f"coco:{place / 'in'}", place / "out")
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_record_that_is_damaged_is_named(begun: Path, tmp_path: Path, name: str) -> None:
    def spoil(path: Path) -> None:
        record = json.loads(path.read_text())
        changed = DAMAGES[name](record)
        path.write_text(json.dumps(changed if isinstance(changed, list) and name == "a list" else record))

    assert "delete it and build again" in continued(begun, tmp_path / "here", spoil)


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"missing", "a dangling link", "a looping link"}))
def test_a_record_that_is_no_record_is_named_and_not_waited_for(
    begun: Path, tmp_path: Path, name: str
) -> None:
    continued(begun, tmp_path / "here", FAULTS[name])


def test_what_a_killed_process_was_writing_is_removed(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "here")
    out = tmp_path / "here/out"
    halves = [out / name / ".half.json.abcdefgh.part" for name in ("records", "removed", "annotations")]
    for half in halves:
        half.write_bytes(b"{")
    built(f"coco:{tmp_path / 'here/in'}", out)
    assert not any(half.exists() for half in halves)


def test_a_record_whose_picture_is_gone_is_named(begun: Path, tmp_path: Path) -> None:
    def spoil(path: Path) -> None:
        next((path.parent.parent / "removed").iterdir()).unlink()

    assert "is gone; delete it and build again" in continued(begun, tmp_path / "here", spoil)


def test_another_seed_removes_something_else(tmp_path: Path) -> None:
    name = many(tmp_path / "in")
    for seed in (0, 1):
        built(name, tmp_path / str(seed), seed=seed)
    targets = [pl.read_parquet(tmp_path / f"{seed}/removals.parquet")["target"].to_list() for seed in (0, 1)]
    assert targets[0] != targets[1]
    assert set(targets[0]) == {"dog", "person"}


def test_detections_are_removed_as_objects_are(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [PERSON]})
    found = [{"image_id": 1, "category_id": number, "bbox": [8 * number % 50, 3, 6, 6], "score": 0.8}
             for number in (1, 18)]  # fmt: skip
    write(tmp_path / "found.json", found)
    built(f"{name},detections={tmp_path / 'found.json'}", tmp_path / "out", classes=["dog"])
    row = pl.read_parquet(tmp_path / "out/removals.parquet").row(0, named=True)
    assert (row["removed"], row["kept"], row["share"]) == (["dog"], ["person"], round(36 / (64 * 48), 6))


def test_flickr30k_entities_need_no_words(tmp_path: Path) -> None:
    """People and a vehicle in two pictures of 2 x 2 pixels; captions are linked to what they name."""
    place = tmp_path / "in"
    layouts.flickr30k(place)
    sentences = [{"raw": "A man on his sled in snow.", "sentid": 0}]
    images = [{"filename": f"{n}.jpg", "split": "test", "sentences": sentences} for n in (11, 22)]
    write(place / "dataset_flickr30k.json", {"images": images})
    boxes = "".join(
        f"<object><name>{n}</name><bndbox><xmin>{n - 5}</xmin><ymin>0</ymin>"
        f"<xmax>{n - 4}</xmax><ymax>2</ymax></bndbox></object>"
        for n in (5, 6)
    )
    for image in ("11", "22"):
        layouts.entities(place, image, "[/EN#5/people A man] on [/EN#6/vehicles his sled] in snow .")
        (place / f"Annotations/{image}.xml").write_text(f"<annotation>{boxes}</annotation>")
    built(f"flickr30k:{place}", tmp_path / "out", fill="zero", classes=["vehicles"])
    table = pl.read_parquet(tmp_path / "out/removals.parquet")
    assert table["captions"].to_list() == [["A man in snow."]] * 2
    assert table["kept"].to_list() == [["people"]] * 2
    captions = pl.read_parquet(tmp_path / "out/captions.parquet")
    assert captions["classes"].to_list() == [["people", "vehicles"]] * 2
    size = "<size><width>4</width><height>4</height></size>"  # the pictures were made smaller since
    (place / "Annotations/11.xml").write_text(f"<annotation>{size}{boxes}</annotation>")
    with pytest.raises(InputError, match=r"11\.jpg: is 2 x 2 pixels, but its boxes are of 4 x 4 \(1 of 2"):
        built(f"flickr30k:{place}", tmp_path / "b", fill="zero", classes=["vehicles"])


def test_what_cannot_be_built_is_a_clear_error(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    with pytest.raises(InputError, match=r"no class of 'coco-val2014' is named 'dogs'; did you mean 'dog'"):
        built(name, tmp_path / "a", classes=["dogs"])
    words = tmp_path / "words.toml"
    words.write_text("[classes]\nperson = ['man']\n")
    with pytest.raises(InputError, match=r"words\.toml: has no words of class 'dog' \(1 of 2 are missing\)"):
        built(name, tmp_path / "b", words=words)
    with pytest.raises(InputError, match="captions by a model need a captioner"):
        built(name, tmp_path / "c", captions="model")
    alone = coco(tmp_path / "alone", {1: [DOG]})
    with pytest.raises(InputError, match=r"nothing can be removed .* the only class of its image \(1\)"):
        built(alone, tmp_path / "d")
    (tmp_path / "alone/annotations/instances_val2014.json").unlink()
    with pytest.raises(InputError, match=r"has no objects; of COCO put annotations/instances_SPLIT\.json"):
        built(alone, tmp_path / "e")
    (tmp_path / "in/val2014/1.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match="picture of '1' cannot be read"):
        built(name, tmp_path / "f")


def test_a_model_that_changes_nothing_is_counted(tmp_path: Path) -> None:
    """An ONNX file that returns the picture: every candidate is rejected, and the reason is said."""
    shape = [1, 3, "h", "w"]
    nodes = [helper.make_node("Identity", ["image"], ["result"])]
    byte = TensorProto.UINT8
    inputs = [
        helper.make_tensor_value_info("image", byte, shape),
        helper.make_tensor_value_info("mask", byte, [1, 1, "h", "w"]),
    ]
    outputs = [helper.make_tensor_value_info("result", byte, shape)]
    graph = helper.make_graph(nodes, "same", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "same.onnx")
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    with pytest.raises(InputError, match=r"the filling left the picture as it was \(2\)"):
        built(name, tmp_path / "out", fill="inpaint", model=tmp_path / "same.onnx")
    assert not (tmp_path / "out/removals.parquet").exists()


def test_what_an_encoder_still_sees_is_rejected_and_listed(tmp_path: Path) -> None:
    """The encoder goes by shapes: it sees a dog in what is wide, whatever was filled."""
    boxes = {1: [4, 4, 20, 20], 2: [4, 4, 30, 20], 3: [4, 4, 16, 24]}
    name = coco(tmp_path / "in", {image: [DOG | {"bbox": box}, PERSON] for image, box in boxes.items()})
    out = tmp_path / "out"
    check = "tests.build.removal.looker:Looker"
    counts = dict(built(name, out, fill="zero", classes=["dog"], check=check).drop("kind").rows())
    assert counts["what was removed is still seen by the checking encoder"] == 1
    assert counts["pictures that the checking encoder looked at"] == 3
    assert counts["of them, pictures in which it did not see the object before either"] == 1
    assert counts["pictures made"] == 2
    listed = pl.read_csv(out / "still-seen.csv", infer_schema=False)
    assert listed.select("source_id", "target", "seen before", "seen after").rows() == [
        ("2", "dog", "dog", "dog")
    ]
    assert pl.read_parquet(out / "removals.parquet")["source_id"].to_list() == ["1", "3"]
    page = (out / "index.html").read_text()
    assert "Rejected: what was removed is still seen" in page
    assert "the encoder sees: dog, then grass" in page
    assert not [path for path in out.iterdir() if path.name.startswith("tmp")]
    with pytest.raises(InputError, match=r"setting check: 'answers:x\.json' is"):
        built(name, tmp_path / "b", check="answers:x.json")


def test_the_embedded_encoder_looks_without_torch(tmp_path: Path) -> None:
    counts = built(many(tmp_path / "in"), tmp_path / "out", classes=["dog"], check="pictogram:english")
    counted = dict(counts.drop("kind").rows())
    assert counted["pictures that the checking encoder looked at"] == 32
    listed = len(pl.read_csv(tmp_path / "out/still-seen.csv"))
    assert counted.get("what was removed is still seen by the checking encoder", 0) == listed
    assert counted["pictures made"] == 32 - listed
