"""What a benchmark says of each image: its objects by class, and its captions with what names them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.build.removal.areas import Boxes, Region, clipped, joined, mask_of
from equiview.build.removal.masks import Segmentation, mask_from
from equiview.data.items import Items
from equiview.errors import InputError

LONGEST = 10_000
"""Characters of a caption; time grows with their square, and the longest of COCO's has 250."""


@dataclass(frozen=True)
class Objects:
    """The objects of one class in an image: boxes `(n, 4)`, and the mask of each, None where it has none."""

    boxes: Boxes
    masks: Sequence[Segmentation | None]


@dataclass(frozen=True)
class Caption:
    """A caption, and (start, end, class) of what its phrases name; None where that is not annotated."""

    text: str
    links: Sequence[tuple[int, int, str]] | None = None
    id: str = ""


@dataclass(frozen=True)
class Source:
    """The image of row `row`: its objects by class as annotated, how many are crowds, and its captions."""

    id: str
    row: int
    objects: Mapping[str, Objects]
    crowds: int
    captions: Sequence[Caption]

    def regions(self, width: int, height: int) -> tuple[dict[str, Region], int]:
        """What each class covers of a picture of this size, and how many boxes cover nothing of it.

        Regions are masks if any object has one; the others' boxes are then drawn as masks. InputError for a
        mask of another size.
        """
        masked = any(mask is not None for entry in self.objects.values() for mask in entry.masks)
        regions: dict[str, Region] = {}
        outside = 0
        for name, entry in self.objects.items():
            shapes: list[Region] = []
            for box, mask in zip(entry.boxes, entry.masks, strict=True):
                if not len(shape := clipped(box[None], width, height)):
                    outside += 1
                elif mask is not None:
                    shapes.append(mask_from(mask, width, height, f"image {self.id!r}, {name}"))
                else:
                    shapes.append(mask_of(shape, width, height) if masked else shape)
            if shapes and (region := joined(shapes)).any():
                regions[name] = region
        return regions, outside


class Sources:
    """The images of a benchmark as sources, by row; InputError for one without objects or captions.

    Tables are sorted once and cut by row, so that memory is that of the tables.
    """

    def __init__(self, items: Benchmark) -> None:
        if "objects" not in items.tables:
            raise InputError(
                f"benchmark {items.name!r} has no objects; of COCO put annotations/instances_SPLIT.json "
                "beside its captions, or add detections=FILE"
            )
        self.images = items.images
        self.classes = sorted(items.tables["objects"]["object"].unique())
        self.linked = "phrases" in items.tables
        self._objects, self._first_object = _by_image(items.tables["objects"], self.images)
        texts = items.need_texts()
        texts.attribute("image_id")
        table = texts.table
        lengths = texts.table["text"].str.len_chars()
        if len(long := (lengths > LONGEST).arg_true()):
            row = long[0]
            raise InputError(
                f"{texts.source}: caption {texts.ids[row]!r} has {lengths[row]:,} characters; at most "
                f"{LONGEST:,} are read, so shorten it or leave it out"
            )
        if self.linked:
            links = items.tables["phrases"].select("start", "end", "object", id="text_id")
            grouped = links.group_by("id", maintain_order=True).agg(links=pl.struct("start", "end", "object"))
            table = table.join(grouped, on="id", how="left", maintain_order="left")
        self._texts, self._first_text = _by_image(table, self.images)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> Source:
        part = self.annotated(row)
        boxes: dict[str, list[list[float]]] = {}
        masks: dict[str, list[Segmentation | None]] = {}
        for entry in part.iter_rows(named=True):
            x, y, mask = entry["x"], entry["y"], entry.get("segmentation")
            boxes.setdefault(entry["object"], []).append([x, y, x + entry["width"], y + entry["height"]])
            masks.setdefault(entry["object"], []).append(json.loads(mask) if mask else None)
        return Source(
            id=self.images.ids[row],
            row=row,
            objects={
                name: Objects(np.asarray(boxes[name], dtype=float), masks[name]) for name in sorted(boxes)
            },
            crowds=int(part["crowd"].sum()) if "crowd" in part.columns else 0,
            captions=self.captions(row),
        )

    def annotated(self, row: int) -> pl.DataFrame:
        """The rows of the table `objects` of an image."""
        return self._objects[self._first_object[row] : self._first_object[row + 1]]

    def captions(self, row: int) -> list[Caption]:
        """The captions of an image, in the benchmark's order."""
        part = self._texts[self._first_text[row] : self._first_text[row + 1]]
        if not self.linked:
            return [Caption(text, id=name) for name, text in part.select("id", "text").iter_rows()]
        return [
            Caption(text, tuple((link["start"], link["end"], link["object"]) for link in links or ()), name)
            for name, text, links in part.select("id", "text", "links").iter_rows()
        ]


def _by_image(table: pl.DataFrame, images: Items) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """A table in the order of the images, others left out, and where the rows of each begin."""
    rows = images.rows_of(table["image_id"])
    table = table.with_columns(rows.alias("image row")).filter(pl.col("image row").is_not_null())
    table = table.sort("image row", maintain_order=True)
    first = np.searchsorted(table["image row"].to_numpy(), np.arange(len(images) + 1))
    return table.drop("image row"), first
