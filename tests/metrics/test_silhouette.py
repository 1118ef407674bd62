import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import silhouette, silhouette_samples

METRICS = ("euclidean", "sqeuclidean", "cosine")


def blobs(seed: int, n: int, width: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_clusters), rng.integers(0, n_clusters, n - n_clusters)])
    return rng.normal(size=(n, width)) + rng.normal(size=(n_clusters, width))[labels], labels


def test_by_hand() -> None:
    # distances on a line: 0 and 1 are a cluster, 4 and 6 another
    x, labels = np.array([[0.0], [1], [4], [6]]), [0, 0, 1, 1]
    expected = [(5 - 1) / 5, (4 - 1) / 4, (3.5 - 2) / 3.5, (5.5 - 2) / 5.5]
    np.testing.assert_allclose(silhouette_samples(x, labels), expected)
    squared = [(26 - 1) / 26, (17 - 1) / 17, (12.5 - 4) / 12.5, (30.5 - 4) / 30.5]
    np.testing.assert_allclose(silhouette_samples(x, labels, "sqeuclidean"), squared)
    right_angles = np.array([[1.0, 0], [2, 0], [0, 1], [0, 3]])
    np.testing.assert_allclose(silhouette_samples(right_angles, labels, "cosine"), 1)


@pytest.mark.parametrize("metric", METRICS)
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 999), st.integers(8, 60), st.integers(1, 12), st.integers(2, 7))
def test_agreement_with_scikit_learn(metric: str, seed: int, n: int, width: int, n_clusters: int) -> None:
    from sklearn import metrics as theirs

    x, labels = blobs(seed, n, width, n_clusters)
    expected = theirs.silhouette_samples(x, labels, metric=metric)
    np.testing.assert_allclose(silhouette_samples(x, labels, metric), expected, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agreement_over_many_blocks(metric: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn import metrics as theirs

    monkeypatch.setattr(silhouette, "EUCLIDEAN_BLOCK", 64)
    monkeypatch.setattr(silhouette, "LINEAR_BLOCK", 50)
    x, labels = blobs(3, 333, 20, 9)
    x = (x + 40).astype(dtype)  # far from the origin, where squared norms lose digits
    expected = theirs.silhouette_samples(x.astype(np.float64), labels, metric=metric)
    np.testing.assert_allclose(silhouette_samples(x, labels, metric), expected, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_names_of_clusters_do_not_matter(metric: str) -> None:
    x, labels = blobs(1, 40, 6, 4)
    names = np.array(["d", "a", "c", "b"])[labels]
    expected = silhouette_samples(x, labels, metric)
    np.testing.assert_allclose(silhouette_samples(x, names, metric), expected, atol=1e-12)


def test_what_leaves_distances_alone_leaves_silhouettes_alone() -> None:
    x, labels = blobs(2, 50, 6, 4)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    for metric in METRICS:
        expected = silhouette_samples(x, labels, metric)
        np.testing.assert_allclose(silhouette_samples(7 * x @ turn, labels, metric), expected, atol=1e-9)
        if metric != "cosine":
            np.testing.assert_allclose(silhouette_samples(x + 5, labels, metric), expected, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_a_point_alone_scores_zero(metric: str) -> None:
    x, _ = blobs(4, 12, 3, 2)
    assert silhouette_samples(x, [0] * 11 + [1], metric)[11] == 0


def test_points_that_all_coincide_score_zero() -> None:
    assert silhouette_samples(np.full((4, 2), 0.1), [0, 0, 1, 1]).tolist() == [0] * 4


def test_the_distances_are_never_all_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silhouette, "EUCLIDEAN_BLOCK", 200)
    x, labels = blobs(5, 4000, 8, 3)
    tracemalloc.start()
    silhouette_samples(x, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4000 * 4000  # bytes: an eighth of the n x n distances


@pytest.mark.parametrize(
    ("x", "labels", "metric", "error", "words"),
    [
        ([[0.0], [1], [2]], [1, 1, 1], "euclidean", UndefinedMetricError, "all points are in cluster 1"),
        ([[0.0], [1], [2]], [1, 2, 3], "euclidean", UndefinedMetricError, "cluster of its own"),
        ([[0.0], [1], [2]], [1, 1], "euclidean", MetricInputError, "one name for each of 3"),
        ([[0.0], [1], [2]], [1, 1, 2], "cityblock", MetricInputError, "metric must be one of"),
        ([[0.0], [1], [2]], [1, 1, 2], "cosine", MetricInputError, "zero vector in row 0"),
        ([[3.0], [np.nan], [2]], [1, 1, 2], "cosine", MetricInputError, "row 1"),
        ([[3.0], [1], [np.inf]], [1, 1, 2], "euclidean", MetricInputError, "row 2"),
    ],
)
def test_bad_input_is_named(x, labels, metric, error, words) -> None:
    with pytest.raises(error, match=words):
        silhouette_samples(x, labels, metric)
