"""`fairface:DIR`: faces labelled by age, gender and race (Kärkkäinen and Joo, WACV 2021).

`fairface_label_SPLIT.csv` and the faces in `SPLIT/`; `split` is val (default), train, or all: both in one
gallery, as S has them, train first. The label files hold 97,698 faces; S says 108,501. It has no texts.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import Release, image_items
from equiview.errors import InputError
from equiview.io.tables import Column, Schema, read_table

FAIRFACE = Release(
    name="fairface",
    title="FairFace",
    licence="CC BY 4.0",
    needs=(("fairface_label_val.csv", "fairface_label_train.csv"),),
    options=("split",),
)
FACES = Schema(
    "faces",
    (
        Column("file", pl.String, "file of the picture", unique=True),
        Column("age", pl.String, "age group"),
        Column("gender", pl.String, "Male or Female"),
        Column("race", pl.String, "one of seven groups"),
    ),
)


def fairface(argument: str) -> Benchmark:
    """Read a split, val by default; images have `age`, `gender` and `race`, of all also `split`; no texts."""
    place, options = FAIRFACE.open(argument)
    split = FAIRFACE.choice(options, "split", ("val", "train", "all"))
    tables: list[pl.DataFrame] = []
    for part in ("train", "val") if split == "all" else (split,):
        path = FAIRFACE.find(place, f"fairface_label_{part}.csv")
        tables.append(read_table(path, FACES).with_columns(split=pl.lit(part)))
    table = pl.concat(tables, how="diagonal")
    # Some copies of the labels name the folder of the archive as well.
    rows = table.select("split", "file").iter_rows()
    files = [f"{part}/{Path(name).name}" for part, name in rows]
    stems = pl.Series([file.rpartition(".")[0] for file in files], dtype=pl.String)
    if len(twice := stems.is_duplicated().arg_true()):
        both = [file for file, stem in zip(files, stems, strict=True) if stem == stems[twice[0]]]
        raise InputError(f"{path}: names {both[0]!r} and {both[1]!r}, which would be one image; rename one")
    names = {file.rpartition(".")[0]: file for file in files}
    labels = {"age": table["age"], "gender": table["gender"].str.to_lowercase(), "race": table["race"]}
    if split == "all":
        labels["split"] = table["split"]
    images = image_items(place, names, (".", "fairface", "images"), path, labels)
    return FAIRFACE.benchmark(images, about=f"{len(images):,} faces", part=split)
