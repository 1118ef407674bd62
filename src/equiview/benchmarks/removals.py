"""Images from which objects were removed, beside the real ones: what the decorrelation audit needs to know.

`removals:DIR,of=BENCHMARK` reads what `equiview build removal BENCHMARK --out DIR` wrote: `removals.parquet`,
the pictures, and `captions.parquet`, which says for each caption of BENCHMARK which classes it names.
Everything after `of=` is the name of the benchmark, its options included. Before it, `gallery=DIR` (joined by
`+`, if several) adds the captions of other splits, from the `captions.parquet` of each. BENCHMARK must be
what the pictures were made of: a caption that is missing, of another image or of another text is refused, and
so is a real image whose file holds something else.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark, load_benchmark
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.io.tables import Column, Schema, read_table

WRITTEN = Schema(
    "removals.parquet",
    (
        Column("id", pl.String, "the synthetic image, as its number in captions_removed.json", unique=True),
        Column("source_id", pl.String, "the real image that it was made of"),
        Column("path", pl.String, "its file"),
        Column("target", pl.String, "the class chosen to be removed"),
        Column("removed", pl.List(pl.String), "all classes that were removed"),
        Column("kept", pl.List(pl.String), "the classes that are still there"),
        Column("share", pl.Float64, "how much of the image was removed", optional=True),
        Column("filling", pl.String, "what was put in its place", optional=True),
        Column("captions", pl.List(pl.String), "captions of the synthetic image", optional=True),
        Column("originals", pl.List(pl.String), "what they were, empty where they are new", optional=True),
        Column("source_hash", pl.String, "a hash of the real image's file", True, optional=True),
    ),
)
CAPTIONS = Schema(
    "captions.parquet",
    (
        Column("id", pl.String, "the caption", unique=True),
        Column("image_id", pl.String, "its image", optional=True),
        Column("text", pl.String, "the caption itself"),
        Column("classes", pl.List(pl.String), "what it names"),
    ),
)
_ALSO_OF_BENCHMARKS = {"source_id", "target", "removed", "kept", "captions"}
REMOVALS = Schema(
    "removals",
    (
        Column("image_id", pl.String, "the synthetic image", unique=True),
        *(column for column in WRITTEN.columns if column.name in _ALSO_OF_BENCHMARKS),
    ),
)
MENTIONS = Schema(
    "mentions",
    (
        Column("text_id", pl.String, "a caption"),
        Column("object", pl.String, "a class that it names"),
    ),
)
SCHEMAS = {"removals": REMOVALS, "mentions": MENTIONS}


def with_removals(
    real: Benchmark, synthetic: Items, removals: pl.DataFrame, mentions: pl.DataFrame, name: str, about: str
) -> Benchmark:
    """A benchmark of the real images, then the synthetic ones, which have no relevant text.

    InputError for a removal that names an image which is not there, or a caption that is not.
    """
    texts, relevance = real.need_texts(), real.need_relevance()
    table = pl.concat([real.images.table, synthetic.table], how="diagonal")
    images = Items("image", table, synthetic.source, synthetic.draw or real.images.draw)
    for column, items in (("source_id", real.images), ("image_id", synthetic)):
        strangers = removals[column].filter(~removals[column].is_in(items.ids.implode()))
        if len(strangers):
            raise InputError(f"{synthetic.source}: {column} {strangers[0]!r} is not in {items.source}")
    unknown = mentions["text_id"].filter(~mentions["text_id"].is_in(texts.ids.implode()))
    if len(unknown):
        raise InputError(f"{synthetic.source}: caption {unknown[0]!r} is not in {texts.source}")
    return Benchmark(
        name=name,
        images=images,
        texts=texts,
        relevance=Relevance.from_pairs(
            relevance.queries, relevance.items, n_queries=len(images), n_items=len(texts)
        ),
        about=about,
        source=real.source,
        licence=real.licence,
        tables={"removals": removals, "mentions": mentions},
        schemas=SCHEMAS,
    )


def removals(argument: str) -> Benchmark:
    """Read the folder, and the benchmark that its images were made of."""
    given, _, source = argument.partition(",of=")
    place, options = split_argument(given, "removals", ("gallery",))
    if not place or not source:
        raise InputError(
            "benchmark 'removals' needs the folder that `equiview build removal` wrote and the benchmark "
            "that it was made of: removals:DIR,of=coco:COCO_DIR"
        )
    folder = Path(place).expanduser()
    table = read_table(folder / "removals.parquet", WRITTEN)
    known = {"image_id", *table.columns}
    real = load_benchmark(source)
    captions = [_captions_of(real, folder / "captions.parquet", whole=True)]
    _check_sources(real.images, table, folder / "removals.parquet")
    for other in filter(None, options.get("gallery", "").split("+")):
        captions.append(_captions_of(real, Path(other).expanduser() / "captions.parquet"))
        real = _with_more(real, captions[-1])
    mentions = pl.concat([part.select(text_id="id", object="classes") for part in captions])
    paths = [str(folder / path) for path in table["path"]]
    table = table.with_columns(id=_apart(table["id"], real.images.ids))
    return with_removals(
        real,
        Items("image", pl.DataFrame({"id": table["id"], "path": paths}), str(folder)),
        table.rename({"id": "image_id"}).select(name for name in REMOVALS.dtypes if name in known),
        mentions.explode("object").drop_nulls(),
        f"removals-{real.name}",
        f"{len(table):,} images with objects removed, of {real.about}",
    )


def _apart(ids: pl.Series, taken: pl.Series) -> pl.Series:
    """The ids of new pictures, `removed-ID` where any of them is also that of a real image.

    New pictures are numbered from 1, as images of a small COCO may be.

    >>> _apart(pl.Series(["1", "2"]), pl.Series(["2", "3"])).to_list()
    ['removed-1', 'removed-2']
    """
    while ids.is_in(taken.implode()).any():
        ids = "removed-" + ids
    return ids


def _check_sources(images: Items, table: pl.DataFrame, path: Path) -> None:
    """InputError for a real image whose file is not what a picture was made of, where that is known."""
    if "source_hash" not in table.columns:  # a folder of an earlier version
        return
    sources = table.with_columns(row=images.rows_of(table["source_id"])).drop_nulls("row").unique("row")
    hashes = images.take(sources["row"].to_numpy()).hash_pictures()
    other = [
        name
        for name, known, found in zip(sources["source_id"], sources["source_hash"], hashes, strict=True)
        if known and isinstance(found, bytes) and found.hex() != known
    ]
    if other:
        raise InputError(
            f"{path}: image {min(other)!r} of {images.source} is not the picture that objects were removed "
            f"from ({len(other)} of {len(sources)} differ); name what it was built from, unchanged, or build "
            "again"
        )


def _captions_of(real: Benchmark, path: Path, *, whole: bool = False) -> pl.DataFrame:
    """The table `captions.parquet`; if `whole`, only its captions of `real`, which must all be there.

    InputError for a caption of `real` that has another text or image in the table, and for one that only one
    of both has.
    """
    table, texts = read_table(path, CAPTIONS), real.need_texts()
    known = table.join(texts.table, on="id", how="inner", suffix=" there", maintain_order="left")
    for name in ("image_id", "text"):
        if f"{name} there" not in known.columns:
            continue
        other = known.filter(pl.col(name).ne_missing(pl.col(f"{name} there")))
        if len(other):
            caption, ours, theirs = other.select("id", name, f"{name} there").row(0)
            raise InputError(
                f"{path}: the {name} of caption {caption!r} is {ours!r}, but {theirs!r} in {texts.source} "
                f"({len(other)} of {len(known)} differ); "
                "name what it was built from, unchanged, or build again"
            )
    missing = texts.ids.filter(~texts.ids.is_in(table["id"].implode()))
    if whole and len(missing):
        raise InputError(
            f"{path}: caption {missing[0]!r} of {texts.source} is missing ({len(missing)} of {len(texts)}, "
            f"and {len(table) - len(known)} of {len(table)} in the table are of no caption there); name the "
            "benchmark that it was built from, or build again"
        )
    if whole and "image_id" in table.columns:
        gone = table.filter(
            pl.col("image_id").is_in(real.images.ids.implode()) & ~pl.col("id").is_in(texts.ids.implode())
        )
        if len(gone):
            raise InputError(
                f"{texts.source}: caption {gone['id'][0]!r} of {path} is missing "
                f"({len(gone)} of {len(table)}); name what it was built from, unchanged, or build again"
            )
    return table.filter(pl.col("id").is_in(known["id"].implode())) if whole else table


def _with_more(real: Benchmark, captions: pl.DataFrame) -> Benchmark:
    """The same benchmark with further captions, of none of its images and in the language of its first."""
    texts, relevance = real.need_texts(), real.need_relevance()
    known = captions["id"].is_in(texts.ids.implode())
    more = captions.filter(~known).select("id", "text", language=pl.lit(texts.table["language"][0]))
    together = Items("text", pl.concat([texts.table, more], how="diagonal"), texts.source)
    return replace(
        real,
        texts=together,
        relevance=Relevance.from_pairs(
            relevance.queries, relevance.items, n_queries=len(real.images), n_items=len(together)
        ),
    )
