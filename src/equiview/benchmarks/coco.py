"""`coco:DIR` and `flickr30k:DIR`: English captions, five an image, in Karpathy and Li's splits (CVPR 2015).

COCO (Lin et al., ECCV 2014) as it is published: `train2014/`, `val2014/` (or 2017) and `annotations/`.

- With `dataset_coco.json`, `split` is Karpathy's: test (default), val, train or restval.
- Otherwise, or when asked for, `split` is val2014 (default), train2014, val2017 or train2017, from
  `annotations/captions_SPLIT.json`.

Where `annotations/instances_*.json` are there, the table `objects` says what is in each image and where.

Flickr30K (Young et al., TACL 2014): `dataset_flickr30k.json` and the pictures in `flickr30k-images/` or
`images/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark, same_image
from equiview.benchmarks.release import Release, field, image_items, one_of, read_json, seek, text_items
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
OBJECTS = {
    "image_id": pl.String, "object": pl.String, "supercategory": pl.String, "x": pl.Float64, "y": pl.Float64,
    "width": pl.Float64, "height": pl.Float64, "area": pl.Float64, "crowd": pl.Boolean,
}  # fmt: skip


@benchmark("coco", usage=("coco:DIR", "coco:DIR,split=val2017"), about="COCO: English captions and objects")
def coco(argument: str) -> Benchmark:
    """Read a split; images are named by their number, texts have `image_id` and `slot`."""
    place, options = COCO.open(argument)
    path = seek(place, "dataset_coco.json")
    split = one_of(options, "split", (*KARPATHY, *YEARS) if path else YEARS, "coco")
    if path and split in KARPATHY:
        names, captions = _karpathy(path, split)
    else:
        path = COCO.find(place, f"annotations/captions_{split}.json")
        names, captions = coco_captions(path, split)
    images = image_items(place, names, (".", "images"), path)
    texts = text_items(captions, path)
    objects = coco_objects(place, names)
    return Benchmark(
        name=f"coco-{split}",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about=f"{len(images):,} images, {len(texts):,} English captions"
        + ("" if objects is None else f", {len(objects):,} objects"),
        source=COCO.source,
        licence=COCO.licence,
        tables={} if objects is None else {"objects": objects},
    )


@benchmark("flickr30k", usage=("flickr30k:DIR",), about="Flickr30K: English captions, Karpathy's splits")
def flickr30k(argument: str) -> Benchmark:
    """Read one of Karpathy's splits, test by default; texts have `image_id` and `slot`."""
    place, options = FLICKR30K.open(argument)
    path = FLICKR30K.find(place, *FLICKR30K.needs[0])
    split = one_of(options, "split", KARPATHY[:3], "flickr30k")
    names, captions = _karpathy(path, split)
    images = image_items(place, names, ("flickr30k-images", "flickr30k_images", "images", "."), path)
    texts = text_items(captions, path)
    return Benchmark(
        name=f"flickr30k-{split}",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about=f"{len(images):,} images, {len(texts):,} English captions",
        source=FLICKR30K.source,
        licence=FLICKR30K.licence,
    )


Caption = tuple[str, str, str, str, int]


def _karpathy(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of one split of a `dataset_*.json`."""
    names, captions = {}, []
    for row, entry in enumerate(field(read_json(path), "images", str(path)), start=1):
        where = f"{path}, image {row}"
        if field(entry, "split", where) != split:
            continue
        name = field(entry, "filename", where)
        image = str(entry.get("cocoid") or Path(name).stem)
        if image in names:
            raise InputError(f"{where}: {image!r} was there before")
        names[image] = f"{entry['filepath']}/{name}" if "filepath" in entry else name
        for slot, sentence in enumerate(field(entry, "sentences", where), start=1):
            captions.append((f"{image}-en-{slot}", field(sentence, "raw", where), "en", image, slot))
    if not names:
        raise InputError(f"{path}: holds no image of split {split!r}")
    return names, captions


def coco_captions(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of a `captions_SPLIT.json`."""
    content = read_json(path)
    names = {}
    for row, entry in enumerate(field(content, "images", str(path)), start=1):
        where = f"{path}, image {row}"
        names[str(field(entry, "id", where))] = f"{split}/{field(entry, 'file_name', where)}"
    slots: dict[str, int] = {}
    captions = []
    for row, entry in enumerate(field(content, "annotations", str(path)), start=1):
        where = f"{path}, annotation {row}"
        image = str(field(entry, "image_id", where))
        slots[image] = slot = slots.get(image, 0) + 1
        captions.append((f"{image}-en-{slot}", field(entry, "caption", where).strip(), "en", image, slot))
    return names, captions


def coco_file(image: str, split: str) -> str:
    """The file of an image: 2014's names bear the split, 2017's do not.

    >>> coco_file("42", "val2014")
    'val2014/COCO_val2014_000000000042.jpg'
    """
    return f"{split}/{'' if split.endswith('2017') else f'COCO_{split}_'}{int(image):012d}.jpg"


def coco_objects(place: Path, names: Mapping[str, str]) -> pl.DataFrame | None:
    """What is in the images, one row an object, from the `instances_*.json` of the folders they lie in.

    Columns as in `OBJECTS`: pixels, `crowd` for several objects in one box. None when no such file is there.
    """
    parts = []
    for split in sorted({name.partition("/")[0] for name in names.values()}):
        path = seek(place, f"annotations/instances_{split}.json")
        if path is None:
            continue
        content = read_json(path)
        kinds = {entry["id"]: entry for entry in field(content, "categories", str(path))}
        parts += [
            _object(entry, kinds, f"{path}, annotation {row}")
            for row, entry in enumerate(field(content, "annotations", str(path)), start=1)
            if str(entry.get("image_id")) in names
        ]
    return pl.DataFrame(parts, schema=OBJECTS, orient="row") if parts else None


def _object(entry: Mapping[str, Any], kinds: Mapping[int, Mapping[str, Any]], where: str) -> tuple[Any, ...]:
    kind = kinds.get(field(entry, "category_id", where))
    if kind is None:
        raise InputError(f"{where}: category {entry['category_id']} is not among the file's categories")
    box = field(entry, "bbox", where)
    return (
        str(entry["image_id"]), kind["name"], kind.get("supercategory"), *map(float, box),
        float(field(entry, "area", where)), bool(entry.get("iscrowd", 0)),
    )  # fmt: skip
