"""Score every trial in each direction, and describe the space of the texts and of the images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.association.settings import (
    DIRECTIONS,
    LEAST_LANGUAGES,
    AssociationSettings,
    Direction,
)
from equiview.audits.association.space import SPACE, describe_space
from equiview.benchmarks import Benchmark
from equiview.benchmarks.own_trials import trials_of
from equiview.benchmarks.trials import ROLES
from equiview.benchmarks.trials import SCHEMA as TRIALS
from equiview.data.items import Items, blind_order
from equiview.data.labels import known_labels
from equiview.data.observations import Observations
from equiview.data.vectors import Vectors, one_each
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.search import pair_scores, ready
from equiview.subjects import Encoder

MAPPED_PICTURES = 240
"""Images whose picture is kept for the map and examples; a seeded sample when there are more."""

SCHEMAS = schemas(
    trials=(
        *(column for column in TRIALS.columns if column.name != "trial_id"),
        Column("trial_id", pl.String, "the trial; once in each direction"),
        Column("direction", pl.String, " or ".join(DIRECTIONS)),
        *(Column(f"{role}_score", pl.Float64, f"similarity of the {role} image") for role in ROLES),
    ),
    texts=(
        Column("text_id", pl.String, "the query", unique=True),
        Column("text", pl.String, "its words"),
        Column("language", pl.String, "its language"),
        Column("concept", pl.String, "its concept"),
        *(Column(c.name, c.dtype, c.about, nullable=True, optional=c.optional) for c in SPACE),
    ),
    images=(
        Column("image_id", pl.String, "the image", unique=True),
        Column("concept", pl.String, "what it shows"),
        Column("country", pl.String, "where it is of"),
        Column("picture", pl.Binary, "a small picture of it, for a sample", nullable=True),
        *SPACE,
    ),
)


def observe(
    subject: Encoder, benchmark: Benchmark, settings: AssociationSettings, progress: Progress
) -> Observations:
    """Score every trial in each direction, and describe the text and the image space.

    A benchmark without trials has them made (`equiview.benchmarks.own_trials`). InputError where that cannot
    be done, and for trials of items that it lacks.
    """
    trials = trials_of(benchmark)
    if (spoken := trials["language"].n_unique()) < LEAST_LANGUAGES:
        notice(
            f"benchmark {benchmark.name!r}: its {len(trials)} trials are in {spoken} of the "
            f"{LEAST_LANGUAGES} languages that a verdict takes; it will not decide"
        )
    images, texts = benchmark.images, _queries(benchmark.need_texts(), trials)
    # Spaces are described by raw vectors; scores are computed from comparable ones.
    image_vectors, text_vectors = subject.embed(images, progress), subject.embed(texts, progress)
    gallery = ready(image_vectors, subject.similarity)
    image_rows = _rows(images)
    queries: dict[Direction, tuple[Vectors, NDArray[np.int64]]] = {
        "text-to-image": (
            ready(text_vectors, subject.similarity),
            _look_up(trials["query_id"], _rows(texts), "text"),
        ),
        "image-to-image": (gallery, _look_up(trials["query_image_id"], image_rows, "image")),
    }
    candidates = {role: _look_up(trials[f"{role}_id"], image_rows, "image") for role in ROLES}
    parts = []
    for done, direction in enumerate(settings.directions, start=1):
        vectors, rows = queries[direction]
        scores = {
            f"{role}_score": pl.Series(pair_scores(vectors, gallery, rows, columns).astype(np.float64))
            for role, columns in candidates.items()
        }
        parts.append(trials.with_columns(direction=pl.lit(direction), **scores))
        progress("scoring trials", done, len(settings.directions))
    tables = {
        "trials": pl.concat(parts),
        "texts": _describe_texts(texts, one_each(text_vectors), settings),
        "images": _describe_images(images, one_each(image_vectors), trials, settings),
    }
    return Observations(tables)


def example_trials(trials: pl.DataFrame, count: int = 6) -> pl.DataFrame:
    """The trials shown as examples: drawn at random, each of another country, the same for every system."""
    shuffled = trials[blind_order(trials["trial_id"])].unique("country", keep="first", maintain_order=True)
    return shuffled.head(count)


def _queries(texts: Items, trials: pl.DataFrame) -> Items:
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
    """Each image with its concept, country and place, and the picture of a sample."""
    labels = (known_labels(images.attribute(name), ()) for name in ("concept", "country"))
    table = images.table.select("id").with_columns(*labels).rename({"id": "image_id"})
    space = describe_space(vectors, table["country"], metric=settings.silhouette, seed=settings.seed)
    kept = set(_pictured(images, trials, settings.seed))
    pictures = [images.thumbnail(row) if row in kept else None for row in range(len(images))]
    return pl.concat(
        [table.with_columns(picture=pl.Series(pictures, dtype=pl.Binary)), space], how="horizontal"
    )


def _pictured(images: Items, trials: pl.DataFrame, seed: int) -> Iterator[int]:
    """Rows of the images of the example trials, and of a seeded sample for the map."""
    rows = _rows(images)
    examples = example_trials(trials)
    for role in ROLES:
        yield from (rows[name] for name in examples[f"{role}_id"])
    count = min(MAPPED_PICTURES, len(images))
    yield from np.random.default_rng(seed).choice(len(images), count, replace=False).tolist()
