"""Triplets, and the benchmark on disk in the layout of the released 3XCM, which `3xcm:DIR` reads.

benchmark/test-00000-of-00001.parquet         the triplets
image_metadata/test-NNNNN-of-NNNNN.parquet    images with what is known of them, the files inside
README.md                                     dataset card, with the configurations for Hugging Face
croissant.json                                the same for machines (MLCommons Croissant 1.0)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.trials import choose_trials
from equiview.benchmarks.xcm import CARD, METADATA, PREFIX, TRIALS
from equiview.build.xcm.steps import with_results
from equiview.data.countries import countries
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import checksum, write_bytes, write_parquet
from equiview.io.templates import templates

SHARD = 1000
"""Images of a file: all that memory holds at a time."""
IMAGE = pl.Struct({"bytes": pl.Binary, "path": pl.String})
KEPT = (
    *("concept_id", "image_id", "concept", "concept_country", "country", "title", "concept_in_native"),
    *("query", "text", "url", "page", "author", "licence", "licence_url"),
    *("width", "height", "sha256", "labels"),
)
"""Fields of an image beside `image`; those of the first line are the released ones."""


def with_triplets(table: pl.DataFrame, names: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The step, which rejects images that are no query, and the trials as `choose_trials` gives them."""
    columns = table.select(pl.col("item_id").alias("id"), "concept", "country")
    # One file that several concepts found shows them all.
    same = table.group_by("sha256", maintain_order=True).agg(also="concept")
    shown = table.join(same, on="sha256", how="left", maintain_order="left")
    labels = shown.select(pl.concat_list("labels", "also"))["labels"].to_list()
    asked = with_native(table, names).select("concept", "country", "concept_in_native").iter_rows()
    query_of = {(concept, country): native for concept, country, native in asked}
    images = Items("image", columns, "the images left")
    trials, left = choose_trials(images, query_of, seed=seed, labels=labels)
    reasons = {name: reason for reason, ids in left.items() for name in ids}
    return with_results(table, [(reasons.get(name), None) for name in table["item_id"]]), trials


def with_native(table: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """`table` with `concept_in_native`: the concept's name in the language of each image's country."""
    language_of = dict(countries().select("country", "language").iter_rows())
    by_id = {row["concept_id"]: row for row in names.iter_rows(named=True)}
    native = [
        concept if language_of[country] == "en" else by_id[number][f"name_{language_of[country]}"]
        for number, concept, country in table.select("concept_id", "concept", "country").iter_rows()
    ]
    return table.with_columns(pl.Series("concept_in_native", native, dtype=pl.String))


def benchmark_table(table: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The triplets in the released columns; an index is a row of `image_metadata`."""
    known = {
        row["item_id"]: (number, row["item_id"], row["concept"], row["country"])
        for number, row in enumerate(table.iter_rows(named=True))
    }
    columns = {"query": "query_image_id"} | {prefix: f"{role}_id" for role, prefix in PREFIX.items()}
    parts: dict[str, pl.Series] = {}
    for prefix, column in columns.items():
        rows = [known[name] for name in trials[column]]
        fields = zip(("index", "image_id", "concept", "country"), zip(*rows, strict=True), strict=True)
        parts |= {f"{prefix}_{field}": pl.Series(list(values)) for field, values in fields}
    return TRIALS.check(pl.DataFrame(parts), "benchmark").select(*parts)


def export(
    folder: Path,
    out: Path,
    table: pl.DataFrame,
    trials: pl.DataFrame,
    names: pl.DataFrame,
    card: Mapping[str, Any],
) -> None:
    """Write the benchmark of the images in `out` to `folder`; InputError for a file that has changed since.

    `card` has title, licence, about, counts, settings and sources for the card.
    """
    files = ["benchmark/test-00000-of-00001.parquet"]
    write_parquet(benchmark_table(table, trials), folder / files[0])
    whole = with_native(table, names).rename({"item_id": "image_id"})
    whole = whole.with_columns(concept_country=pl.lit(None, pl.String))
    shards = -(-len(whole) // SHARD)
    for number in range(shards):
        part = whole[number * SHARD : (number + 1) * SHARD]
        pictures = pl.Series("image", list(_pictures(out, part)), dtype=IMAGE)
        files.append(f"image_metadata/test-{number:05}-of-{shards:05}.parquet")
        checked = METADATA.check(part.select(*KEPT).with_columns(pictures), "image_metadata")
        write_parquet(checked.select(*KEPT, "image"), folder / files[-1])
    _write_card(folder, whole, trials, card)
    _write_croissant(folder, files, whole, card)


def _pictures(out: Path, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for name, file, sha256 in table.select("image_id", "file", "sha256").iter_rows():
        content = content_of(out / file)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InputError(f"{out / file}: was changed after it was collected; restore it, or begin again")
        yield {"bytes": content, "path": f"{name}{Path(file).suffix}"}


def _write_card(folder: Path, table: pl.DataFrame, trials: pl.DataFrame, card: Mapping[str, Any]) -> None:
    def counted(column: str) -> list[tuple[str, int]]:
        return table[column].replace("", None).fill_null("not stated").value_counts(sort=True).sort(
            pl.col("count"), column, descending=[True, False]
        ).rows()  # fmt: skip

    environment = templates("equiview.build")
    environment.autoescape = False  # the page is Markdown
    page = environment.get_template("card.md").render(
        **card,
        triplets=len(trials),
        images=len(table),
        concepts=sorted(set(table["concept"])),
        licences=[(_cell(name), count) for name, count in counted("licence")],
        countries=counted("country"),
    )
    write_bytes((page.rstrip("\n") + "\n").encode(), folder / "README.md")


def _cell(text: str) -> str:
    """Words of somebody else in a cell of Markdown."""
    return " ".join(text.replace("|", "/").replace("<", "&lt;").split())[:80]


def _write_croissant(folder: Path, files: list[str], table: pl.DataFrame, card: Mapping[str, Any]) -> None:
    distribution: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": "application/x-parquet",
            "sha256": checksum(folder / name),
        }
        for name in files
    ]
    sets = {"benchmark": files[:1], "image_metadata": files[1:]}
    distribution += [
        {
            "@type": "cr:FileSet",
            "@id": f"{name}-files",
            "name": f"{name}-files",
            "encodingFormat": "application/x-parquet",
            "includes": f"{name}/*.parquet",
        }
        for name in sets
    ]
    records = [
        {
            "@type": "cr:RecordSet",
            "@id": name,
            "name": name,
            "field": [
                _field(name, column, dtype)
                for column, dtype in pl.read_parquet_schema(folder / members[0]).items()
            ],
        }
        for name, members in sets.items()
    ]
    content = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": card["title"],
        "description": card["about"],
        "license": card["licence"] or "not stated",
        "url": card["url"],
        "version": "1.0.0",
        "distribution": distribution,
        "recordSet": records,
    }
    write_bytes(json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n", folder / CARD)


def _field(record: str, column: str, dtype: pl.DataType) -> dict[str, Any]:
    source: dict[str, Any] = {"fileSet": {"@id": f"{record}-files"}, "extract": {"column": column}}
    kind = "sc:Text"
    if isinstance(dtype, pl.Struct):
        kind, source = "sc:ImageObject", source | {"transform": {"jsonPath": "bytes"}}
    elif dtype.is_integer():
        kind = "sc:Integer"
    repeated = {"repeated": True} if isinstance(dtype, pl.List) else {}
    return {
        "@type": "cr:Field", "@id": f"{record}/{column}", "name": column, "dataType": kind, "source": source
    } | repeated  # fmt: skip


TERMS = """
citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes
isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace
samplingRate separator source subField transform
"""
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in TERMS.split()},
}
"""The context that every Croissant file has (MLCommons Croissant 1.0, section "JSON-LD context")."""
