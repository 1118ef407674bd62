"""Association bias (P, text to image): does the query's language pull in its culture's images over meaning.

A trial asks a concept in the language of a country and offers three images: the right concept from another
country (semantic), another concept from the same country (cultural), and neither (non-relevant). The share of
trials each wins, and SP = M_cul / M_sem, say whether culture beats meaning. Image to image, the query is the
culture's own picture of the concept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._association_values import (
    DIRECTIONS,
    AssociationSettings,
    Direction,
    measure,
    values,
)
from equiview.audits._association_views import QUESTION, draw, judge
from equiview.audits._examples import example_trials
from equiview.audits._space import describe_space
from equiview.audits.base import Audit, register
from equiview.benchmarks import Benchmark
from equiview.benchmarks.trials import ROLES
from equiview.benchmarks.trials import SCHEMA as TRIALS
from equiview.data.items import Items
from equiview.data.observations import Observations
from equiview.data.progress import Progress
from equiview.data.tables import Column, Schema
from equiview.data.vectors import Vectors, one_each
from equiview.errors import InputError
from equiview.search import unit
from equiview.search.pairs import pair_scores
from equiview.subjects import Encoder

MAPPED_PICTURES = 240
"""Images whose picture is kept for the map and examples; a seeded sample when there are more."""

SPACE = (
    Column(
        "silhouette", pl.Float64, "how much nearer to its own group than to the next, -1 to 1", nullable=True
    ),
    Column("pca_x", pl.Float64, "place on the first principal component"),
    Column("pca_y", pl.Float64, "place on the second"),
    Column("umap_x", pl.Float64, "place on the UMAP map", optional=True),
    Column("umap_y", pl.Float64, "place on the UMAP map", optional=True),
)
SCHEMAS = {
    "trials": Schema(
        "trials",
        (
            *(column for column in TRIALS.columns if column.name != "trial_id"),
            Column("trial_id", pl.String, "the trial; once in each direction"),
            Column("direction", pl.String, " or ".join(DIRECTIONS)),
            *(Column(f"{role}_score", pl.Float64, f"similarity of the {role} image") for role in ROLES),
        ),
    ),
    "texts": Schema(
        "texts",
        (
            Column("text_id", pl.String, "the query", unique=True),
            Column("text", pl.String, "its words"),
            Column("language", pl.String, "its language"),
            Column("concept", pl.String, "its concept"),
            *(column for column in SPACE[:1]),
            *(Column(c.name, c.dtype, c.about, nullable=True, optional=c.optional) for c in SPACE[1:]),
        ),
    ),
    "images": Schema(
        "images",
        (
            Column("image_id", pl.String, "the image", unique=True),
            Column("concept", pl.String, "what it shows"),
            Column("country", pl.String, "where it is of"),
            Column("picture", pl.Binary, "a small picture of it, for a sample", nullable=True),
            *SPACE,
        ),
    ),
}


def observe(
    subject: Encoder, benchmark: Benchmark, settings: AssociationSettings, progress: Progress
) -> Observations:
    """Score every trial in each direction, and describe the text and the image space."""
    if "trials" not in benchmark.tables:
        raise InputError(
            f"benchmark {benchmark.name!r} has no trials of association; use pictograms-culture or 3xcm:DIR"
        )
    trials = TRIALS.check(benchmark.tables["trials"], f"{benchmark.name} trials")
    images, texts = benchmark.images, _asked(benchmark.texts, trials)
    image_vectors, text_vectors = subject.embed(images, progress), subject.embed(texts, progress)
    cosine = subject.similarity == "cosine"
    gallery = unit(image_vectors) if cosine else image_vectors
    image_rows, text_rows = _rows(images), _rows(texts)
    queries: dict[Direction, tuple[Vectors, NDArray[np.int64]]] = {
        "text-to-image": (
            unit(text_vectors) if cosine else text_vectors,
            _look_up(trials["query_id"], text_rows, "text"),
        ),
        "image-to-image": (gallery, _look_up(trials["query_image_id"], image_rows, "image")),
    }
    parts = []
    for done, direction in enumerate(settings.directions, start=1):
        vectors, rows = queries[direction]
        scores = {
            f"{role}_score": pair_scores(
                vectors, gallery, rows, _look_up(trials[f"{role}_id"], image_rows, "image")
            ).astype(np.float64)
            for role in ROLES
        }
        parts.append(
            trials.with_columns(direction=pl.lit(direction), **{k: pl.Series(v) for k, v in scores.items()})
        )
        progress("scoring trials", done, len(settings.directions))
    tables = {
        "trials": pl.concat(parts),
        "texts": _describe_texts(texts, one_each(text_vectors), settings),
        "images": _describe_images(images, one_each(image_vectors), trials, settings),
    }
    return Observations("association", tables)


def _asked(texts: Items, trials: pl.DataFrame) -> Items:
    """The texts that are a query of some trial, in their order."""
    rows = texts.ids.is_in(trials["query_id"].unique().to_list()).arg_true()
    if not len(rows):
        raise InputError(f"{texts.source}: no text is the query of a trial")
    return texts.take(rows.to_numpy())


def _rows(items: Items) -> dict[str, int]:
    return {name: row for row, name in enumerate(items.ids)}


def _look_up(ids: pl.Series, rows: dict[str, int], kind: str) -> NDArray[np.int64]:
    for place, name in enumerate(ids):
        if name not in rows:
            raise InputError(f"trial {place + 1}: {kind} {name!r} ({ids.name}) is not in the benchmark")
    return np.asarray([rows[name] for name in ids], dtype=np.int64)


def _describe_texts(
    texts: Items, vectors: NDArray[np.float32], settings: AssociationSettings
) -> pl.DataFrame:
    """Each query with its language; the space is described over distinct strings, the first of each."""
    table = texts.table.select("id", "text", "language", "concept").rename({"id": "text_id"})
    first = table.with_row_index("row").unique("text", keep="first", maintain_order=True)
    space = describe_space(
        vectors[first["row"].to_numpy()], first["language"], metric=settings.silhouette, seed=settings.seed
    )
    described = pl.concat([first.select("text_id"), space], how="horizontal")
    return table.join(described, on="text_id", how="left", maintain_order="left")


def _describe_images(
    images: Items, vectors: NDArray[np.float32], trials: pl.DataFrame, settings: AssociationSettings
) -> pl.DataFrame:
    table = images.table.select("id", "concept", "country").rename({"id": "image_id"})
    space = describe_space(vectors, table["country"], metric=settings.silhouette, seed=settings.seed)
    kept = set(_pictured(images, trials, settings.seed))
    pictures = [images.thumbnail(row) if row in kept else None for row in range(len(images))]
    return pl.concat(
        [table.with_columns(picture=pl.Series(pictures, dtype=pl.Binary)), space], how="horizontal"
    )


def _pictured(images: Items, trials: pl.DataFrame, seed: int) -> Iterator[int]:
    """Rows of the images of the example trials, and of a seeded sample for the map."""
    rows = _rows(images)
    for role in ROLES:
        yield from (rows[name] for name in example_trials(trials, seed)[f"{role}_id"])
    count = min(MAPPED_PICTURES, len(images))
    yield from np.random.default_rng(seed).choice(len(images), count, replace=False).tolist()


ASSOCIATION = register(
    Audit(
        name="association",
        question=QUESTION,
        source='P: "Evaluating Perspectival Biases in Cross-Modal Retrieval", text to image',
        settings=AssociationSettings,
        schemas=SCHEMAS,
        headline=tuple(
            f"{metric} [direction={direction}]"
            for direction in DIRECTIONS
            for metric in ("SP", "M_sem", "M_cul - M_non")
        ),
        ratios={
            f"SP [direction={direction}]": (
                f"M_cul [direction={direction}]",
                f"M_sem [direction={direction}]",
            )
            for direction in DIRECTIONS
        },
        observe=observe,
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
    )
)
