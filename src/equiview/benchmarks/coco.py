"""`coco:DIR` and `flickr30k:DIR`: English captions, five an image, in Karpathy and Li's splits (CVPR 2015).

COCO (Lin et al., ECCV 2014) as it is published: `train2014/`, `val2014/` (or 2017) and `annotations/`.

- With `dataset_coco.json`, `split` is Karpathy's: test (default), val, train or restval.
- Otherwise, or on request, `split` is val2014 (default), train2014, val2017 or train2017, from
  `annotations/captions_SPLIT.json`.

If `annotations/instances_*.json` is there, the table `objects` says what is in each image and where.

Flickr30K (Young et al., TACL 2014): `dataset_flickr30k.json` and the pictures in `flickr30k-images/` or
`images/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark
from equiview.benchmarks.release import (
    Release,
    entries,
    field,
    id_field,
    image_items,
    list_field,
    numbers,
    optional_text,
    seek,
    text_field,
    text_items,
)
from equiview.data.files import read_json
from equiview.data.tables import Column, Schema
from equiview.errors import InputError

COCO = Release(
    name="coco",
    title="COCO",
    source="https://cocodataset.org",
    licence="annotations CC BY 4.0, images under Flickr's terms",
    needs=(("dataset_coco.json", "annotations/captions_*.json"),),
    options=("split",),
)
FLICKR30K = Release(
    name="flickr30k",
    title="Flickr30K",
    source="https://shannon.cs.illinois.edu/DenotationGraph",
    licence="images for non-commercial research",
    needs=(("dataset_flickr30k.json", "*/dataset_flickr30k.json"),),
    options=("split",),
)
KARPATHY = ("test", "val", "train", "restval")
YEARS = ("val2014", "train2014", "val2017", "train2017")
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


@benchmark("coco", usage=("coco:DIR", "coco:DIR,split=val2017"), about="COCO: English captions and objects")
def coco(argument: str) -> Benchmark:
    """Read a split; images are named by their number, texts have `image_id` and `slot`."""
    place, options = COCO.open(argument)
    path = seek(place, "dataset_coco.json")
    split = COCO.choice(options, "split", (*KARPATHY, *YEARS) if path else YEARS)
    if path and split in KARPATHY:
        names, captions = _karpathy(path, split)
    else:
        path = COCO.find(place, f"annotations/captions_{split}.json")
        names, captions = coco_captions(path, split)
    images = image_items(place, names, (".", "images"), path)
    texts = text_items(captions, path)
    tables = object_tables(place, names)
    about = f"{len(images):,} images, {len(texts):,} English captions"
    if tables:
        about += f", {len(tables['objects']):,} objects"
    return COCO.benchmark(images, texts, about=about, part=split, tables=tables, schemas={"objects": OBJECTS})


@benchmark("flickr30k", usage=("flickr30k:DIR",), about="Flickr30K: English captions, Karpathy's splits")
def flickr30k(argument: str) -> Benchmark:
    """Read one of Karpathy's splits, test by default; texts have `image_id` and `slot`."""
    place, options = FLICKR30K.open(argument)
    path = FLICKR30K.find(place)
    split = FLICKR30K.choice(options, "split", KARPATHY[:3])
    names, captions = _karpathy(path, split)
    images = image_items(place, names, ("flickr30k-images", "flickr30k_images", "images", "."), path)
    texts = text_items(captions, path)
    about = f"{len(images):,} images, {len(texts):,} English captions"
    return FLICKR30K.benchmark(images, texts, about=about, part=split)


Caption = tuple[str, str, str, int]
"""Image, language, text and slot, as `text_items` takes them."""


def _karpathy(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of one split of a `dataset_*.json`."""
    names, captions = {}, []
    for where, entry in entries(read_json(path), "images", path, "image"):
        if field(entry, "split", where) != split:
            continue
        name = text_field(entry, "filename", where)
        image = id_field(entry, "cocoid", where) if entry.get("cocoid") else Path(name).stem
        if image in names:
            raise InputError(f"{where}: {image!r} is repeated")
        names[image] = f"{text_field(entry, 'filepath', where)}/{name}" if "filepath" in entry else name
        for slot, sentence in enumerate(list_field(entry, "sentences", where), start=1):
            captions.append((image, "en", text_field(sentence, "raw", where), slot))
    if not names:
        raise InputError(f"{path}: holds no image of split {split!r}")
    return names, captions


def coco_captions(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of a `captions_SPLIT.json`."""
    content = read_json(path)
    names: dict[str, str] = {}
    for where, entry in entries(content, "images", path, "image"):
        image = id_field(entry, "id", where)
        if image in names:
            raise InputError(f"{where}: {image!r} is repeated")
        names[image] = f"{split}/{text_field(entry, 'file_name', where)}"
    slots: dict[str, int] = {}
    captions = []
    for where, entry in entries(content, "annotations", path, "annotation"):
        image = id_field(entry, "image_id", where)
        slots[image] = slot = slots.get(image, 0) + 1
        captions.append((image, "en", text_field(entry, "caption", where).strip(), slot))
    return names, captions


def coco_file(image: str, split: str) -> str:
    """The file of an image: names of 2014 contain the split, those of 2017 do not.

    >>> coco_file("42", "val2014")
    'val2014/COCO_val2014_000000000042.jpg'
    """
    return f"{split}/{'' if split.endswith('2017') else f'COCO_{split}_'}{image.zfill(12)}.jpg"


def object_tables(place: Path, names: Mapping[str, str]) -> dict[str, pl.DataFrame]:
    """The table `objects` of the images, one row an object, from `annotations/instances_FOLDER.json`.

    `names` are files by image, whose folders are COCO's splits. Empty if there is no such file.
    """
    rows: list[tuple[Any, ...]] = []
    for split in sorted({name.partition("/")[0] for name in names.values()}):
        path = seek(place, f"annotations/instances_{escape(split)}.json")
        if path is None:
            continue
        content = read_json(path)
        categories = {
            id_field(entry, "id", where): (text_field(entry, "name", where),
                                           optional_text(entry, "supercategory", where))
            for where, entry in entries(content, "categories", path, "category")
        }  # fmt: skip
        rows += [
            _object(entry, categories, where)
            for where, entry in entries(content, "annotations", path, "annotation")
            if str(entry.get("image_id")) in names
        ]
    return {"objects": pl.DataFrame(rows, schema=OBJECTS.dtypes, orient="row")} if rows else {}


def _object(
    entry: Mapping[str, Any], categories: Mapping[str, tuple[str, str | None]], where: str
) -> tuple[Any, ...]:
    category = id_field(entry, "category_id", where)
    if category not in categories:
        raise InputError(f"{where}: category {category} is not among the file's categories")
    crowd = entry.get("iscrowd", 0)
    if crowd not in (0, 1):  # no set: it may be a list
        raise InputError(f"{where}: iscrowd is {crowd!r}; expected 0 or 1")
    return (
        str(entry["image_id"]), *categories[category],
        *numbers(field(entry, "bbox", where), 4, "bbox", where),
        *numbers([field(entry, "area", where)], 1, "area", where), bool(crowd),
    )  # fmt: skip
