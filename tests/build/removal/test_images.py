"""What is done to one image, the wrong ones included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equiview.build.removal.fill import Filling, filling
from equiview.build.removal.images import (
    ENOUGH,
    NO_CAPTION,
    NO_OBJECT,
    NOT_THERE,
    UNCHANGED,
)
from equiview.build.removal.rules import ALONE
from equiview.build.removal.settings import RemovalSettings
from equiview.errors import InputError
from tests.build.removal.world import DOG, PERSON, coco, reasons, removed, source_of


def test_one_class_is_removed_and_its_phrases_are_dropped(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    record = removed(name, tmp_path / "out", classes=["dog"])
    (made,) = record["made"]
    assert (made["removed"], made["kept"], made["region"]) == (["dog"], ["person"], [[4, 4, 24, 24]])
    assert made["share"] == pytest.approx(400 / (64 * 48), abs=1e-6)
    assert made["captions"][0]["caption"] in {"A man throws a frisbee."}
    before = np.asarray(Image.open(tmp_path / "in/val2014/1.jpg")).astype(int)
    after = np.asarray(Image.open(tmp_path / "out/removed" / made["file"])).astype(int)
    assert after[5:23, 5:23].max() < 30
    assert np.abs(after - before)[:, 32:].mean() < 3  # what JPEG changes


def test_captions_that_show_the_removal_come_first(tmp_path: Path) -> None:
    name = coco(
        tmp_path / "in", {1: [DOG, PERSON]}, captions=["Nothing here", "A man runs with a dog", "Nor here"]
    )
    one = removed(name, tmp_path / "one", classes=["dog"])
    assert one["made"][0]["captions"] == [{"caption": "A man runs", "original": "A man runs with a dog"}]
    every = removed(name, tmp_path / "all", classes=["dog"], per_picture=5)
    assert sorted(c["caption"] for c in every["made"][0]["captions"]) == [
        "A man runs",
        "Nor here",
        "Nothing here",
    ]


def test_prompts_name_what_stays(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    record = removed(name, tmp_path / "out", classes=["dog"], captions="prompts", per_picture=2)
    captions = record["made"][0]["captions"]
    assert len(captions) == 2
    assert all("a person" in c["caption"] and not c["original"] for c in captions)


def test_an_image_is_removed_from_as_often_as_wanted(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    once = removed(name, tmp_path / "one")
    (target,) = [made["target"] for made in once["made"]]
    assert reasons(once) == {({"dog", "person"} - {target}).pop(): ENOUGH}
    assert len(removed(name, tmp_path / "two", per_image=2)["made"]) == 2


@pytest.mark.parametrize(
    ("things", "captions", "settings", "expected"),
    [
        ([DOG], ["A dog runs"], {}, {"dog": ALONE}),
        ([], ["A dog runs"], {}, {"": NO_OBJECT}),
        ([DOG, PERSON], ["A dog", "the dogs"], {"classes": ["dog"]}, {"dog": NO_CAPTION}),
        ([DOG, PERSON], ["A dog"], {"classes": ["frisbee"]}, {"": NOT_THERE}),
    ],
)
def test_what_cannot_be_removed_says_why(
    tmp_path: Path, things: list, captions: list, settings: dict, expected: dict
) -> None:
    """The other image has what a table of objects needs."""
    name = coco(tmp_path / "in", {1: things, 2: [DOG, PERSON]}, captions)
    record = removed(name, tmp_path / "out", **settings)
    assert not record["made"]
    assert reasons(record) == expected
    assert not (tmp_path / "out/removed").exists()


def test_a_filling_that_changes_nothing_is_counted(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    same = Filling("same", lambda picture, _mask: picture)
    assert reasons(removed(name, tmp_path / "out", same)) == {"dog": UNCHANGED, "person": UNCHANGED}


def test_boxes_outside_or_without_area_are_left_out_and_counted(tmp_path: Path) -> None:
    outside = [{"class": "frisbee", "bbox": box} for box in ([70, 4, 9, 9], [4, 4, 0, 9], [-9, -9, 9, 9])]
    name = coco(tmp_path / "in", {1: [DOG, PERSON, *outside]})
    record = removed(name, tmp_path / "out", per_image=5)
    assert record["boxes_outside"] == 3
    assert {made["target"] for made in record["made"]} == {"dog", "person"}
    assert not record["rejected"]


def test_a_box_over_the_edge_is_cut(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [{"class": "dog", "bbox": [60, 40, 30, 30]}, PERSON]})
    record = removed(name, tmp_path / "out", classes=["dog"])
    assert record["made"][0]["region"] == [[60, 40, 64, 48]]


def test_crowds_are_removed_with_their_class(tmp_path: Path) -> None:
    crowd = {"class": "dog", "bbox": [4, 30, 20, 10], "iscrowd": 1}
    record = removed(coco(tmp_path / "in", {1: [DOG, crowd, PERSON]}), tmp_path / "out", classes=["dog"])
    assert record["crowds"] == 1
    assert len(record["made"][0]["region"]) == 2


def test_masks_are_filled_where_there_are_any(tmp_path: Path) -> None:
    """The dog has an outline, of which the person's box covers nothing; the person has none."""
    outline = [[4, 4, 14, 4, 14, 24, 4, 24]]
    wide = {"class": "person", "bbox": [16, 4, 40, 40]}
    name = coco(tmp_path / "in", {1: [DOG | {"segmentation": outline}, wide]})
    assert removed(name, tmp_path / "boxes", classes=["person"])["rejected"]
    record = removed(f"{name},masks=yes", tmp_path / "masks", classes=["person"])
    assert record["made"][0]["region"]["size"] == [48, 64]
    dog = removed(f"{name},masks=yes", tmp_path / "dog", classes=["dog"], grow=1)
    picture = np.asarray(Image.open(tmp_path / "dog/removed" / dog["made"][0]["file"]))
    assert picture[10, 3:15].max() < 60
    assert picture[10, 20:].mean() > 60


def test_a_mask_of_another_size_is_a_clear_error(tmp_path: Path) -> None:
    wrong = DOG | {"segmentation": {"size": [5, 5], "counts": [25]}, "iscrowd": 1}
    name = f"{coco(tmp_path / 'in', {1: [wrong, PERSON]})},masks=yes"
    with pytest.raises(InputError, match=r"image '1', dog: segmentation .* image of \[5, 5\]"):
        removed(name, tmp_path / "out")


def test_nothing_to_remove_changes_nothing() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (8, 9, 3), dtype=np.uint8)
    for kind in ("inpaint", "zero", "mean", "blur"):
        assert (filling(kind)(picture, np.zeros((8, 9), dtype=bool)) == picture).all()


def test_a_wrong_setting_is_a_clear_error() -> None:
    with pytest.raises(
        InputError, match=r"setting captions: input should be 'phrases', 'nouns', 'prompts' or"
    ):
        RemovalSettings.of({"captions": "poem"})
    with pytest.raises(InputError, match=r"setting rules\.largest: input should be greater than 0"):
        RemovalSettings.of({"rules": {"largest": 0}})


def test_objects_are_by_class_in_the_order_of_names(tmp_path: Path) -> None:
    source = source_of(coco(tmp_path / "in", {1: [PERSON, DOG, PERSON]}))
    assert {name: len(entry.boxes) for name, entry in source.objects.items()} == {"dog": 1, "person": 2}
    assert list(source.objects) == ["dog", "person"]
