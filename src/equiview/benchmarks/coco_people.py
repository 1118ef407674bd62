"""`coco-people:DIR`: COCO images of people with gender and skin tone (Zhao, Wang and Russakovsky, ICCV 2021).

The annotations are had from their authors on request: `images_val2014.csv`, beside the `val2014/` of COCO
and `annotations/`. Images have `gender` and `skin`, in lower case; `split` is all (default), train or val, as
the authors divided them. Captions and the table `objects` are there where COCO's files are.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark, same_image
from equiview.benchmarks.coco import coco_captions, coco_file, coco_objects
from equiview.benchmarks.release import Release, image_items, one_of, seek, text_items, without_texts
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
SEEN = Schema(
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
    """Read the annotated images; captions and the table `objects` where COCO's files are there."""
    place, options = ZHAO.open(argument)
    split = one_of(options, "split", ("all", "train", "val"), "coco-people")
    path = ZHAO.find(place, *ZHAO.needs[0])
    table = read_table(path, SEEN)
    if split != "all":
        if "split" not in table.columns:
            raise InputError(f"{path}: has no column 'split', so the images cannot be divided")
        table = table.filter(pl.col("split") == split)
    wrong = (~table["id"].str.contains(r"^\d+$")).arg_true()
    if len(wrong):
        raise InputError(f"{path}, row {wrong[0] + 1}: id {table['id'][wrong[0]]!r} is not a number of COCO")
    names = {image: coco_file(image, "val2014") for image in table["id"]}
    seen = {name: table[f"bb_{name}"].str.to_lowercase() for name in ("gender", "skin")}
    images = image_items(place, names, (".", "images"), path, seen)
    about = f"{len(images):,} images of people"
    objects = coco_objects(place, names)
    tables = {} if objects is None else {"objects": objects}
    captioned = seek(place, "annotations/captions_val2014.json")
    if captioned is None:
        return without_texts(f"coco-people-{split}", images, ZHAO, about, tables)
    _, captions = coco_captions(captioned, "val2014")
    texts = text_items((row for row in captions if row[3] in names), captioned)
    return Benchmark(
        name=f"coco-people-{split}",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about=f"{about}, {len(texts):,} English captions",
        source=ZHAO.source,
        licence=ZHAO.licence,
        tables=tables,
    )
