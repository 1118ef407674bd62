"""Silhouettes and maps of an embedding space."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.association.space import SPACE, describe_space, principal
from equiview.metrics import silhouette_samples


def vectors(seed=0):
    return np.random.default_rng(seed).normal(size=(12, 5)).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_silhouettes_are_those_of_the_metric(metric):
    groups = pl.Series(["b", "a", "c"] * 4)
    space = describe_space(vectors(), groups, metric=metric, seed=0)
    expected = silhouette_samples(vectors(), groups.to_numpy(), metric)
    np.testing.assert_array_equal(space["silhouette"], expected)


@pytest.mark.parametrize("groups", [["a"] * 12, list("abcdefghijkl")])
def test_a_single_group_or_only_singletons_have_no_silhouette(groups):
    space = describe_space(vectors(), pl.Series(groups), metric="euclidean", seed=0)
    assert space["silhouette"].null_count() == 12
    assert space["pca_x"].null_count() == 0


def test_columns_are_those_of_the_schema():
    space = describe_space(vectors(), pl.Series(["a", "b"] * 6), metric="cosine", seed=0)
    required = [column.name for column in SPACE if not column.optional]
    assert set(required) <= set(space.columns) <= {column.name for column in SPACE}


def test_principal_components_carry_the_most_variance_and_turn_with_nothing():
    stretched = vectors() * np.array([5, 3, 1, 0.5, 0.1], dtype=np.float32)
    places = principal(stretched)
    singular = np.linalg.svd(stretched - stretched.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(places, axis=0), singular[:2], rtol=1e-4)
    np.testing.assert_allclose(principal(stretched + 7), places, atol=1e-4)


def test_a_space_of_one_dimension_has_a_flat_map():
    assert principal(vectors()[:, :1]).shape == (12, 2)
    assert not principal(vectors()[:, :1])[:, 1].any()
