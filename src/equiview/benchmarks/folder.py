"""`folder:DIR`: the user's images and texts, as two tables.

`images.csv` has `id` and, if there are pictures, `path` (relative to the folder). In a Parquet file they may
be bytes in `picture`, or in `image` as Hugging Face's `datasets` writes them. `texts.csv` has `id`, `text`,
`language` and `image_id`; names of what images show have `concept` instead, and are of all images of that
`concept`. Every further column is an attribute. Tables may be in any form that `equiview.io.tables` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark, same_attribute, same_image
from equiview.data.arguments import split_argument
from equiview.data.items import ANY, IMAGES, TEXTS, Items, with_pictures
from equiview.errors import InputError
from equiview.io.remote import local
from equiview.io.tables import TABLES, read_table, table_named

KEEP = "keep"
"""The option that names labels that look like missing values and are none, between plus signs."""


def folder(argument: str) -> Benchmark:
    """Read the tables of a folder; InputError names the file, column and row that is wrong.

    `folder:DIR,keep=NA` keeps NA as a label, such as the country's code of Namibia.
    """
    name, options = split_argument(argument, "folder", (KEEP,))
    if not name:
        raise InputError("benchmark 'folder' needs a folder: folder:DIR")
    place, kept = local(name), kept_labels(options)
    images, texts = replace(read_images(place), kept=kept), replace(read_texts(place), kept=kept)
    return of_items(f"folder:{place.name}", images, texts)


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


def kept_labels(options: Mapping[str, str]) -> tuple[str, ...]:
    """The labels that the option `keep` names.

    >>> kept_labels({"keep": "NA+n/a"}), kept_labels({})
    (('NA', 'n/a'), ())
    """
    return tuple(sorted(filter(None, options.get(KEEP, "").split("+"))))


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
    """The table of that name, in any form; InputError if the folder has none, or several."""
    if not place.is_dir():
        raise InputError(f"{place}: no such folder")
    if (path := table_named(place, stem)) is None:
        lone = (place / f"{stem}.npy").exists()
        hint = f"; put the table beside {stem}.npy that says what its rows are" if lone else ""
        raise InputError(f"{place}: holds no {stem}.csv, nor one that ends in {', '.join(TABLES[1:])}{hint}")
    return path
