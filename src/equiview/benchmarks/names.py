"""Names of concepts: texts that name what images show, in each language, as a user's table or with equiview.

A table has `concept`, `language`, `text` and perhaps `country`, where a country is asked in another language
than `equiview.data.countries` says. Each name is relevant to all images of its concept. Association asks by
them for images, and parity classifies images by them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.prompts import Prompts, check_prompts
from equiview.data.items import Items
from equiview.data.languages import read_languages
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema, read_table

NAMES = Schema(
    "names",
    (
        Column("concept", pl.String, "the concept, as the images have it"),
        Column("language", pl.String, "a language, as an ISO 639 code"),
        Column("text", pl.String, "what the concept is called in it"),
        Column("country", pl.String, "the country that is asked so", optional=True),
    ),
)


def name_items(known: pl.DataFrame, path: str | None) -> Items:
    """The names of a user's file as texts, and of those `known` the ones that it leaves out.

    A file that says of which country a name is stands alone. Ids are `CONCEPT-LANGUAGE`, or
    `CONCEPT-COUNTRY`. InputError for a file that is wrong or repeats a name.
    """
    if path is None:
        table, source = known, "names that come with equiview"
    else:
        table, source = read_table(Path(path).expanduser(), NAMES), path
        table = table.with_columns(read_languages(table["language"], source))
        if "country" not in table.columns:
            rest = known.join(table, on=["concept", "language"], how="anti", maintain_order="left")
            table = pl.concat([table.select(known.columns), rest])
    key = "country" if "country" in table.columns else "language"
    return Items("text", table.with_columns(id=pl.concat_str("concept", key, separator="-")), source)


def are_names(texts: Items) -> bool:
    """Whether texts name what images show, and are not captions of one image each."""
    return "concept" in texts.table.columns and "image_id" not in texts.table.columns


def prompts_of_names(benchmark: Benchmark) -> Prompts | None:
    """The names of a benchmark's concepts as prompts of `concept`; None where texts are no names.

    Of languages that lack the name of a concept, which are no fair classifier, there are no prompts, and a
    notice says so. InputError where one word stands for two concepts.
    """
    texts = benchmark.texts
    if texts is None or not are_names(texts) or "concept" not in benchmark.images.table.columns:
        return None
    shown = benchmark.images.table["concept"].drop_nulls().unique(maintain_order=True)
    table = texts.table.filter(pl.col("concept").is_in(shown.implode())).select(
        "language", pl.lit("name").alias("paraphrase"), pl.col("concept").alias("value"), "text",
        pl.lit("").alias("checked"),
    ).unique(["language", "value"], keep="first", maintain_order=True)  # fmt: skip
    counts = dict(table.group_by("language", maintain_order=True).len().iter_rows())
    part = {language: n for language, n in counts.items() if n < len(shown)}
    if part:
        notice(
            f"{texts.source}: images are not classified in {', '.join(sorted(part))}, which name "
            f"{min(part.values())} to {max(part.values())} of {len(shown)} concepts"
        )
    table = table.filter(~pl.col("language").is_in(list(part)))
    if not len(table):
        return None
    prompts = Prompts("concept", dict.fromkeys(shown, ()), table, texts.source)
    if problems := check_prompts(prompts):
        raise InputError(f"{texts.source}: {problems[0]} ({len(problems)} problems in all)")
    return prompts
