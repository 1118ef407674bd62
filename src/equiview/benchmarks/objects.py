"""What is in images and where: COCO's instances, their masks, or what a detector found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.release import (
    check_partners,
    entries,
    field,
    number_field,
    numbers,
    optional_text,
    seek,
    text_field,
)
from equiview.errors import InputError
from equiview.io.files import read_json
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema

OBJECTS = Schema(
    "objects",
    (
        Column("image_id", pl.String, "the image"),
        Column("object", pl.String, "what it is, one of COCO's categories"),
        Column("supercategory", pl.String, "what kind of thing that is", nullable=True),
        Column("x", pl.Float64, "left edge of its box in pixels"),
        Column("y", pl.Float64, "upper edge of its box in pixels"),
        Column("width", pl.Float64, "width of its box in pixels"),
        Column("height", pl.Float64, "height of its box in pixels"),
        Column("area", pl.Float64, "its area in square pixels"),
        Column("crowd", pl.Boolean, "several objects in one box"),
    ),
)
MASKED = Schema(
    "objects",
    (
        *OBJECTS.columns,
        Column("segmentation", pl.String, "its mask as JSON, as COCO writes it", nullable=True),
    ),
)
OBJECT_OPTIONS = ("masks", "detections", "score", "boxes")
BOXES = ("xywh", "xyxy", "relative")
ADVICE = f"say how they are written by boxes={'|'.join(BOXES)}"
WRONG = 0.05
"""Share of boxes that may contradict their area or the size of their picture."""
Sizes = dict[str, tuple[float, float]]
"""Width and height of images in pixels, as annotations state them."""
SCORE = 0.5
"""What a detection's score must be for it to count, by default."""
EDGES = ("x", "y", "width", "height")
CLASSES = tuple(
    """person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,,stop sign,
parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,,backpack,umbrella,,,handbag,
tie,suitcase,frisbee,skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,
tennis racket,bottle,,wine glass,cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,
hot dog,pizza,donut,cake,chair,couch,potted plant,bed,,dining table,,,toilet,,tv,laptop,mouse,remote,
keyboard,cell phone,microwave,oven,toaster,sink,refrigerator,,book,clock,vase,scissors,teddy bear,
hair drier,toothbrush""".replace("\n", "").split(",")
)
"""COCO's 80 classes by their number, from 1; numbers of no class are empty."""
Categories = Mapping[str, tuple[str, str | None]]
"""Name and supercategory of each class by its number."""


def objects_of(
    place: Path, names: Mapping[str, str], options: Mapping[str, str]
) -> tuple[dict[str, pl.DataFrame], Schema, Sizes]:
    """The table `objects` as a user's options want it, its schema and sizes; empty where nothing is known.

    `names` are files by image, as in `object_tables`.
    """
    masks = options.get("masks", "no")
    if masks not in {"yes", "no"}:
        raise InputError(f"masks is {masks!r}; expected yes or no")
    schema = MASKED if masks == "yes" else OBJECTS
    if "detections" in options:
        if "boxes" in options:
            raise InputError("boxes is of annotations; a detector's are xywh, so leave it out")
        path = Path(options["detections"]).expanduser()
        table = detected(path, names, _score(options), _categories_near(place))
        return {"objects": table.select(*schema.dtypes)}, schema, {}
    if "score" in options:
        raise InputError("score is of detections; add detections=FILE, or leave it out")
    tables, sizes = object_tables(place, names, options, schema)
    return tables, schema, sizes


def object_tables(
    place: Path, names: Mapping[str, str], options: Mapping[str, str], schema: Schema = OBJECTS
) -> tuple[dict[str, pl.DataFrame], Sizes]:
    """The table `objects` of the images, a row an object, and sizes, of `annotations/instances_FOLDER.json`.

    `names` are files by image, whose folders are COCO's splits. Empty if there is no such file. InputError
    where an image is not among the file's, or an annotation is of none of them.
    """
    boxes = options.get("boxes", BOXES[0])
    if boxes not in BOXES:
        raise InputError(f"boxes is {boxes!r}; expected one of {', '.join(BOXES)}")
    tables, sizes = [], Sizes()
    for split in sorted({name.partition("/")[0] for name in names.values()}):
        path = seek(place, f"annotations/instances_{escape(split)}.json")
        if path is None:
            continue
        content = read_json(path)
        categories = _categories(content, path)
        wanted = [name for name, file in names.items() if file.partition("/")[0] == split]
        listed = set(wanted)
        if "images" in content:
            of_size = {
                number_field(entry, "id", where): _size(entry, where)
                for where, entry in entries(content, "images", path, "image")
            }
            listed = set(of_size)
            sizes.update((name, size) for name, size in of_size.items() if size and name in names)
            check_partners(
                [name for name in wanted if name not in listed], len(wanted), "images", path, options
            )
        of_image = [
            (number_field(entry, "image_id", where), where, entry)
            for where, entry in entries(content, "annotations", path, "annotation")
        ]
        strange = [image for image, _, _ in of_image if image not in listed]
        check_partners(strange, len(of_image), "images of annotations", f"{path}, images", options)
        rows = [
            _object(entry, image, categories, where, masks=schema is MASKED)
            for image, where, entry in of_image
            if image in names
        ]
        table = pl.DataFrame(rows, schema=MASKED.dtypes, orient="row").select(*schema.dtypes)
        tables.append(_in_pixels(table, boxes, sizes, path, check="boxes" not in options))
    table = pl.concat(tables) if tables else pl.DataFrame()
    return ({"objects": table} if len(table) else {}), sizes


def _size(entry: Mapping[str, Any], where: str) -> tuple[float, float] | None:
    if "width" not in entry or "height" not in entry:
        return None
    width, height = numbers([entry["width"], entry["height"]], 2, "width and height", where)
    return width, height


def _in_pixels(
    table: pl.DataFrame, boxes: str, sizes: Sizes, path: Path, *, check: bool, advice: str = ADVICE
) -> pl.DataFrame:
    """The objects with boxes as xywh in pixels; InputError where boxes can hardly be what `boxes` says.

    With `check` they must agree with their area as well. `advice` ends the error.
    """
    known = pl.DataFrame(
        [(name, *size) for name, size in sizes.items()],
        schema={"image_id": pl.String, "W": pl.Float64, "H": pl.Float64},
        orient="row",
    )
    sized = table.join(known, on="image_id", how="left", maintain_order="left")
    x, y, width, height = map(pl.col, EDGES)
    if boxes == "xyxy":
        sized = sized.with_columns(width=width - x, height=height - y)
    if boxes == "relative":
        if sized["W"].null_count():
            raise InputError(f"{path}: boxes are relative, but not every image has a width and a height")
        scaled = {name: pl.col(name) * pl.col(side) for name, side in zip(EDGES, "WHWH", strict=True)}
        sized = sized.with_columns(**scaled)
    outside = (x + width > pl.col("W") + 2) | (y + height > pl.col("H") + 2)
    tiny = (x >= 0) & (y >= 0) & (x + width <= 1) & (y + height <= 1)  # as shares are, not a single pixel
    tiny &= pl.any_horizontal(pl.col(EDGES) % 1 != 0)
    wrong = outside.fill_null(False) | (width < 0) | (height < 0) | tiny
    if check:
        area, box, other = pl.col("area"), width * height, (width - x) * (height - y)
        exactly = (other - area).abs() <= 0.01 * area + 1e-6
        wrong |= (area > 1.1 * box + 16) | (exactly & ((box - area).abs() > 0.01 * area + 1))
    if (count := sized.select(wrong.sum()).item()) > WRONG * len(sized):
        row = sized.select(wrong.arg_max()).item()
        first = table.row(row, named=True)
        raise InputError(
            f"{path}: {count} of {len(sized)} boxes contradict their area or the picture's size, as of "
            f"{first['object']!r} in {first['image_id']!r}: {[first[edge] for edge in EDGES]} with area "
            f"{first['area']:g}; {advice}"
        )
    return sized.drop("W", "H")


def detected(path: Path, names: Mapping[str, str], score: float, categories: Categories) -> pl.DataFrame:
    """What a detector found in the images, as the table `objects` with masks.

    The file is a list of `image_id`, `category_id`, `bbox` and `score`, with a `segmentation` or without.
    InputError for a file of another layout, for a class that is not among `categories`, and for one that
    holds nothing of these images with a score of `score`.
    """
    rows = []
    others = 0
    content = {"detections": read_json(path)}
    for where, entry in entries(content, "detections", path, "detection"):
        image = number_field(entry, "image_id", where)
        (sure,) = numbers([field(entry, "score", where)], 1, "score", where)
        others += image not in names
        if image in names and sure >= score:
            _, _, width, height = numbers(field(entry, "bbox", where), 4, "bbox", where)
            found = entry | {"area": width * height, "iscrowd": 0}
            rows.append(_object(found, image, categories, where, masks=True))
    if not rows:
        raise InputError(
            f"{path}: holds no detection with a score of {score} or more in the {len(names):,} images; are "
            "its image_id those of the captions?"
        )
    table = pl.DataFrame(rows, schema=MASKED.dtypes, orient="row")
    advice = "a detector's boxes are x, y, width and height in pixels"
    table = _in_pixels(table, BOXES[0], {}, path, check=False, advice=advice)
    bare = len(names) - table["image_id"].n_unique()
    if others or bare:
        notice(
            f"{path}: {others} of {len(content['detections'])} detections are of other images, and {bare} of "
            f"{len(names)} images have none with a score of {score}"
        )
    return table


def _score(options: Mapping[str, str]) -> float:
    try:
        return float(options.get("score", SCORE))
    except ValueError:
        raise InputError(f"score is {options['score']!r}; expected a number") from None


def _categories_near(place: Path) -> Categories:
    """The classes of the instances beside the captions, or COCO's own."""
    path = seek(place, "annotations/instances_*.json")
    if path is not None:
        return _categories(read_json(path), path)
    return {str(number): (name, None) for number, name in enumerate(CLASSES, start=1) if name}


def _categories(content: Any, path: Path) -> Categories:
    categories: dict[str, tuple[str, str | None]] = {}
    for where, entry in entries(content, "categories", path, "category"):
        number, name = number_field(entry, "id", where), text_field(entry, "name", where)
        if number in categories:
            raise InputError(
                f"{where}: number {number} is of {name!r} and of {categories[number][0]!r}; it must be of one"
            )
        if not name.strip():
            raise InputError(f"{where}: field 'name' is empty; give class {number} a name")
        categories[number] = name, optional_text(entry, "supercategory", where)
    return categories


def _object(
    entry: Mapping[str, Any], image: str, categories: Categories, where: str, *, masks: bool
) -> tuple[Any, ...]:
    category = number_field(entry, "category_id", where)
    if category not in categories:
        raise InputError(f"{where}: category {category} is not among the file's categories")
    crowd = entry.get("iscrowd", 0)
    if crowd not in (0, 1):  # no set: it may be a list
        raise InputError(f"{where}: iscrowd is {crowd!r}; expected 0 or 1")
    mask = entry.get("segmentation") if masks else None
    return (
        image, *categories[category],
        *numbers(field(entry, "bbox", where), 4, "bbox", where),
        *numbers([field(entry, "area", where)], 1, "area", where), bool(crowd),
        json.dumps(mask, separators=(",", ":")) if mask else None,
    )  # fmt: skip
