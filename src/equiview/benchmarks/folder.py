"""`folder:DIR`: the user's images and texts, as two tables.

`images.csv` (or .parquet) has `id` and, if there are pictures, `path` (relative to the folder). In a Parquet
file they may be bytes in `picture`, or in `image` as Hugging Face's `datasets` writes them. `texts.csv` (or
.parquet) has `id`, `text`, `language` and `image_id`; names of what images show have `concept` instead, and
are of all images of that `concept`. Every further column is an attribute.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark, same_attribute, same_image
from equiview.data.items import IMAGES, TEXTS, Items, with_pictures
from equiview.errors import InputError
from equiview.io.tables import Schema, read_table

ANY = Schema("any", ())
"""A table of which nothing is expected yet."""


@benchmark("folder", usage=("folder:DIR",), about="your own images and texts, as tables in a folder")
def folder(argument: str) -> Benchmark:
    """Read the tables of a folder; InputError names the file, column and row that is wrong."""
    if not argument:
        raise InputError("benchmark 'folder' needs a folder: folder:DIR")
    place = Path(argument).expanduser()
    return of_items(f"folder:{place.name}", read_images(place), read_texts(place))


def of_tables(images: pl.DataFrame, texts: pl.DataFrame, name: str = "tables") -> Benchmark:
    """A benchmark of two tables in memory, in the columns of `folder:DIR`; paths are as they stand."""
    image_table = IMAGES.check(with_pictures(images), "the table of images")
    text_table = TEXTS.check(texts, "the table of texts")
    return of_items(
        name,
        Items("image", image_table, "the table of images"),
        Items("text", text_table, "the table of texts"),
    )


def of_items(name: str, images: Items, texts: Items) -> Benchmark:
    """A benchmark of the user's own images and texts."""
    names = "image_id" not in texts.table.columns and "concept" in texts.table.columns
    return Benchmark(
        name=name,
        images=images,
        texts=texts,
        relevance=same_attribute(images, texts, "concept") if names else same_image(images, texts),
        about="images and texts of the user's own",
    )


def read_images(place: Path) -> Items:
    """The images table of a folder, paths made absolute."""
    path = table_in(place, "images")
    return image_table(path)


def image_table(path: Path) -> Items:
    """The images of a table with `id` or `query_id`; paths are of its folder, and made absolute."""
    table = with_pictures(read_table(path, ANY))
    if "id" not in table.columns and "query_id" in table.columns:
        table = table.rename({"query_id": "id"})
    table = IMAGES.check(table, str(path))
    if "path" in table.columns:
        absolute = [None if name is None else str(path.parent / name) for name in table["path"]]
        table = table.with_columns(path=pl.Series(absolute, dtype=pl.String))
    return Items("image", table, str(path))


def read_texts(place: Path) -> Items:
    """The texts table of a folder."""
    path = table_in(place, "texts")
    return Items("text", read_table(path, TEXTS), str(path))


def table_in(place: Path, stem: str) -> Path:
    """The `.parquet` or `.csv` file of that stem; InputError if the folder has neither, or both."""
    if not place.is_dir():
        raise InputError(f"{place}: no such folder")
    paths = [path for path in (place / f"{stem}.parquet", place / f"{stem}.csv") if os.path.lexists(path)]
    if len(paths) != 1:
        which = "both" if paths else "neither"
        raise InputError(f"{place}: holds {which} of {stem}.csv and {stem}.parquet; it needs exactly one")
    return paths[0]
