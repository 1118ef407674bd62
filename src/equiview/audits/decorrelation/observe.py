"""Rank all captions for each image without an object, and for the real image that it was made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits import base
from equiview.audits.decorrelation.naming import Pool, View
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.removals import MENTIONS, REMOVALS
from equiview.data.items import blind_order
from equiview.data.lists import RankedLists
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.data.vectors import taken
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.search import comparable, top_k
from equiview.subjects import Encoder, ResultLists

IMAGES = ("synthetic", "unchanged")
DIRECTIONS = ("image-to-text", "text-to-image")
PICTURED = 300
"""Images kept as pictures, drawn at random."""
SCHEMAS = schemas(
    queries=(
        Column("query_id", pl.String, "the synthetic image", unique=True),
        Column("source_id", pl.String, "the real image that it was made of"),
        Column("target", pl.String, "the class chosen to be removed"),
        Column("removed", pl.List(pl.String), "all classes that were removed"),
        Column("kept", pl.List(pl.String), "the classes that are still there"),
        Column("pool", pl.Int64, "captions in the gallery"),
        Column("right_any", pl.Int64, "of these, naming a kept class and no removed one"),
        Column("right_all", pl.Int64, "of these, naming all kept classes and no removed one"),
        Column("naming_removed", pl.Int64, "of these, naming a removed class"),
        Column("naming_kept", pl.Int64, "of these, naming a kept class"),
        Column("before", pl.Binary, "a small picture of the real image, for a sample", nullable=True),
        Column("picture", pl.Binary, "a small picture of the synthetic one, likewise", nullable=True),
    ),
    items=(
        Column("item_id", pl.String, "a caption that stands in a list", unique=True),
        Column("text", pl.String, "its words"),
        Column("language", pl.String, "its language"),
        Column("objects", pl.List(pl.String), "the classes that it names"),
    ),
    rankings=(
        Column("query_id", pl.String, "the synthetic image"),
        Column("image", pl.String, "which image was asked: " + " or ".join(IMAGES)),
        Column("rank", pl.Int32, "place in the list, from 1"),
        Column("item_id", pl.String, "the caption there"),
        Column("score", pl.Float32, "similarity"),
        Column("removed", pl.Boolean, "whether it names a removed class"),
        Column("kept", pl.Int32, "how many of the kept classes it names"),
        Column("expected", pl.Float64, "share of the captions of its kind that name a removed class"),
    ),
    recall=(
        Column("query_id", pl.String, "a real image, or one of its captions"),
        Column("image_id", pl.String, "the real image"),
        Column("direction", pl.String, " or ".join(DIRECTIONS)),
        Column("rank", pl.Int32, "place of the first right result; null beyond the cutoffs", nullable=True),
        Column("right", pl.Int64, "right results in the gallery"),
        Column("gallery", pl.Int64, "how many results there are"),
    ),
)


def observe(
    subject: Encoder | ResultLists,
    benchmark: Benchmark,
    settings: DecorrelationSettings,
    progress: Progress,
) -> Observations:
    """The first captions of an encoder, or those of a finished system.

    Raises InputError for a benchmark without removals, a class that is kept and removed, fewer captions than
    the cutoffs reach, and lists that are too short.
    """
    removals, mentions = removals_of(benchmark, settings)
    classes = removals["removed"].explode().to_list() + removals["kept"].explode().drop_nulls().to_list()
    pool = Pool.of(benchmark.need_texts().ids, mentions, classes)
    depth = max(settings.cutoffs)
    if isinstance(subject, ResultLists):
        lists, recall = _of_lists(subject, benchmark, removals, depth)
        progress("reading lists", 1, 1)
        removals = removals.filter(pl.col("image_id").is_in(lists["image_id"].unique().implode()))
    else:
        lists, recall = _of_encoder(subject, benchmark, removals, depth, progress)
    queries, rankings = _named(removals, lists, pool, benchmark)
    return Observations(
        {
            "queries": _with_pictures(queries, benchmark),
            "items": _items(rankings, benchmark, mentions),
            "rankings": rankings,
            "recall": recall,
        }
    )


def explore(view: base.View[DecorrelationSettings]) -> RankedLists:
    """The captions of each synthetic image, right ones marked."""
    named = pl.format(
        "without {}, with {}", pl.col("removed").list.join(", "), pl.col("kept").list.join(", ")
    )
    queries = view["queries"].select("query_id", "picture", label=named)
    rankings = view["rankings"].filter(pl.col("image") == IMAGES[0])
    marked = rankings.select(
        "query_id", "rank", "item_id", "score", relevant=~pl.col("removed") & (pl.col("kept") > 0)
    )
    return RankedLists(queries, view["items"].drop("objects"), marked)


def removals_of(benchmark: Benchmark, settings: DecorrelationSettings) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What was removed from which image, and what captions mention; InputError as for `observe`."""
    removals = benchmark.need_table("removals", REMOVALS)
    mentions = benchmark.need_table("mentions", MENTIONS)
    both = removals.filter(pl.col("removed").list.set_intersection("kept").list.len() > 0)
    if len(both):
        raise InputError(
            f"benchmark {benchmark.name!r}, table 'removals': image {both['image_id'][0]!r} has a class that "
            "is both removed and kept; leave it out of one of them"
        )
    if not len(removals):
        raise InputError(f"benchmark {benchmark.name!r}: no object was removed from any image")
    texts, depth = len(benchmark.need_texts()), max(settings.cutoffs)
    if texts < depth:
        raise InputError(
            f"benchmark {benchmark.name!r} has {texts} captions, cutoffs reach to {depth}; give fewer with "
            "--setting decorrelation.cutoffs"
        )
    return removals, mentions


def _of_encoder(
    subject: Encoder, benchmark: Benchmark, removals: pl.DataFrame, depth: int, progress: Progress
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists of synthetic and real images over all captions, and where right results stand."""
    order = blind_order(benchmark.need_texts().ids)
    texts = benchmark.need_texts().take(order)
    images = benchmark.images
    asked = pl.concat([removals["image_id"], removals["source_id"].unique(maintain_order=True)])
    image_vectors, text_vectors = comparable(subject, images, progress), comparable(subject, texts, progress)
    rows = images.rows_of(asked).to_numpy()
    ranked = top_k(taken(image_vectors, rows), text_vectors, depth)
    progress("ranking", 1, 2)
    lists = ranked.table(asked, texts.ids).rename({"query_id": "image_id"})
    relevance = benchmark.need_relevance()
    real, captioned = np.unique(relevance.queries), np.unique(relevance.items)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    pairs = Relevance.from_pairs(
        np.searchsorted(real, relevance.queries),
        np.searchsorted(captioned, relevance.items),
        n_queries=len(real),
        n_items=len(captioned),
    )
    seen, read = taken(image_vectors, real), taken(text_vectors, place[captioned])
    image_ids, text_ids = images.ids.gather(real), benchmark.need_texts().ids.gather(captioned)
    at = min(depth, len(real), len(captioned))
    recall = [
        _first(direction, judged.mark(top_k(asking, gallery, at).items), *ids, judged)
        for direction, asking, gallery, ids, judged in (
            (DIRECTIONS[0], seen, read, (image_ids, text_ids), pairs),
            (DIRECTIONS[1], read, seen, (text_ids, image_ids), pairs.reversed()),
        )
    ]
    progress("ranking", 2, 2)
    return lists, pl.concat(recall)


def _first(
    direction: str,
    right: NDArray[np.bool_],
    query_ids: pl.Series,
    item_ids: pl.Series,
    relevance: Relevance,
) -> pl.DataFrame:
    """The rank of the first right result of each query; `right` is `(n_queries, depth)`."""
    first = np.where(right.any(axis=1), right.argmax(axis=1) + 1, 0)
    of_image = query_ids
    if direction == DIRECTIONS[1]:  # a caption goes with its first image
        of_image = item_ids.gather(
            relevance.items[np.searchsorted(relevance.queries, np.arange(len(query_ids)))]
        )
    return pl.DataFrame(
        {
            "query_id": query_ids,
            "image_id": of_image,
            "direction": [direction] * len(query_ids),
            "rank": pl.Series(first, dtype=pl.Int32).replace(0, None),
            "right": relevance.counts,
            "gallery": [relevance.n_items] * len(query_ids),
        },
        schema_overrides=SCHEMAS["recall"].dtypes,
    )


def _of_lists(
    subject: ResultLists, benchmark: Benchmark, removals: pl.DataFrame, depth: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The lists unchanged; for real images also the rank of the first right caption among all captions."""
    lists = subject.lists(benchmark, depth).rename({"query_id": "image_id"})
    deepest = int(lists["rank"].max() or 0)  # type: ignore[arg-type]
    if deepest < depth:
        raise InputError(
            f"{subject.source}: lists have {deepest} ranks, cutoffs reach to {depth}; give fewer with "
            "--setting decorrelation.cutoffs"
        )
    asked = lists["image_id"].unique(maintain_order=True)
    if not removals["image_id"].is_in(asked.implode()).any():
        raise InputError(f"{subject.source}: has no list for any image from which an object was removed")
    relevance, texts = benchmark.need_relevance(), benchmark.need_texts()
    real = np.intersect1d(relevance.queries, benchmark.images.rows_of(asked).to_numpy())
    ids = benchmark.images.ids.gather(real)
    here = np.isin(relevance.queries, real)
    pairs = Relevance.from_pairs(
        np.searchsorted(real, relevance.queries[here]),
        relevance.items[here],
        n_queries=len(real),
        n_items=len(texts),
    )
    ranked = pl.DataFrame({"image_id": ids}).join(lists, on="image_id", maintain_order="left_right")
    items = texts.rows_of(ranked["item_id"]).to_numpy().reshape(len(real), depth)
    recall = _first(DIRECTIONS[0], pairs.mark(items), ids, texts.ids, pairs)
    return lists.select("image_id", "rank", "item_id", pl.col("score").cast(pl.Float32)), recall


def _named(
    removals: pl.DataFrame, lists: pl.DataFrame, pool: Pool, benchmark: Benchmark
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The queries with counts of the pool, and their lists with what each caption names."""
    rows = benchmark.need_texts().rows_of(lists["item_id"]).to_numpy()
    parts = lists.with_columns(set=pool.set_of[rows]).partition_by("image_id", as_dict=True)
    counts: list[dict[str, int]] = []
    tables = []
    views: dict[tuple[tuple[str, ...], tuple[str, ...]], View] = {}
    for query in removals.iter_rows(named=True):
        key = (tuple(sorted(query["removed"])), tuple(sorted(query["kept"])))
        if key not in views:
            views = {key: pool.view(*key)}  # the last one alone, so that memory does not grow
        view = views[key]
        counts.append(view.counts())
        for image, name in zip(IMAGES, (query["image_id"], query["source_id"]), strict=True):
            if (part := parts.get((name,))) is not None:
                tables.append(_marked(part, view, query["image_id"], image))
    queries = removals.rename({"image_id": "query_id"}).hstack(pl.DataFrame(counts))
    return queries, pl.concat(tables)


def _marked(part: pl.DataFrame, view: View, query: str, image: str) -> pl.DataFrame:
    sets = part["set"].to_numpy()
    return part.select(
        pl.lit(query).alias("query_id"),
        pl.lit(image).alias("image"),
        "rank",
        "item_id",
        "score",
        removed=pl.Series(view.gone[sets]),
        kept=pl.Series(view.here[sets]).cast(pl.Int32),
        expected=pl.Series(view.expected[sets]),
    )


def _with_pictures(queries: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Small pictures of a sample, the same for every system."""
    sample = set(blind_order(queries["query_id"])[:PICTURED].tolist())
    columns: dict[str, Sequence[bytes | None]] = {}
    for column, name in (("before", "source_id"), ("picture", "query_id")):
        rows = benchmark.images.rows_of(queries[name]).to_list()
        columns[column] = [
            benchmark.images.thumbnail(row) if place in sample else None for place, row in enumerate(rows)
        ]
    return queries.with_columns(
        **{name: pl.Series(pictures, dtype=pl.Binary) for name, pictures in columns.items()}
    )


def _items(rankings: pl.DataFrame, benchmark: Benchmark, mentions: pl.DataFrame) -> pl.DataFrame:
    """The captions that stand in lists, with the classes that they name."""
    listed = rankings["item_id"].unique()
    objects = mentions.group_by("text_id", maintain_order=True).agg(pl.col("object").unique().sort())
    texts = benchmark.need_texts().table.filter(pl.col("id").is_in(listed.implode()))
    return (
        texts.select("text", "language", item_id="id")
        .join(objects, left_on="item_id", right_on="text_id", how="left", maintain_order="left")
        .select("item_id", "text", "language", pl.col("object").fill_null([]).alias("objects"))
    )
