"""Silhouette: how much closer each point is to its own cluster than to the nearest other one.

Rousseeuw, "Silhouettes: a Graphical Aid to the Interpretation and Validation of Cluster Analysis" (Journal of
Computational and Applied Mathematics, 1987): s = (b - a) / max(a, b), a the mean distance to the other points
of the own cluster, b the smallest mean distance to another cluster. P uses it, Euclidean, for how apart
languages and countries lie in an embedding space.

Squared Euclidean and cosine distances are linear in sums over a cluster, so the mean distance to a cluster
follows from its size, its vector sum and its sum of squared norms: n x clusters instead of n x n work. That
closed form is ours. Euclidean distance has none and is summed over blocks of pairs, each pair once.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_table, one_of

Metric = Literal["euclidean", "sqeuclidean", "cosine"]

EUCLIDEAN_BLOCK = 2048  # rows and columns of one block of distances: 32 MiB
LINEAR_BLOCK = 1024  # rows turned into float64 at a time


def silhouette_samples(x: ArrayLike, labels: ArrayLike, metric: Metric = "euclidean") -> NDArray[np.float64]:
    """Silhouette of each point, `(n,)` in [-1, 1]: above 0 it is nearest to its own cluster.

    `x` is `(n, width)` vectors, `labels` `(n,)` cluster names of any kind that sorts. `"sqeuclidean"` and
    `"cosine"` take O(n x clusters x width) time; `"euclidean"` O(n x n x width), but never an n x n matrix:
    about 64 MiB beside a float64 copy of `x`. A point alone in its cluster scores 0, as do points that
    coincide with both clusters. Agrees with scikit-learn to 1e-6; sums are in float64 also for float32 input.

    Raises UndefinedMetricError for no point, a single cluster or only clusters of one point;
    MetricInputError for a value that is not finite, a zero vector under "cosine" or labels that do not fit.

    >>> silhouette_samples([[0.0], [1.0], [4.0]], ["a", "a", "b"]).round(4).tolist()
    [0.75, 0.6667, 0.0]
    """
    one_of(metric, "metric", ("euclidean", "sqeuclidean", "cosine"))
    points = as_table(x, "x", "width", rows="n")
    if not np.issubdtype(points.dtype, np.floating):
        points = points.astype(np.float64)
    cluster, sizes = _as_clusters(labels, len(points))
    if metric == "euclidean":
        sums = _euclidean_sums(points, cluster, len(sizes))
    else:
        sums = _linear_sums(points, cluster, sizes, cosine=metric == "cosine")
    return _scores(sums, cluster, sizes)


def _as_clusters(labels: ArrayLike, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each point's cluster as a number from 0, and the clusters' sizes."""
    array = np.asarray(labels)
    if array.shape != (n,):
        raise MetricInputError(f"labels must have one name for each of {n} points; got shape {array.shape}")
    names, cluster, sizes = np.unique(array, return_inverse=True, return_counts=True)
    if len(names) == 1:
        raise UndefinedMetricError(f"all points are in cluster {names[0]}: a silhouette takes 2 or more")
    if len(names) == n:
        raise UndefinedMetricError("every point is a cluster of its own: a silhouette takes one of 2 or more")
    return cluster.reshape(-1).astype(np.int64), sizes.astype(np.int64)


def _scores(
    sums: NDArray[np.float64], cluster: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Silhouettes from `(n, clusters)` sums of each point's distances to each cluster."""
    rows = np.arange(len(sums))
    within = sums[rows, cluster] / np.maximum(sizes[cluster] - 1, 1)
    means = sums / sizes
    means[rows, cluster] = np.inf
    nearest = means.min(axis=1)
    widest = np.maximum(within, nearest)
    score = np.zeros(len(sums))
    np.divide(nearest - within, widest, out=score, where=(widest > 0) & (sizes[cluster] > 1))
    return score


def _linear_sums(
    points: NDArray[np.floating[Any]], cluster: NDArray[np.int64], sizes: NDArray[np.int64], *, cosine: bool
) -> NDArray[np.float64]:
    """Sums of squared Euclidean or cosine distances to each cluster, in closed form, `(n, clusters)`."""
    n, n_clusters = len(points), len(sizes)
    origin = np.zeros(points.shape[1])
    vectors = np.zeros((n_clusters, points.shape[1]))
    buffer = np.empty((min(LINEAR_BLOCK, n), points.shape[1]))  # one for all: fresh memory is slow
    spans = [slice(i, min(i + LINEAR_BLOCK, n)) for i in range(0, n, LINEAR_BLOCK)]
    for span in spans:
        block, _ = _load(points, span, buffer, origin, cosine=cosine)
        vectors += _one_hot(cluster[span], n_clusters) @ block
    if not cosine:  # distances do not change when the mean is moved to 0, and rounding shrinks
        origin = vectors.sum(axis=0) / n
        vectors -= sizes[:, None] * origin
    sums, squares = np.empty((n, n_clusters)), np.empty(n)
    for span in spans:
        block, squares[span] = _load(points, span, buffer, origin, cosine=cosine)
        np.matmul(block, vectors.T, out=sums[span])
    if cosine:
        sums = sizes - sums
    else:
        sums *= -2
        sums += squares[:, None] * sizes
        sums += np.bincount(cluster, weights=squares)
    return np.maximum(sums, np.zeros_like(sums))


def _load(
    points: NDArray[np.floating[Any]],
    span: slice,
    buffer: NDArray[np.float64],
    origin: NDArray[np.float64],
    *,
    cosine: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of `span` in `buffer`, seen from `origin` or, for cosine, of length 1; and their squared norms."""
    block = buffer[: span.stop - span.start]
    np.subtract(points[span], origin, out=block)
    squares = np.einsum("ij,ij->i", block, block)
    if not np.isfinite(squares).all():
        row = span.start + int(np.flatnonzero(~np.isfinite(squares))[0])
        raise MetricInputError(f"x has a value that is not finite, or too large to square, in row {row}")
    if not cosine:
        return block, squares
    if (squares == 0).any():
        row = span.start + int(np.flatnonzero(squares == 0)[0])
        raise MetricInputError(f"x has a zero vector in row {row}: it has no cosine with anything")
    block /= np.sqrt(squares)[:, None]
    return block, squares


def _euclidean_sums(
    points: NDArray[np.floating[Any]], cluster: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    """Sums of Euclidean distances to each cluster over blocks of pairs, `(n, clusters)`."""
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise MetricInputError(f"x has a value that is not finite in row {row}")
    centred = points.astype(np.float64)
    centred -= centred.mean(axis=0)  # rounding grows with the norms
    squares = np.einsum("ij,ij->i", centred, centred)
    member = np.ascontiguousarray(_one_hot(cluster, n_clusters).T)
    sums = np.zeros((len(points), n_clusters))
    spans = [slice(i, i + EUCLIDEAN_BLOCK) for i in range(0, len(points), EUCLIDEAN_BLOCK)]
    for i, upper in enumerate(spans):
        for lower in spans[i:]:
            distances = centred[upper] @ centred[lower].T
            distances *= -2
            distances += squares[upper, None]
            distances += squares[lower]
            np.maximum(distances, 0, out=distances)
            np.sqrt(distances, out=distances)
            if upper == lower:
                np.fill_diagonal(distances, 0)
            else:
                sums[lower] += distances.T @ member[upper]
            sums[upper] += distances @ member[lower]
    return sums


def _one_hot(cluster: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    """`(n_clusters, n)`: 1 where the point is in the cluster."""
    member = np.zeros((n_clusters, len(cluster)))
    member[cluster, np.arange(len(cluster))] = 1
    return member
