"""Labels by an encoder: the threshold is chosen on half of the labelled images, and judged on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import polars as pl
import pytest

from equiview.build.xcm.labels import PARTS, Sight, chosen_threshold, judged, read_labelled
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import EmbeddingModel, Encoder

CONCEPTS = ["cat", "dog", "hat"]


class Known(Encoder):
    """Images and concepts as unit vectors: an image is as similar to a concept as `shown` says."""

    def __init__(self, shown: np.ndarray) -> None:
        super().__init__()
        rest = np.sqrt(1 - (shown**2).sum(axis=1, keepdims=True))
        self.images = np.concatenate([shown, rest], axis=1).astype(np.float32)

    def embed(self, items: Items, progress: Any = silent) -> np.ndarray:
        if items.kind == "image":
            return self.images
        return np.eye(3, 4, dtype=np.float32)


def labelled(count: int) -> tuple[Items, list[list[str]], np.ndarray]:
    """Images that show two concepts each, similar to them from .3 to .5, and to the third below .2."""
    rng = np.random.default_rng(0)
    names, rows = [], []
    for number in range(count):
        missing = number % 3
        names.append([concept for place, concept in enumerate(CONCEPTS) if place != missing])
        row = rng.uniform(0.3, 0.5, 3)
        row[missing] = rng.uniform(0, 0.2)
        rows.append(row)
    images = Items("image", pl.DataFrame({"id": [f"i{n}" for n in range(count)]}), "labelled.csv")
    return images, names, np.array(rows)


def test_the_threshold_finds_the_wanted_share_and_is_judged_on_other_images() -> None:
    images, names, shown = labelled(120)
    found = chosen_threshold(images, names, CONCEPTS, Sight(Known(shown), "{}", False), 0.9, silent)
    assert 0.3 < found.value < 0.34  # the lowest tenth of .3 to .5
    recall, precision = found.table.iter_rows(named=True)
    assert (recall["measure"], recall["n"]) == ("recall", 120)
    assert recall["low"] < recall["value"] < recall["high"]
    assert 0.85 < recall["value"] < 0.97
    assert precision["value"] == 1


def test_too_few_labels_are_refused() -> None:
    images, names, shown = labelled(18)
    with pytest.raises(InputError, match=r"labelled\.csv: half of its images have 18 labels"):
        chosen_threshold(images, names, CONCEPTS, Sight(Known(shown), "{}", False), 0.9, silent)


def test_an_image_whose_concept_is_not_seen_is_rejected_unless_it_is_to_be_kept() -> None:
    table = pl.DataFrame({"item_id": ["a", "b", "c"], "concept": ["cat", "cat", "cat"]})
    labels = [["cat", "hat"], ["dog"], None]
    found = judged(table, labels, keep_unseen=False)
    assert found["reason"].to_list() == [
        None,
        "its concept is not seen in it",
        "what it shows cannot be read from the reply",
    ]
    assert found["detail"].to_list() == [None, "dog", None]
    assert judged(table, labels, keep_unseen=True)["reason"].null_count() == 2


def test_the_table_of_labels_is_read_beside_its_pictures(tmp_path: Path) -> None:
    path = tmp_path / "labelled.csv"
    path.write_text('path,concepts\na.png,"Cat; dog;"\n')
    images, listed = read_labelled(path)
    assert listed == [["cat", "dog"]]
    assert images.table["path"].to_list() == [str(tmp_path / "a.png")]
    path.write_text("path,concepts\n../a.png,cat\n")
    with pytest.raises(InputError, match="lies outside the folder"):
        read_labelled(path)


class Colours(EmbeddingModel):
    """A picture's vector is its mean colour, a colour's is the colour."""

    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        return np.stack([np.asarray(image, dtype=float).mean(axis=(0, 1)) + 1 for image in images])

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([{"red": [1, 0, 0], "blue": [0, 0, 1]}[text] for text in texts], dtype=float)


def test_a_small_thing_in_a_corner_is_seen_in_a_part(tmp_path: Path) -> None:
    picture = PIL.Image.new("RGB", (100, 50), "red")
    picture.paste("blue", (60, 30, 100, 50))
    picture.save(tmp_path / "a.png")
    images = Items("image", pl.DataFrame({"id": ["a"], "path": [str(tmp_path / "a.png")]}))
    whole, parts = (
        Sight(Colours(), "{}", parts).scores(images, ["red", "blue"], silent)[0] for parts in (False, True)
    )
    assert whole[0] > 0.95
    assert whole[1] < 0.3
    assert parts[0] > 0.99
    assert parts[1] > 2 * whole[1]
    assert len(PARTS) == 10
