"""`dollarstreet:DIR`: things of homes of all incomes in 63 countries (Gaviria Rojas et al., NeurIPS 2022).

The release of MLCommons (`dataset_dollarstreet`, also on Kaggle): `images_v2.csv`, or with `part=train` and
`part=test` the images that have a class of ImageNet, and the pictures where `imageRelPath` says. Gapminder's
own site has another layout, which is not read.

Images have `concept` (their first topic), `shows` (all topics), `country`, `region`, `income` in US dollars
a month and `income_quartile`, among the images that are read. `topics=single` leaves out images of several
topics. Texts are the topics' English names; `names=FILE` adds other languages (`equiview.benchmarks.names`).
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import polars as pl

from equiview.benchmarks.base import Benchmark, same_attribute
from equiview.benchmarks.names import name_items
from equiview.benchmarks.release import Release, image_items
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema, read_table

PARTS = {
    "all": "images_v2.csv",
    "train": "images_v2_imagenet_train.csv",
    "test": "images_v2_imagenet_test.csv",
}
DOLLARSTREET = Release(
    name="dollarstreet",
    title="Dollar Street",
    licence="CC BY-SA 4.0",
    needs=(tuple(f"{folder}images_v2*.csv" for folder in ("", "*/")),),
    options=("part", "topics", "names"),
)
IMAGES = Schema(
    "images_v2",
    (
        Column("id", pl.String, "the image", unique=True),
        Column("country.name", pl.String, "country of the home"),
        Column("region.id", pl.String, "its continent: af, am, as or eu"),
        Column("imageRelPath", pl.String, "file of the picture"),
        Column("topics", pl.String, "what it shows, as a list in Python's or JSON's words"),
        Column("income", pl.Float64, "the home's income in US dollars a month", nullable=True),
    ),
)
REGIONS = {"af": "Africa", "am": "the Americas", "as": "Asia", "eu": "Europe"}
QUARTILES = ("1 (lowest)", "2", "3", "4 (highest)")


def dollarstreet(argument: str) -> Benchmark:
    """Read a part, all by default; InputError names the row of a topic or a region that cannot be read."""
    place, options = DOLLARSTREET.open(argument)
    part = DOLLARSTREET.choice(options, "part", tuple(PARTS))
    single = DOLLARSTREET.choice(options, "topics", ("all", "single")) == "single"
    path = DOLLARSTREET.find(place, PARTS[part], f"*/{PARTS[part]}")
    table = read_table(path, IMAGES).with_columns(pl.col("income").fill_nan(None))
    regions = table["region.id"].replace_strict(REGIONS, default=None, return_dtype=pl.String)
    if regions.null_count():
        row = regions.is_null().arg_true()[0]
        raise InputError(
            f"{path}: column 'region.id', row {row + 1}: {table['region.id'][row]!r} is none of "
            f"{', '.join(REGIONS)}"
        )
    topics = [
        _topics(text, f"{path}: column 'topics', row {row}") for row, text in enumerate(table["topics"], 1)
    ]
    attributes = pl.DataFrame(
        {
            "concept": [several[0] for several in topics],
            "shows": [";".join(several) for several in topics],
            "country": table["country.name"],
            "region": regions,
            "income": table["income"],
            "income_quartile": quartiles(table["income"]),
        }
    )
    if single:
        kept = pl.Series([len(several) == 1 for several in topics])
        if not kept.any():
            raise InputError(f"{path}: every image has several topics; leave topics=single out")
        notice(f"{path}: {len(kept) - kept.sum()} of {len(kept)} images have several topics and are left out")
        table, attributes = table.filter(kept), attributes.filter(kept)
    names = dict(table.select("id", "imageRelPath").iter_rows())
    images = image_items(path.parent, names, (".",), path, attributes.to_dict())
    concepts = attributes["concept"].unique().sort()
    english = pl.DataFrame({"concept": concepts}).with_columns(language=pl.lit("en"), text="concept")
    texts = name_items(english, options.get("names"), f"{path}, column 'topics'")
    about = (
        f"{len(images):,} images of {len(concepts)} topics in {attributes['country'].n_unique()} countries"
    )
    return DOLLARSTREET.benchmark(
        images,
        texts,
        same_attribute(images, texts, "concept"),
        about=about,
        part="" if part == "all" else part,
    )


def quartiles(incomes: pl.Series) -> pl.Series:
    """The quarter of each income among these, equal ones in the same; null for none.

    >>> quartiles(pl.Series([30.0, 100.0, 100.0, 500.0, 9000.0, None])).to_list()
    ['1 (lowest)', '1 (lowest)', '1 (lowest)', '3', '4 (highest)', None]
    """
    known = incomes.drop_nulls().to_numpy()
    if not len(known):
        return pl.Series([None] * len(incomes), dtype=pl.String)
    edges = np.quantile(known, (0.25, 0.5, 0.75))
    places = [None if value is None else QUARTILES[int(np.searchsorted(edges, value))] for value in incomes]
    return pl.Series(places, dtype=pl.String)


def _topics(text: str, where: str) -> list[str]:
    """The topics of an image in lower case, each once; a word that is no list is one topic."""
    content: Any = text
    if text.lstrip().startswith("["):
        try:
            content = ast.literal_eval(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise InputError(f"{where}: {text[:60]!r} is not a list of words") from None
    listed = content if isinstance(content, list) else [content]
    if not all(isinstance(topic, str) for topic in listed):
        raise InputError(f"{where}: {text[:60]!r} is not a list of words")
    topics = list(dict.fromkeys(" ".join(topic.lower().replace(";", ",").split()) for topic in listed))
    if not topics or "" in topics:
        raise InputError(f"{where}: {text[:60]!r} names no topic, or one without words")
    return topics
