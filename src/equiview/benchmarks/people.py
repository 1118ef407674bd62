"""Who is shown in COCO's images, as Zhao, Wang and Russakovsky (ICCV 2021) had it annotated.

`coco-people` reads these labels; other benchmarks of images of COCO val2014 take them by `people=DIR`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.release import NUMBER, UNMATCHED, Release
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema, read_table

ZHAO = Release(
    name="coco-people",
    title="Understanding and Evaluating Racial Biases in Image Captioning",
    licence="on request from the authors, research only",
    needs=(("images_val2014.csv", "*/images_val2014.csv"),),
    options=("split", UNMATCHED, "boxes"),
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
ATTRIBUTES = ("gender", "skin")


def labels_of(place: Path) -> tuple[pl.DataFrame, Path]:
    """The annotated images of a folder: `id`, `gender`, `skin` in lower case, `split` if there; and the file.

    InputError where the file is missing, or an image is not a number of COCO.
    """
    path = ZHAO.find(place)
    table = read_table(path, LABELS)
    wrong = (~table["id"].str.contains(NUMBER)).arg_true()
    if len(wrong):
        raise InputError(f"{path}, row {wrong[0] + 1}: id {table['id'][wrong[0]]!r} is not a number of COCO")
    table = LABELS.check(table.with_columns(pl.col("id").str.replace(NUMBER, "$1")), str(path))
    lower = [pl.col(f"bb_{name}").str.to_lowercase().alias(name) for name in ATTRIBUTES]
    return table.with_columns(lower), path


def with_people(images: Items, folder: str) -> Items:
    """The images with the `gender` and `skin` that a folder of labels says, null where it says nothing.

    How many of both have no partner is said. InputError where the folder is missing, labels none of the
    images, or an image is not a number of COCO.
    """
    labels, path = labels_of(ZHAO.open(folder)[0])
    strange = images.ids.filter(~images.ids.str.contains(NUMBER))
    if len(strange):
        raise InputError(
            f"{images.source}: image {strange[0]!r} is not named by its number in COCO, as in {path} "
            f"({len(strange)} of {len(images)} are not); correct its id, or leave people out"
        )
    table = images.table.join(labels.select("id", *ATTRIBUTES), on="id", how="left", maintain_order="left")
    both = table["id"].is_in(labels["id"].implode()).sum()
    if not both:
        raise InputError(f"{path}: labels none of the {len(images)} images ({images.source})")
    if both < max(len(images), len(labels)):
        notice(f"{path}: labels {both} of the {len(images)} images, and {len(labels) - both} others")
    return Items("image", table, images.source)
