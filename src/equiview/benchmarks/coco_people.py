"""`coco-people:DIR`: COCO images of people with gender and skin tone (Zhao, Wang and Russakovsky, ICCV 2021).

The authors give the annotations on request: `images_val2014.csv`, next to the `val2014/` and `annotations/`
of COCO. Images have `gender` and `skin`, in lower case; `split` is all (default), train or val, as
the authors divided them. Captions and the table `objects` are read if COCO's files are there.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.coco import coco_captions, coco_file
from equiview.benchmarks.objects import OBJECTS, object_tables
from equiview.benchmarks.people import ATTRIBUTES, ZHAO, labels_of
from equiview.benchmarks.release import check_partners, image_items, seek, text_items
from equiview.errors import InputError


def coco_people(argument: str) -> Benchmark:
    """Read the annotated images; captions and the table `objects` if COCO's files are there."""
    place, options = ZHAO.open(argument)
    split = ZHAO.choice(options, "split", ("all", "train", "val"))
    table, path = labels_of(place)
    if split != "all":
        if "split" not in table.columns:
            raise InputError(f"{path}: has no column 'split', so the images cannot be divided")
        table = table.filter(pl.col("split") == split)
    names = {image: coco_file(image, "val2014") for image in table["id"]}
    labels = {name: table[name] for name in ATTRIBUTES}
    images = image_items(place, names, (".", "images"), path, labels)
    about = f"{len(images):,} images of people"
    texts = None
    if captioned := seek(place, "annotations/captions_val2014.json"):
        known, captions = coco_captions(captioned, "val2014")
        check_partners(
            [name for name in names if name not in known], len(names), "images", captioned, options
        )
        texts = text_items((row for row in captions if row[0] in names), captioned)
        about += f", {len(texts):,} English captions"
    tables, sizes = object_tables(place, names, options)
    schemas = {"objects": OBJECTS}
    return ZHAO.benchmark(images, texts, about=about, part=split, tables=tables, schemas=schemas, sizes=sizes)
