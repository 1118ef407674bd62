"""The shape of an embedding space: how far its groups stand apart, and a map of it on paper."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.seeds import seed_for
from equiview.metrics import silhouette_samples

Silhouette = Literal["euclidean", "sqeuclidean", "cosine"]


def describe_space(
    vectors: NDArray[np.float32], groups: pl.Series, *, metric: Silhouette, seed: int
) -> pl.DataFrame:
    """For each vector its silhouette among `groups` (null where undefined) and its place on two maps.

    Columns: silhouette, pca_x, pca_y, and umap_x, umap_y when umap-learn is installed. `metric` is the
    silhouette's; the paper's is Euclidean on the embeddings as stored.
    """
    made: dict[str, Any] = {"silhouette": pl.Series([None] * len(vectors), dtype=pl.Float64)}
    if 1 < groups.n_unique() < len(groups):
        made["silhouette"] = silhouette_samples(vectors, groups.rank("dense").to_numpy(), metric)
    made |= dict(zip(("pca_x", "pca_y"), principal(vectors).T, strict=True))
    if (umap := _umap(vectors, seed)) is not None:
        made |= dict(zip(("umap_x", "umap_y"), umap.T, strict=True))
    return pl.DataFrame(made)


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
    if len(vectors) < 10:
        return None
    state = seed_for(seed, "umap") % 2**32
    return np.asarray(UMAP(random_state=state, n_jobs=1).fit_transform(vectors), dtype=np.float64)
