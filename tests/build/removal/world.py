"""A small COCO: drawn pictures with objects whose boxes one can follow, and captions that name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.build.removal.fill import Filling
from equiview.build.removal.images import Remover
from equiview.build.removal.settings import RemovalSettings
from equiview.build.removal.sources import Source, Sources
from equiview.text.things import coco_things

WIDTH, HEIGHT = 64, 48
CATEGORIES = {"person": 1, "dog": 18, "frisbee": 34, "sports ball": 37}
DOG = {"class": "dog", "bbox": [4, 4, 20, 20]}
PERSON = {"class": "person", "bbox": [40, 8, 16, 32]}
CAPTIONS = ("A man throws a frisbee to his dog.", "Two people on grass", "A dog near a man on grass")


def coco(
    place: Path, images: Mapping[int, Sequence[Mapping[str, Any]]], captions: Sequence[str] = CAPTIONS
) -> str:
    """Write images with these objects, each with all captions; returns how the benchmark is called.

    An object has `class` and `bbox`, and what else stands in COCO's annotations.
    """
    rng = np.random.default_rng(0)
    folder = place / "val2014"
    folder.mkdir(parents=True, exist_ok=True)
    listed = [{"id": image, "file_name": f"{image}.jpg"} for image in images]
    for entry in listed:
        noise = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / entry["file_name"], quality=95)
    objects = [
        {"image_id": image, "category_id": CATEGORIES[thing["class"]], "area": 1.0, "iscrowd": 0, **thing}
        for image, things in images.items()
        for thing in things
    ]
    texts = [{"image_id": image, "caption": caption} for image in images for caption in captions]
    categories = [{"id": number, "name": name} for name, number in CATEGORIES.items()]
    write(place / "annotations/captions_val2014.json", {"images": listed, "annotations": texts})
    write(
        place / "annotations/instances_val2014.json",
        {"images": listed, "annotations": objects, "categories": categories},
    )
    return f"coco:{place}"


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def black() -> Filling:
    return Filling("black", lambda picture, _mask: np.zeros_like(picture))


def source_of(name: str, row: int = 0) -> Source:
    return Sources(load_benchmark(name))[row]


def remover(name: str, out: Path, filling: Filling | None = None, **settings: Any) -> Remover:
    images = load_benchmark(name).images
    return Remover(out, RemovalSettings.of(settings), images, filling or black(), coco_things())


def removed(name: str, out: Path, filling: Filling | None = None, **settings: Any) -> dict[str, Any]:
    """What was done to the first image."""
    return remover(name, out, filling, **settings).remove(source_of(name))


def reasons(record: Mapping[str, Any]) -> dict[str, str]:
    return {entry["target"]: entry["reason"] for entry in record["rejected"]}


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
