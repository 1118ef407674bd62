"""Captions by a model that looks at the new pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from equiview.build.removal import REMOVAL
from equiview.build.removal.build import ObjectRemoval
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.io.progress import Progress
from equiview.making.make import make
from equiview.subjects import Answerer
from tests.build.removal.world import DOG, PERSON, coco


class Looker(Answerer):
    """Says where a picture is dark: at the left the dog is gone, at the right the person."""

    name = "looker"

    def __init__(self, left: str, right: str) -> None:
        self.said = {True: left, False: right}
        self.asked: list[Request] = []

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        self.asked += requests
        for place, request in enumerate(requests):
            pixels = np.asarray(images.pictures([request.image])[0])
            yield place, Reply(self.said[bool(pixels[6:22, 6:22].max() < 30)])


def described(place: Path, model: Answerer) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pictures of two images, one without a dog and one without a person; and the counts."""
    name = coco(place / "in", {1: [DOG, PERSON]})
    given = {"benchmark": name, "fill": "zero", "captions": "model", "per_image": 2, "captioner": "looker"}
    job = ObjectRemoval(REMOVAL.settings.of(given), {"captioner": model})
    make(REMOVAL, job.settings, place / "out", job=job)
    counts = pl.read_csv(place / "out/counts.csv")
    return pl.read_parquet(place / "out/removals.parquet").sort("target"), counts.drop("kind")


def test_the_model_sees_the_new_picture_and_nothing_of_what_was_removed(tmp_path: Path) -> None:
    model = Looker("\n A person stands there. \nMore", "A dog and a person")
    table, counts = described(tmp_path, model)
    assert table.select("target", "captions", "originals").rows() == [
        ("dog", ["A person stands there."], [""]),
        ("person", ["A dog and a person"], [""]),
    ]
    assert dict(counts.rows())["captions by the model that name a class that was removed"] == 1
    assert not any(word in request.prompt for request in model.asked for word in ("dog", "person"))


def test_a_picture_of_which_nothing_is_said_is_left_out_and_counted(tmp_path: Path) -> None:
    table, counts = described(tmp_path, Looker(" \n", "A dog"))
    assert table["target"].to_list() == ["person"]
    assert dict(counts.rows())["the captioning model said nothing"] == 1
