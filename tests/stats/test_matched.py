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


def test_labels_are_only_exchanged_within_clusters():
    clusters = np.array([0, 0, 0, 1, 1, 2, -1, -1])
    groups = np.array([0, 300, 2, 7, 7, 5, 1, 0])  # two bytes wide, one cluster all alike, one of one item
    seen = []

    def keep(lists, cutoffs):
        seen.append(lists[0].tolist())
        return np.zeros((len(cutoffs), 1))

    matched_floor([keep], [np.arange(8)], clusters, groups, [8], draws=40, seed=3)
    assert seen[0] == groups.tolist()  # the lists as they are come first
    assert {tuple(labels[3:]) for labels in seen} == {(7, 7, 5, 1, 0)}
    assert {tuple(sorted(labels[:3])) for labels in seen} == {(0, 2, 300)}
    assert len({tuple(labels[:3]) for labels in seen}) == 6


def test_exchanging_all_items_or_equal_ones_says_what_it_must():
    first = lambda lists, cutoffs: np.array([(lists[:, 0] == 1) * 1.0] * len(cutoffs))  # noqa: E731
    share = lambda lists, cutoffs: np.array([(lists[:, :k] == 1).mean(axis=1) for k in cutoffs])  # noqa: E731
    one, whole = matched_floor(
        [first, share], [np.arange(50)] * 3, np.zeros(50), np.arange(50) < 10, [50], draws=2000, seed=0
    )
    assert one.value[0] == pytest.approx(0.2, abs=0.03)
    assert (whole.value[0], whole.p[0]) == (pytest.approx(0.2), 1.0)
    assert whole.sd[0] < 1e-12
    [alike] = matched_floor([share], [[0, 1, 2]], [0, 0, 1], [1, 1, 1], [1, 3], draws=9, seed=0)
    assert (alike.value.tolist(), alike.sd.tolist(), alike.p.tolist()) == ([1.0, 1.0], [0.0, 0.0], [1.0, 1.0])


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
