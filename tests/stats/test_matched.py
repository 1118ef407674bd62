"""Matched permutations against what can be counted out."""

import numpy as np
import pytest

from equiview.errors import StatsInputError
from equiview.stats import matched_floor, rank_weights


def test_weights_add_up_the_discounts_of_every_place():
    weights = rank_weights([[2, 0, 1], [2, 1, 0]], n_items=4, cutoffs=[3, 1])
    third, second = 1 / np.log2(4), 1 / np.log2(3)
    assert weights[:, 0].tolist() == [second + third, third + second, 2.0, 0.0]
    assert weights[:, 1].tolist() == [0.0, 0.0, 2.0, 0.0]


def test_a_floor_is_the_mean_over_permutations():
    ranked = np.array([[0, 1, 2], [4, 5, 3]])
    clusters, groups = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 1, 1])
    first, both = (
        (lambda lists, cutoffs: np.array([(lists[:, 0] == 1) * 1.0] * len(cutoffs))),
        (lambda lists, cutoffs: np.array([(lists[:, :2] == 1).all(axis=1) * 1.0] * len(cutoffs))),
    )
    one, two = matched_floor([first, both], ranked, clusters, groups, [2, 3], draws=2000, seed=0)
    assert one.value == pytest.approx([2 / 3, 2 / 3], abs=0.03)
    assert two.value == pytest.approx([1 / 3, 1 / 3], abs=0.03)
    assert one.sd == pytest.approx([1 / 3, 1 / 3], abs=0.03)
    assert one.p.tolist() == [1.0, 1.0]  # one of two firsts is: one half, and no permutation is nearer to 2/3


def test_the_same_seed_gives_the_same_bytes():
    rng = np.random.default_rng(0)
    ranked, clusters, groups = (
        rng.permuted(np.tile(np.arange(60), (5, 1)), axis=1),
        np.repeat(np.arange(20), 3),
        np.tile([0, 1, 2], 20),
    )
    of_first = lambda lists, cutoffs: np.array([(lists[:, 0] == 1) * 1.0] * len(cutoffs))  # noqa: E731
    first, again = (
        matched_floor([of_first], ranked, clusters, groups, [1], draws=99, seed=5)[0] for _ in range(2)
    )
    assert first.value.tobytes() == again.value.tobytes()


def test_items_of_no_cluster_keep_their_group():
    of_first = lambda lists, cutoffs: np.array([(lists[:, 0] == 1) * 1.0] * len(cutoffs))  # noqa: E731
    [floor] = matched_floor([of_first], [[0], [1]], [-1, -1], [0, 1], [1], draws=10, seed=0)
    assert (floor.value[0], floor.sd[0], floor.p[0]) == (0.5, 0.0, 1.0)


def test_wrong_input_is_an_error_in_words():
    with pytest.raises(StatsInputError, match="cutoffs must lie between 1 and 2"):
        rank_weights([[0, 1]], 2, [3])
    with pytest.raises(StatsInputError, match="there are 2"):
        rank_weights([[0, 2]], 2, [1])
    of_first = lambda lists, cutoffs: np.array([(lists[:, 0] == 1) * 1.0] * len(cutoffs))  # noqa: E731
    with pytest.raises(StatsInputError, match="groups must be 0 or more; got -1"):
        matched_floor([of_first], [[0]], [0], [-1], [1], seed=0)
    with pytest.raises(StatsInputError, match=r"clusters and groups must be \(n_items,\)"):
        matched_floor([of_first], [[0]], [0, 1], [0], [1], seed=0)
