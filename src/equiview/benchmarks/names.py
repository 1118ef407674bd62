"""Names of concepts: texts that name what images show, in each language, as a user's table or with equiview.

A table has `concept`, `language`, `text` and perhaps `country`, where a country is asked in another language
than `equiview.data.countries` says. Each name is relevant to all images of its concept. Association asks by
them for images, and parity classifies images by them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.prompts import Prompts
from equiview.data.items import Items
from equiview.data.languages import language_name, read_languages
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


def name_items(known: pl.DataFrame, path: str | None, source: str) -> Items:
    """The names of a user's file as texts, and of those `known` the ones that it leaves out.

    `source` says where those known are from. A file that says of which country a name is stands alone. Ids
    are `CONCEPT-LANGUAGE`, or `CONCEPT-COUNTRY`. InputError for a file that is wrong or repeats a name.
    """
    if path is None:
        table = known
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


def prompts_of_names(benchmark: Benchmark) -> tuple[Prompts | None, dict[str, str]]:
    """The names of a benchmark's concepts as prompts of `concept`, None where there are none.

    A language that lacks the name of a concept, or has one word for two of them, makes no fair classifier: it
    has no prompts, and is among the second, with the reason, which a notice says too.
    """
    texts = benchmark.texts
    if texts is None or not are_names(texts) or "concept" not in benchmark.images.table.columns:
        return None, {}
    shown = benchmark.images.labels("concept").drop_nulls().unique(maintain_order=True)
    table = (
        texts.table.with_columns(texts.labels("concept"))
        .filter(pl.col("concept").is_in(shown.implode()))
        .select("language", "text", paraphrase=pl.lit("name"), value="concept", checked=pl.lit(""))
        .unique(["language", "value"], keep="first", maintain_order=True)
    )
    whole, lacking = [], {}
    for (language,), part in table.group_by("language", maintain_order=True):
        unclear = part.filter(pl.col("text").is_duplicated())
        if len(part) < len(shown):
            reason = f"{len(part)} of {len(shown)} concepts have a name in it"
        elif len(unclear):
            concepts = unclear.filter(text=unclear["text"][0])["value"]
            reason = f"{unclear['text'][0]!r} names {concepts[0]!r} and {concepts[1]!r}"
        else:
            whole.append(part)
            continue
        lacking[str(language)] = reason
        notice(f"{texts.source}: no image is classified in {language_name(str(language))}: {reason}")
    if not whole:
        return None, lacking
    return Prompts("concept", dict.fromkeys(shown, ()), pl.concat(whole), texts.source), lacking
