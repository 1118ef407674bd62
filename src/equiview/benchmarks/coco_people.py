"""`coco-people:DIR`: COCO images of people with gender and skin tone (Zhao, Wang and Russakovsky, ICCV 2021).

The authors give the annotations on request: `images_val2014.csv`, next to the `val2014/` and `annotations/`
of COCO. Images have `gender` and `skin`, in lower case; `split` is all (default), train or val, as
the authors divided them. Captions and the table `objects` are read if COCO's files are there.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark
from equiview.benchmarks.coco import OBJECTS, coco_captions, coco_file, object_tables
from equiview.benchmarks.release import Release, image_items, seek, text_items
from equiview.data.tables import Column, Schema, read_table
from equiview.errors import InputError

ZHAO = Release(
    name="coco-people",
    title="Understanding and Evaluating Racial Biases in Image Captioning",
    source="https://princetonvisualai.github.io/imagecaptioning-bias",
    licence="on request from the authors, research only",
    needs=(("images_val2014.csv", "*/images_val2014.csv"),),
    options=("split",),
)
LABELS = Schema(
    "images_val2014",
    (
        Column("id", pl.String, "COCO's number of the image", unique=True),
        Column("bb_gender", pl.String, "Male, Female, Both, Unsure or empty", nullable=True),
        Column("bb_skin", pl.String, "Light, Dark, Both, Unsure or empty", nullable=True),
        Column("split", pl.String, "train or val", optional=True),
    ),
)


@benchmark(
    "coco-people",
    usage=("coco-people:DIR",),
    about="COCO with gender and skin tone as annotated by Zhao et al. (your copy, on request)",
)
def coco_people(argument: str) -> Benchmark:
    """Read the annotated images; captions and the table `objects` if COCO's files are there."""
    place, options = ZHAO.open(argument)
    split = ZHAO.choice(options, "split", ("all", "train", "val"))
    path = ZHAO.find(place)
    table = read_table(path, LABELS)
    if split != "all":
        if "split" not in table.columns:
            raise InputError(f"{path}: has no column 'split', so the images cannot be divided")
        table = table.filter(pl.col("split") == split)
    wrong = (~table["id"].str.contains(r"^\d+$")).arg_true()
    if len(wrong):
        raise InputError(f"{path}, row {wrong[0] + 1}: id {table['id'][wrong[0]]!r} is not a number of COCO")
    names = {image: coco_file(image, "val2014") for image in table["id"]}
    labels = {name: table[f"bb_{name}"].str.to_lowercase() for name in ("gender", "skin")}
    images = image_items(place, names, (".", "images"), path, labels)
    about = f"{len(images):,} images of people"
    texts = None
    if captioned := seek(place, "annotations/captions_val2014.json"):
        _, captions = coco_captions(captioned, "val2014")
        texts = text_items((row for row in captions if row[0] in names), captioned)
        about += f", {len(texts):,} English captions"
    tables = object_tables(place, names)
    return ZHAO.benchmark(images, texts, about=about, part=split, tables=tables, schemas={"objects": OBJECTS})
