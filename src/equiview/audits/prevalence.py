"""Prevalence bias (P, image to text): do much-written languages crowd out equally right captions of others.

Every caption of every language stands in one pool. For each image the pool is ranked, and what the top holds
is compared with what it would hold if languages shared it evenly (LBKL, DLBKL) or at random (chance).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._prevalence_values import PrevalenceSettings, measure, values
from equiview.audits._prevalence_views import QUESTION, draw, judge
from equiview.audits.base import Audit, register
from equiview.benchmarks import Benchmark
from equiview.data.items import Items, blind_order
from equiview.data.languages import TIERS, tiers_of
from equiview.data.observations import Observations
from equiview.data.progress import Progress
from equiview.data.relevance import Relevance
from equiview.data.tables import Column, Schema
from equiview.errors import InputError
from equiview.search import best, ranks_within, score_blocks, unit
from equiview.subjects import Encoder, ResultLists

SCHEMAS = {
    "queries": Schema(
        "queries",
        (
            Column("query_id", pl.String, "the image", unique=True),
            Column("label", pl.String, "what it shows, in words", nullable=True),
            Column("picture", pl.Binary, "a small picture of it", nullable=True),
        ),
    ),
    "items": Schema(
        "items",
        (
            Column("item_id", pl.String, "the caption", unique=True),
            Column("text", pl.String, "its words"),
            Column("language", pl.String, "its language"),
            Column("tier", pl.String, "high, medium or low"),
        ),
    ),
    "rankings": Schema(
        "rankings",
        (
            Column("query_id", pl.String, "the image"),
            Column("rank", pl.Int32, "place in the list, from 1"),
            Column("item_id", pl.String, "the caption there"),
            Column("score", pl.Float32, "similarity"),
            Column("relevant", pl.Boolean, "whether the caption is of the image"),
        ),
    ),
    "targets": Schema(
        "targets",
        (
            Column("query_id", pl.String, "the image"),
            Column("item_id", pl.String, "one of its captions"),
            Column(
                "language_rank",
                pl.Int32,
                "its place among captions of its language alone, from 1; not known of a finished run",
                nullable=True,
            ),
        ),
    ),
}


def observe(
    subject: Encoder | ResultLists, benchmark: Benchmark, settings: PrevalenceSettings, progress: Progress
) -> Observations:
    """Rank the merged pool of captions for each image, and each image's captions within their language."""
    if isinstance(subject, ResultLists):
        return _lists_observations(subject, benchmark, settings, progress)
    order = blind_order(benchmark.texts.ids)
    texts = benchmark.texts.take(order)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    relevance = Relevance.from_pairs(
        benchmark.relevance.queries,
        place[benchmark.relevance.items],
        n_queries=len(benchmark.images),
        n_items=len(texts),
    )
    image_vectors = subject.embed(benchmark.images, progress)
    text_vectors = subject.embed(texts, progress)
    if subject.similarity == "cosine":
        image_vectors, text_vectors = unit(image_vectors), unit(text_vectors)

    depth = min(settings.depth, len(texts))
    languages = texts.table["language"]
    columns_of = {code: languages.eq(code).arg_true().to_numpy() for code in languages.unique().sort()}
    ranked, targets = [], []
    for start, scores in score_blocks(image_vectors, text_vectors):
        stop = start + len(scores)
        ranked.append(best(scores, depth))
        for columns in columns_of.values():
            targets.append(_language_ranks(scores, start, stop, columns, relevance))
        progress("ranking", stop, len(image_vectors))

    items = np.concatenate([part.items for part in ranked])
    marked = relevance.mark(items)
    target_rows, target_items, target_ranks = (np.concatenate(parts) for parts in zip(*targets, strict=True))
    in_order = np.lexsort((target_items, target_rows))
    image_ids, text_ids = benchmark.images.ids, texts.ids
    rankings = pl.DataFrame(
        {
            "query_id": image_ids[np.repeat(np.arange(len(items)), depth)],
            "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), len(items)),
            "item_id": text_ids[items.ravel()],
            "score": np.concatenate([part.scores for part in ranked]).ravel(),
            "relevant": marked.ravel(),
        }
    )
    language_ranks = pl.DataFrame(
        {
            "query_id": image_ids[target_rows[in_order]],
            "item_id": text_ids[target_items[in_order]],
            "language_rank": target_ranks[in_order].astype(np.int32),
        }
    )
    tables = {
        "queries": _describe_queries(benchmark),
        "items": _describe_items(texts),
        "rankings": rankings,
        "targets": language_ranks,
    }
    return Observations("prevalence", tables)


def _language_ranks(
    scores: NDArray[np.float32], start: int, stop: int, columns: NDArray[np.int64], relevance: Relevance
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(query, item, rank) of the relevant items of one language for queries `start` to `stop`."""
    here = slice(*np.searchsorted(relevance.queries, (start, stop)))
    queries, items = relevance.queries[here], relevance.items[here]
    at = np.minimum(np.searchsorted(columns, items), len(columns) - 1)
    of_language = columns[at] == items
    queries, items, at = queries[of_language], items[of_language], at[of_language]
    return queries, items, ranks_within(scores[:, columns], queries - start, at)


def _describe_queries(benchmark: Benchmark) -> pl.DataFrame:
    images = benchmark.images
    english = pl.Series(benchmark.texts.table["language"] == "en").to_numpy()
    labels: list[str | None] = [None] * len(images)
    texts = benchmark.texts.table["text"]
    for query, item in zip(benchmark.relevance.queries, benchmark.relevance.items, strict=True):
        if english[item] and labels[query] is None:
            labels[query] = texts[int(item)]
    return pl.DataFrame(
        {
            "query_id": images.ids,
            "label": pl.Series(labels, dtype=pl.String),
            "picture": pl.Series([images.thumbnail(row) for row in range(len(images))], dtype=pl.Binary),
        }
    )


def _describe_items(texts: Items) -> pl.DataFrame:
    table = texts.table.rename({"id": "item_id"})
    if "tier" not in table.columns:
        table = table.with_columns(tiers_of(table["language"], texts.source))
    wrong = table.filter(~pl.col("tier").is_in(TIERS))
    if len(wrong):
        raise InputError(f"{texts.source}: tier {wrong['tier'][0]!r} is none of {', '.join(TIERS)}")
    wanted = ["item_id", "text", "language", "tier", "borrowed"]
    return table.select(name for name in wanted if name in table.columns)


def _lists_observations(
    subject: ResultLists, benchmark: Benchmark, settings: PrevalenceSettings, progress: Progress
) -> Observations:
    """What the prevalence audit observes, from a finished run in place of a model.

    The table `targets` names the captions that are right for each image, but their `language_rank` is null:
    where a caption stands among those of its language alone is not known of a list that was cut.
    """
    lists = subject.lists(benchmark, settings.depth)
    progress("reading lists", 1, 1)
    images, texts, relevance = benchmark.images, benchmark.texts, benchmark.relevance
    right = pl.DataFrame({"query_id": images.ids[relevance.queries], "item_id": texts.ids[relevance.items]})
    items = texts.table.rename({"id": "item_id"})
    if "tier" not in items.columns:
        items = items.with_columns(tiers_of(items["language"], texts.source))
    asked = lists["query_id"].unique(maintain_order=True)
    rows = {name: row for row, name in enumerate(images.ids)}
    pictures = [images.thumbnail(rows[name]) for name in asked]
    labels = right.join(
        items.filter(pl.col("language") == "en"), on="item_id", how="inner", maintain_order="left"
    ).unique("query_id", keep="first", maintain_order=True)
    described = pl.DataFrame({"query_id": asked, "picture": pl.Series(pictures, dtype=pl.Binary)}).join(
        labels.select("query_id", label="text"), on="query_id", how="left", maintain_order="left"
    )
    return Observations(
        "prevalence",
        {
            "queries": described.select("query_id", "label", "picture"),
            "items": items.select("item_id", "text", "language", "tier"),
            "rankings": lists.select("query_id", "rank", "item_id", pl.col("score").cast(pl.Float32))
            .join(
                right.with_columns(relevant=True),
                on=["query_id", "item_id"],
                how="left",
                maintain_order="left",
            )
            .with_columns(pl.col("relevant").fill_null(False)),
            "targets": right.filter(pl.col("query_id").is_in(asked.implode())).with_columns(
                language_rank=pl.lit(None, dtype=pl.Int32)
            ),
        },
    )


PREVALENCE = register(
    Audit(
        name="prevalence",
        question=QUESTION,
        source='P: "Evaluating Perspectival Biases in Cross-Modal Retrieval", image to text',
        settings=PrevalenceSettings,
        schemas=SCHEMAS,
        headline=("DLBKL@10 [grouping=tier]", "Accuracy@5", "NDCG@10 (pool)", "R@1 [tier=low]"),
        subjects=(Encoder, ResultLists),
        observe=observe,
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
    )
)
