"""`3xcm:DIR`: the released Cross-Cultural Cross-Modal benchmark of P, in its published layout.

`3xcm:hub` downloads it first. A folder has the two configurations of the
release, each as Parquet or CSV: `benchmark` (the trials) and `image_metadata` (the images' labels), as
`NAME.csv`, `NAME.parquet` or `NAME/*.parquet`. Pictures are in the metadata's `image` column, as the release
exports them, or in `images/IMAGE_ID.*`. The release is for research only (CC BY-NC-SA 4.0) and is not part of
equiview.

A folder that `equiview build xcm` made has the same layout, and says in `croissant.json` what it is.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark, same_attribute
from equiview.benchmarks.release import Release, files_by_stem, optional_text
from equiview.benchmarks.snapshots import PAGES, snapshot
from equiview.benchmarks.trials import ROLES, SCHEMA, with_languages
from equiview.data.countries import languages_of
from equiview.data.items import Items, with_pictures
from equiview.errors import InputError
from equiview.io.files import is_file, read_json
from equiview.io.tables import Column, Schema, read_table


def _patterns(name: str) -> tuple[str, ...]:
    """The files that a configuration can be."""
    return tuple(f"{name}{ending}" for ending in (".parquet", ".csv", "/*.parquet", "/*.csv"))


RELEASE = Release(
    name="3xcm",
    title="Cross-Cultural Cross-Modal benchmark",
    licence="CC BY-NC-SA 4.0, research only",
    needs=tuple(_patterns(name) for name in ("benchmark", "image_metadata")),
)
RELEASED_TRIALS, RELEASED_CONCEPTS = 11_723, 137
CARD = "croissant.json"
"""Beside a benchmark that was built with equiview: what it is, for machines."""
PREFIX = {
    "semantic": "semantically_relevant_candidate",
    "cultural": "culturally_relevant_candidate",
    "nonrelevant": "non_relevant_candidate",
}
TRIALS = Schema(
    "benchmark",
    tuple(
        Column(f"{prefix}_{field}", pl.String, f"{field} of the {prefix.replace('_', ' ')}")
        for prefix in ("query", *PREFIX.values())
        for field in ("image_id", "concept", "country")
    ),
)
METADATA = Schema(
    "image_metadata",
    (
        Column("image_id", pl.String, "a distinct name of the image", unique=True),
        Column("concept", pl.String, "coarse concept, e.g. train"),
        Column("country", pl.String, "country of the image"),
        Column("concept_in_native", pl.String, "the concept in the country's language"),
    ),
)


def xcm(argument: str) -> Benchmark:
    """Read the release; InputError says what is missing, in which file and row."""
    repository = RELEASE.source.removeprefix(f"{PAGES}/")
    place = snapshot(repository, None, "3xcm:hub") if argument == "hub" else RELEASE.open(argument)[0]
    trials, metadata = _read(place, "benchmark", TRIALS), _read(place, "image_metadata", METADATA)
    images, texts = _images(place, metadata), _texts(metadata)
    for prefix in ("query", *PREFIX.values()):
        image_ids = trials[f"{prefix}_image_id"]
        absent = images.rows_of(image_ids).is_null().arg_true()
        if len(absent):
            raise InputError(
                f"{place}/benchmark, row {absent[0] + 1}: {prefix} image {image_ids[absent[0]]!r} is "
                f"not in image_metadata ({len(absent)} rows are like that)"
            )
    text_of = metadata.select(_text_id(), query_image_id="image_id")
    table = pl.DataFrame(
        {
            "trial_id": [str(row) for row in range(len(trials))],
            "query_id": trials.join(text_of, on="query_image_id", how="left", maintain_order="left")[
                "text_id"
            ],
            "query_image_id": trials["query_image_id"],
            **{f"{role}_id": trials[f"{PREFIX[role]}_image_id"] for role in ROLES},
            "concept": trials["query_concept"],
            "country": trials["query_country"],
        }
    )
    about, source, licence = _origin(place, trials)
    return Benchmark(
        RELEASE.name,
        images,
        texts,
        same_attribute(images, texts, "concept"),
        about,
        source,
        licence,
        tables={"trials": with_languages(table, images)},
        schemas={"trials": SCHEMA},
    )


def _read(place: Path, name: str, schema: Schema) -> pl.DataFrame:
    """One configuration, whose parts are one file or all files of its folder."""
    first = RELEASE.find(place, *_patterns(name))
    paths = sorted(first.parent.glob(f"*{first.suffix}")) if first.parent != place else [first]
    parts = [read_table(path, schema) for path in paths]
    return schema.check(pl.concat(parts, how="diagonal_relaxed"), str(place / name))


def _images(place: Path, metadata: pl.DataFrame) -> Items:
    # An attribute of the release may be called as our columns are; its pictures come in `image` alone.
    table = metadata.select(pl.exclude("id", "path", "picture")).rename({"image_id": "id"})
    table = with_pictures(table).select(pl.exclude("path"))
    files = {name: str(path) for name, path in files_by_stem(place / "images", table["id"]).items()}
    if "picture" not in table.columns and files:
        table = table.with_columns(
            path=pl.col("id").replace_strict(files, default=None, return_dtype=pl.String)
        )
    columns = [name for name in ("id", "picture", "path", "concept", "country") if name in table.columns]
    return Items("image", table.select(columns), str(place / "image_metadata"))


def _texts(metadata: pl.DataFrame) -> Items:
    """One query for each country, concept and native name, in the order of the metadata."""
    table = metadata.select(
        _text_id().alias("id"), pl.col("concept_in_native").alias("text"), "concept", "country"
    ).unique("id", keep="first", maintain_order=True)
    return Items(
        "text", table.with_columns(languages_of(table["country"], "image_metadata")), "image_metadata"
    )


def _text_id() -> pl.Expr:
    return pl.concat_str("country", "concept", "concept_in_native", separator=":").alias("text_id")


def _origin(place: Path, trials: pl.DataFrame) -> tuple[str, str, str]:
    """What it is, its source and its licence: the release's, or what a card beside it says."""
    concepts = trials["query_concept"].n_unique()
    size = f"{len(trials):,} trials of {concepts} concepts"
    if is_file(path := place / CARD):
        card = read_json(path)
        if not isinstance(card, dict):
            raise InputError(f"{path}: holds no object; restore it, or remove it")
        name, url, licence = (optional_text(card, field, str(path)) for field in ("name", "url", "license"))
        return f"{size}: {name or place.name}", url or RELEASE.source, licence or RELEASE.licence
    if (len(trials), concepts) == (RELEASED_TRIALS, RELEASED_CONCEPTS):
        return f"{size}, the whole release", RELEASE.source, RELEASE.licence
    release = f"{RELEASED_TRIALS:,} trials and {RELEASED_CONCEPTS} concepts"
    part = f"{size}; the release has {release}, so this is a part of it"
    return part, RELEASE.source, RELEASE.licence
