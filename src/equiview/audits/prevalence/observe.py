"""Rank the merged pool of captions for each image, or read the lists of a system that did."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.prevalence.lists import Lists
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.searching import EXACT, recall_columns
from equiview.benchmarks import Benchmark
from equiview.data.items import Items, blind_order
from equiview.data.languages import TIERS, tier_by_code, tiers_of
from equiview.data.lists import RankedLists
from equiview.data.observations import Observations
from equiview.data.rankings import Rankings
from equiview.data.relevance import Relevance
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.search import (
    Targets,
    approximate_top_k,
    comparable,
    comparable_parts,
    ranked_within,
    top_k,
    top_k_among,
)
from equiview.subjects import Encoder, ResultLists

Rows = NDArray[np.int64]
MOST_GROUPS = 100
BY = "--setting prevalence.by=language"
SCHEMAS = schemas(
    queries=(
        Column("query_id", pl.String, "the image", unique=True),
        Column("label", pl.String, "what it shows, in words", nullable=True),
        Column("picture", pl.Binary, "a small picture of it", nullable=True),
    ),
    items=(
        Column("item_id", pl.String, "the caption", unique=True),
        Column("text", pl.String, "its words"),
        Column("language", pl.String, "its language"),
        Column("tier", pl.String, "high, medium or low; empty where it is not known", nullable=True),
        Column("group", pl.String, "its value in the column that `by` names", optional=True),
    ),
    rankings=(
        Column("query_id", pl.String, "the image"),
        Column("rank", pl.Int32, "place in the list, from 1"),
        Column("item_id", pl.String, "the caption there"),
        Column("score", pl.Float32, "similarity"),
        Column("relevant", pl.Boolean, "whether the caption is of the image"),
    ),
    targets=(
        Column("query_id", pl.String, "the image"),
        Column("item_id", pl.String, "one of its captions"),
        Column(
            "language_rank",
            pl.Int32,
            "its place among captions of its language alone, from 1; not known of a finished run, nor of a "
            "query that was searched approximately alone",
            nullable=True,
        ),
    ),
) | {EXACT.name: EXACT}


def observe(
    subject: Encoder | ResultLists, benchmark: Benchmark, settings: PrevalenceSettings, progress: Progress
) -> Observations:
    """The lists of an encoder over the merged pool, or those of a finished system."""
    if isinstance(subject, ResultLists):
        if settings.candidates:
            raise InputError(
                f"subject {subject.name!r} is a finished system, whose lists are as they are; leave out the "
                "setting prevalence.candidates"
            )
        if settings.index is not None:
            raise InputError(
                f"subject {subject.name!r} is a finished system, which was searched by itself; leave out the "
                f"setting prevalence.search={settings.search}"
            )
        return _of_lists(subject, benchmark, settings, progress)
    return _of_encoder(subject, benchmark, settings, progress)


def pool_of(benchmark: Benchmark, _: PrevalenceSettings) -> Relevance:
    """Which texts of the pool are right for which image; InputError where that is not known."""
    benchmark.need_texts()
    return benchmark.need_relevance()


def explore(lists: Lists) -> RankedLists:
    """The ranked captions of each image."""
    queries = lists["queries"].with_columns(label=pl.coalesce("label", "query_id"))
    return RankedLists(queries, lists["items"], lists["rankings"])


def _of_encoder(
    subject: Encoder, benchmark: Benchmark, settings: PrevalenceSettings, progress: Progress
) -> Observations:
    """Rank the pool for each image, and each image's captions within their language."""
    order = blind_order(benchmark.need_texts().ids)
    relevance = _reordered(benchmark.need_relevance(), order)
    image_ids = benchmark.images.ids
    ranks, exact = None, None
    if settings.candidates:
        image_vectors = comparable(subject, benchmark.images, progress)
        text_vectors = comparable(subject, benchmark.need_texts().take(order), progress)
        few = min(settings.candidates, len(order))
        lists = top_k_among(image_vectors, text_vectors, min(settings.depth, len(order)), few)
        progress("ranking", len(image_vectors), len(image_vectors))
    else:
        lists, ranks, exact = _ranked(subject, benchmark, order, relevance, settings, progress)
    text_ids = benchmark.need_texts().ids.gather(order)  # not before: they would take memory beside scores
    if ranks is None:
        targets = _unranked(benchmark)
    else:
        known = pl.Series(ranks.astype(np.int32))
        targets = pl.DataFrame(
            {
                "query_id": image_ids[relevance.queries],
                "item_id": text_ids[relevance.items],
                "language_rank": known.replace(0, None),
            }
        )

    def table(found: Rankings, rows: Rows) -> pl.DataFrame:
        marks = relevance.of(rows).mark(found.items)
        return found.table(image_ids[rows], text_ids).with_columns(relevant=pl.Series(marks.ravel()))

    rankings = table(lists, np.arange(len(image_ids)))
    also = None if exact is None else table(*exact)
    texts = benchmark.need_texts().take(order)
    return _observed(benchmark, image_ids, texts, settings, rankings, targets, also)


def _ranked(
    subject: Encoder,
    benchmark: Benchmark,
    order: Rows,
    relevance: Relevance,
    settings: PrevalenceSettings,
    progress: Progress,
) -> tuple[Rankings, Rows, tuple[Rankings, Rows] | None]:
    """The lists, and the rank of each image's captions; `order` is that of the pool. Vectors are let go.

    Where the search is approximate, also exact lists of some queries, with their rows; ranks of the others'
    captions, for which all scores would be needed, are 0.
    """
    images, texts = benchmark.images, benchmark.need_texts()
    languages = (texts.table["language"].rank("dense").to_numpy() - 1).astype(np.int16)[order]
    queries = comparable(subject, images, progress)
    gallery = comparable_parts(subject, texts.take(order), progress)
    depth = min(settings.depth, len(order))
    if settings.index is None:
        targets = Targets(relevance.queries, relevance.items, languages)
        return *ranked_within(queries, gallery, depth, targets, progress), None
    if isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors):
        raise InputError(
            f"subject {subject.name!r} has a vector for each token, which search={settings.search} does not "
            "know; search exactly, or give prevalence.candidates"
        )
    lists = approximate_top_k(queries, gallery, depth, settings.index, progress)
    rows = settings.sampled(len(images))
    some = relevance.of(rows)
    exact, theirs = ranked_within(
        queries[rows], gallery, depth, Targets(some.queries, some.items, languages), progress
    )
    [recall] = recall_columns(lists.items[rows], exact.items, [depth], {})
    notice(
        f"searched approximately ({settings.index.about}): of the first {depth} of an exact search it finds "
        f"{recall.values.mean():.1%}, over {len(rows):,} images; the report says where it finds less"
    )
    ranks = np.zeros(len(relevance.items), dtype=np.int64)
    ranks[np.isin(relevance.queries, rows)] = theirs
    return lists, ranks, (exact, rows)


def _unranked(benchmark: Benchmark) -> pl.DataFrame:
    """The captions of each image, without ranks within their language, which a part does not tell."""
    relevance = benchmark.need_relevance()
    return pl.DataFrame(
        {
            "query_id": benchmark.images.ids[relevance.queries],
            "item_id": benchmark.need_texts().ids[relevance.items],
        }
    ).with_columns(language_rank=pl.lit(None, dtype=pl.Int32))


def _of_lists(
    subject: ResultLists, benchmark: Benchmark, settings: PrevalenceSettings, progress: Progress
) -> Observations:
    """The lists as they are; they do not hold the ranks of captions within their language."""
    lists = subject.lists(benchmark, settings.depth)
    progress("reading lists", 1, 1)
    # Also of images that were not asked about: their captions may be in lists, and are exchangeable.
    targets = _unranked(benchmark)
    right = targets.drop("language_rank")
    asked = lists["query_id"].unique(maintain_order=True)
    rankings = lists.select("query_id", "rank", "item_id", pl.col("score").cast(pl.Float32)).join(
        right.with_columns(relevant=True), on=["query_id", "item_id"], how="left", maintain_order="left"
    )
    rankings = rankings.with_columns(pl.col("relevant").fill_null(False))
    exact = _exact(subject, benchmark, settings, int(lists["rank"].max()))  # type: ignore[arg-type]
    return _observed(benchmark, asked, benchmark.need_texts(), settings, rankings, targets, exact)


def _exact(
    subject: ResultLists, benchmark: Benchmark, settings: PrevalenceSettings, depth: int
) -> pl.DataFrame | None:
    """Exact lists of a sample of images, where the vectors by which a system ranks are at hand."""
    if (vectors := subject.vectors(benchmark)) is None:
        return None
    images, texts = vectors
    rows, ids = settings.sampled(len(images)), benchmark.need_texts().ids
    order = blind_order(ids)
    lists = top_k(images[rows], texts[order], depth)
    found = Rankings(order[lists.items].astype(np.int32), lists.scores)
    marks = benchmark.need_relevance().of(rows).mark(found.items).ravel()
    return found.table(benchmark.images.ids[rows], ids).with_columns(relevant=pl.Series(marks))


def _observed(
    benchmark: Benchmark,
    asked: pl.Series,
    texts: Items,
    settings: PrevalenceSettings,
    rankings: pl.DataFrame,
    targets: pl.DataFrame,
    exact: pl.DataFrame | None = None,
) -> Observations:
    queries, items = _queries(benchmark, asked), _items(texts, settings)
    return Observations(
        {
            "queries": queries,
            "items": items,
            "rankings": rankings,
            "targets": targets,
            EXACT.name: EXACT.table() if exact is None else exact,
        }
    )


def _reordered(relevance: Relevance, order: Rows) -> Relevance:
    """The same relevance for items in another order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Relevance.from_pairs(
        relevance.queries, place[relevance.items], n_queries=relevance.n_queries, n_items=relevance.n_items
    )


def _queries(benchmark: Benchmark, asked: pl.Series) -> pl.DataFrame:
    """The images asked about: their first English caption as a label, and a small picture."""
    images, texts, relevance = benchmark.images, benchmark.need_texts(), benchmark.need_relevance()
    english = pl.Series(texts.table["language"] == "en").to_numpy()[relevance.items]
    labels = pl.DataFrame(
        {
            "query_id": images.ids[relevance.queries[english]],
            "label": texts.table["text"][relevance.items[english]],
        }
    ).unique("query_id", keep="first", maintain_order=True)
    rows = {name: row for row, name in enumerate(images.ids)}
    pictures = pl.Series([images.thumbnail(rows[name]) for name in asked], dtype=pl.Binary)
    described = pl.DataFrame({"query_id": asked, "picture": pictures})
    return described.join(labels, on="query_id", how="left", maintain_order="left").select(
        "query_id", "label", "picture"
    )


def _items(texts: Items, settings: PrevalenceSettings) -> pl.DataFrame:
    """The captions with their tier, and their group where `by` is a column of the user's own."""
    table, by = texts.table.rename({"id": "item_id"}), settings.by
    if settings.key == "group":
        table = table.with_columns(group=_group(texts, by))
    if "tier" in table.columns:
        table = table.with_columns(texts.labels("tier").str.to_lowercase())
    else:
        table = table.with_columns(_tiers(texts, needed=by == "tier"))
    wrong = table.filter(pl.col("tier").is_not_null() & ~pl.col("tier").is_in(TIERS))
    if len(wrong):
        raise InputError(f"{texts.source}: tier {wrong['tier'][0]!r} is unknown; use {', '.join(TIERS)}")
    if by == "tier" and table["tier"].null_count():
        row = table["tier"].is_null().arg_true()[0]
        raise InputError(
            f"{texts.source}: column 'tier', row {row + 1}: empty; audit by another column: {BY}"
        )
    wanted = ["item_id", "text", "language", "tier", "group", "borrowed"]
    return table.select(name for name in wanted if name in table.columns)


def _tiers(texts: Items, *, needed: bool) -> pl.Series:
    """The tier of each text's language; where it is not needed, null for languages that have none."""
    codes = texts.table["language"]
    if not needed:
        return codes.replace_strict(tier_by_code(), default=None, return_dtype=pl.String).alias("tier")
    try:
        return tiers_of(codes, texts.source)
    except InputError as error:
        raise InputError(f"{error}; or audit by language: {BY}") from None


def _group(texts: Items, by: str) -> pl.Series:
    """The column `by` as text; InputError where a row is empty or there are too many groups to judge."""
    groups = texts.labels(by)
    if groups.null_count():
        row = groups.is_null().arg_true()[0]
        raise InputError(f"{texts.source}: column {by!r}, row {row + 1}: empty; every text needs a group")
    if groups.n_unique() > MOST_GROUPS:
        raise InputError(
            f"{texts.source}: column {by!r} has {groups.n_unique()} different values; a group needs many "
            f"captions to be judged, so merge them into at most {MOST_GROUPS}"
        )
    return groups
