"""`pictograms-culture`: the embedded benchmark of association bias, made the way 3XCM is.

Each of 100 concepts is drawn with the flag of each of 16 countries, and asked for by its name in the
country's language (12 languages; Nigeria's is Yoruba). A trial offers the concept with another flag, another
concept with the query's flag, and neither. The flag stands for whatever ties a picture to a culture: a query
asks for the drawing and never for its flag, so a system that follows the flag follows who is asking.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.benchmarks.base import Benchmark, same_attribute
from equiview.benchmarks.pictograms import (
    LICENCE,
    SOURCE,
    drawings,
    english_names,
    flagged,
    flags,
    names,
    nigerian_names,
)
from equiview.benchmarks.trials import SCHEMA, make_trials
from equiview.data.countries import countries
from equiview.data.items import Items

CONCEPTS = 100
SEED = 0


def pictograms_culture(argument: str = "") -> Benchmark:
    """The embedded benchmark of association bias; it takes no argument.

    Images and texts have `concept` and `country`; `tables["trials"]` holds the trials.
    """
    chosen = _concepts()
    images = Items("image", _flagged(chosen), "pictograms-culture: images")
    texts = Items("text", _queries(chosen), "pictograms-culture: queries")
    return Benchmark(
        name="pictograms-culture",
        images=images,
        texts=texts,
        relevance=same_attribute(images, texts, "concept"),
        about="emoji drawings with flags of 16 countries, asked for in the countries' languages",
        source=SOURCE,
        licence=LICENCE,
        tables={"trials": make_trials(images, texts, seed=SEED)},
        schemas={"trials": SCHEMA},
    )


def spoken_names() -> pl.DataFrame:
    """Names of the concepts in the 12 languages: concept, language, text."""
    codes = countries()["language"].unique().to_list()
    every = pl.concat([names(), nigerian_names()], how="diagonal_relaxed")
    return every.filter(pl.col("language").is_in(codes)).select("concept", "language", "text")


def _concepts() -> pl.DataFrame:
    """Concepts named in all 12 languages, one of each family so that no two look alike, drawn by seed.

    A name that two concepts share in some language would make a trial unfair, so such concepts are excluded.
    """
    spoken = spoken_names()
    ambiguous = spoken.filter(pl.struct("language", "text").is_duplicated())["concept"]
    complete = (
        spoken.group_by("concept", maintain_order=True)
        .len()
        .filter(pl.col("len") == spoken["language"].n_unique())
    )
    usable = (
        drawings()
        .filter(pl.col("concept").is_in(complete["concept"].to_list()))
        .filter(~pl.col("concept").is_in(ambiguous.to_list()))
        .unique("family", keep="first", maintain_order=True)
    )
    rows = np.sort(np.random.default_rng(SEED).choice(len(usable), CONCEPTS, replace=False))
    return usable[rows]


def _flagged(chosen: pl.DataFrame) -> pl.DataFrame:
    english = english_names()
    country_of = dict(zip(countries()["code"], countries()["country"], strict=True))
    rows = []
    for row in chosen.iter_rows(named=True):
        name = english[row["concept"]]
        for code in flags()["country"]:
            picture = flagged(row["picture"], code)
            rows.append((f"{name}:{code}", picture, name, country_of[code], row["group"]))
    return pl.DataFrame(rows, schema=["id", "picture", "concept", "country", "group"], orient="row")


def _queries(chosen: pl.DataFrame) -> pl.DataFrame:
    english = names().filter(language="en").select("concept", name="text")
    return (
        chosen.select("concept")
        .join(english, on="concept", maintain_order="left")
        .join(spoken_names(), on="concept", maintain_order="left")
        .join(countries().select("language", "country"), on="language", maintain_order="left")
        .select(
            pl.concat_str("name", "country", separator=":").alias("id"),
            "text",
            "language",
            "country",
            concept="name",
        )
    )
