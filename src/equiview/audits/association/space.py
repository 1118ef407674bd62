"""The shape of an embedding space: how far its groups stand apart, and a map of it on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from equiview.audits.association.settings import Silhouette
from equiview.data.seeds import short_seed_for
from equiview.io.tables import Column
from equiview.metrics import silhouette_samples

LEAST_MAPPED = 10
"""Fewer vectors have no UMAP map: its neighbourhoods need more."""

SPACE = (
    Column(
        "silhouette", pl.Float64, "how much nearer to its own group than to the next, -1 to 1", nullable=True
    ),
    Column("pca_x", pl.Float64, "place on the first principal component"),
    Column("pca_y", pl.Float64, "place on the second"),
    Column("umap_x", pl.Float64, "place on the UMAP map", optional=True),
    Column("umap_y", pl.Float64, "place on the UMAP map", optional=True),
)


def describe_space(
    vectors: NDArray[np.float32], groups: pl.Series, *, metric: Silhouette, seed: int
) -> pl.DataFrame:
    """For each vector its silhouette among `groups` (null where undefined) and its place on two maps.

    Columns are those of `SPACE`; umap_x and umap_y only when umap-learn is installed. `vectors` is
    `(n, width)`, `groups` has length n. `metric` is the silhouette's; the paper's is Euclidean on the
    embeddings as stored.
    """
    columns: dict[str, Any] = {"silhouette": pl.Series([None] * len(vectors), dtype=pl.Float64)}
    with threadpool_limits(1, user_api="blas"):  # the last digits of products depend on the number of threads
        if 1 < groups.n_unique() < len(groups):
            columns["silhouette"] = silhouette_samples(vectors, groups.rank("dense").to_numpy(), metric)
        columns |= dict(zip(("pca_x", "pca_y"), principal(vectors).T, strict=True))
    if (umap := _umap(vectors, seed)) is not None:
        columns |= dict(zip(("umap_x", "umap_y"), umap.T, strict=True))
    return pl.DataFrame(columns)


def principal(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The first two principal components, `(n, 2)`, signs fixed so that the same input gives the same map.

    >>> principal(np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]], dtype=np.float32)).round(6).tolist()
    [[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    first = axes[:, ::-1][:, :2]
    largest = np.abs(first).argmax(axis=0)
    first = first * np.sign(first[largest, np.arange(first.shape[1])])
    places = centred @ first
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def _umap(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float64] | None:
    try:
        from umap import UMAP  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    if len(vectors) < LEAST_MAPPED:
        return None
    state = short_seed_for(seed, "umap")
    return np.asarray(UMAP(random_state=state, n_jobs=1).fit_transform(vectors), dtype=np.float64)
