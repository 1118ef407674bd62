"""`folder:DIR`: anybody's own images and texts, as two tables.

`images.csv` (or .parquet) has `id` and, if there are pictures, `path` (relative to the folder). `texts.csv`
(or .parquet) has `id`, `text`, `language` and `image_id`. Every further column is an attribute.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark, same_image
from equiview.data.items import IMAGES, TEXTS, Items
from equiview.data.tables import read_table
from equiview.errors import InputError


@benchmark("folder", usage=("folder:DIR",), about="your own images and texts, as tables in a folder")
def folder(argument: str) -> Benchmark:
    """Read the tables of a folder; InputError names file, column and row of whatever is wrong."""
    if not argument:
        raise InputError("benchmark 'folder' needs a folder: folder:DIR")
    place = Path(argument)
    images, texts = read_images(place), read_texts(place)
    return Benchmark(
        name=f"folder:{place.name}",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about="images and texts of the user's own",
    )


def read_images(place: Path) -> Items:
    """The images table of a folder, paths made absolute."""
    path = table_in(place, "images")
    table = read_table(path, IMAGES)
    if "path" in table.columns:
        table = table.with_columns(
            pl.col("path").map_elements(lambda name: str(place / name), return_dtype=pl.String)
        )
    return Items("image", table, str(path))


def read_texts(place: Path) -> Items:
    """The texts table of a folder."""
    path = table_in(place, "texts")
    return Items("text", read_table(path, TEXTS), str(path))


def table_in(place: Path, stem: str) -> Path:
    """The `.parquet` or `.csv` file of that stem; InputError when the folder has neither, or both."""
    if not place.is_dir():
        raise InputError(f"{place}: no such folder")
    found = [
        place / f"{stem}{suffix}" for suffix in (".parquet", ".csv") if (place / f"{stem}{suffix}").is_file()
    ]
    if len(found) != 1:
        what = "both" if found else "neither"
        raise InputError(f"{place}: holds {what} of {stem}.csv and {stem}.parquet; it needs exactly one")
    return found[0]
