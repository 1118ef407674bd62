"""Matched permutations against what can be counted out, and against their own promise: exact p values."""

from itertools import permutations, product

import numpy as np
import pytest

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import matched, matched_floor, matched_shares, rank_weights


def enumerated(weights, clusters, groups, n_groups):
    """Shares by group after every permutation of labels within clusters, `(n_permutations, n_groups)`."""
    rows = [np.flatnonzero(clusters == name) for name in np.unique(clusters[clusters >= 0])]
    shares = []
    for orders in product(*(list(permutations(groups[part])) for part in rows)):
        labels = groups.copy()
        for part, order in zip(rows, orders, strict=True):
            labels[part] = order
        shares.append(np.bincount(labels, weights=weights, minlength=n_groups) / weights.sum())
    return np.array(shares)


def test_weights_add_up_the_discounts_of_every_place():
    weights = rank_weights([[2, 0, 1], [2, 1, 0]], n_items=4, cutoffs=[3, 1])
    third, second = 1 / np.log2(4), 1 / np.log2(3)
    assert weights[:, 0].tolist() == [second + third, third + second, 2.0, 0.0]
    assert weights[:, 1].tolist() == [0.0, 0.0, 2.0, 0.0]


def test_expectation_and_spread_are_those_of_every_permutation():
    rng = np.random.default_rng(0)
    clusters = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1])
    groups = np.array([0, 1, 2, 0, 0, 1, 2, 1, 1])
    weights = rng.random(9)
    every = enumerated(weights, clusters, groups, 3)
    shares = matched_shares(weights[:, None], clusters, groups, 3, seed=0)
    np.testing.assert_allclose(shares.expected[:, 0], every.mean(axis=0))
    np.testing.assert_allclose(shares.sd[:, 0], every.std(axis=0))
    np.testing.assert_allclose(shares.observed[:, 0], np.bincount(groups, weights=weights) / weights.sum())


def test_p_is_the_share_of_permutations_at_least_as_far_away():
    rng = np.random.default_rng(1)
    clusters, groups = np.repeat(np.arange(6), 3), np.tile([0, 1, 1], 6)
    weights = rng.random(18)
    every = enumerated(weights, clusters, groups, 2)[:, 0]
    far = abs(np.bincount(groups, weights=weights)[0] / weights.sum() - every.mean())
    exact = (np.abs(every - every.mean()) >= far - 1e-12).mean()
    shares = matched_shares(weights[:, None], clusters, groups, 2, draws=20_000, seed=0)
    assert abs(shares.p[0, 0] - exact) < 0.015
    assert shares.p[0, 0] == shares.p[1, 0]


@pytest.mark.parametrize("n_clusters", [20, 700])  # each of its own, and several shifted together
def test_one_in_twenty_blind_systems_is_rejected(n_clusters):
    rejected = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=(n_clusters * 6, 1)) ** 3  # some captions are hubs
        groups = rng.permuted(np.tile([0, 0, 0, 0, 1, 2], (n_clusters, 1)), axis=1).ravel()
        clusters = np.repeat(np.arange(n_clusters), 6)
        shares = matched_shares(weights, clusters, groups, 3, draws=400, seed=seed)
        rejected.append(shares.p[:, 0] <= 0.05)
    assert (np.mean(rejected, axis=0) < 0.095).all()
    assert (np.mean(rejected, axis=0) > 0.01).all()


def test_a_cluster_of_the_whole_pool_is_permuted_as_well():
    rng = np.random.default_rng(0)
    groups = np.tile([0, 1], 400)
    weights = rng.random((800, 1)) + 0.2 * groups[:, None]
    shares = matched_shares(weights, np.zeros(800), groups, 2, draws=200, seed=0)
    assert shares.expected[:, 0].round(12).tolist() == [0.5, 0.5]
    assert shares.p[0, 0] == 1 / 201
    alike = matched_shares(rng.random((800, 1)), np.zeros(800), groups, 2, draws=200, seed=0)
    assert alike.p[0, 0] > 0.01


def test_items_of_no_cluster_keep_their_group():
    shares = matched_shares([[1.0], [3.0]], [-1, -1], [0, 1], 2, draws=10, seed=0)
    assert shares.expected[:, 0].tolist() == shares.observed[:, 0].tolist() == [0.25, 0.75]
    assert shares.p[:, 0].tolist() == [1.0, 1.0]


def test_a_floor_is_the_mean_over_permutations():
    ranked = np.array([[0, 1, 2], [4, 5, 3]])
    clusters, groups = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 1, 1])
    first, both = (
        (lambda lists: (lists[:, 0] == 1) * 1.0),
        (lambda lists: (lists[:, :2] == 1).all(axis=1) * 1.0),
    )
    one, two = matched_floor([first, both], ranked, clusters, groups, [2, 3], draws=2000, seed=0)
    assert one.value == pytest.approx([2 / 3, 2 / 3], abs=0.03)
    assert two.value == pytest.approx([1 / 3, 1 / 3], abs=0.03)
    assert one.sd == pytest.approx([1 / 3, 1 / 3], abs=0.03)
    assert one.p.tolist() == [1.0, 1.0]  # one of two firsts is: one half, and no permutation is nearer to 2/3


def test_the_same_seed_gives_the_same_bytes():
    rng = np.random.default_rng(0)
    weights, clusters, groups = rng.random((60, 2)), np.repeat(np.arange(20), 3), np.tile([0, 1, 2], 20)
    first, again = (matched_shares(weights, clusters, groups, 3, draws=99, seed=5).p for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_wrong_input_is_an_error_in_words():
    with pytest.raises(StatsInputError, match="cutoffs must lie between 1 and 2"):
        rank_weights([[0, 1]], 2, [3])
    with pytest.raises(StatsInputError, match="there are 2"):
        rank_weights([[0, 2]], 2, [1])
    with pytest.raises(StatsInputError, match="groups must lie between 0 and 1"):
        matched_shares([[1.0]], [0], [2], 2, seed=0)
    with pytest.raises(StatsInputError, match=r"clusters and groups \(n_items,\)"):
        matched_shares([[1.0]], [0, 1], [0], 2, seed=0)
    with pytest.raises(UndefinedStatisticError, match="column 1 has no weight"):
        matched_shares([[1.0, 0.0]], [0], [0], 2, seed=0)


def test_shifts_of_a_large_cluster_are_those_counted_one_by_one(monkeypatch):
    monkeypatch.setattr(matched, "SHIFTED", 3)
    monkeypatch.setattr(matched, "TURNED", 3)
    weights = np.array([[4.0, 0.0], [2.0, 1.0], [1.0, 1.0], [0.0, 3.0], [0.0, 0.0]])
    groups = np.array([0, 0, 1, 1, 2])
    order = np.random.default_rng(5).permutation(5)
    by_hand = np.array(
        [
            [weights[order][np.roll(groups[order], -step) == group].sum(axis=0) for group in range(3)]
            for step in range(5)
        ]
    )
    turned = matched._turned(weights, groups, 3, 5, np.random.default_rng(5))
    np.testing.assert_allclose(np.sort(turned, axis=0), np.sort(by_hand.reshape(5, -1), axis=0), atol=1e-12)


def test_a_group_shown_more_is_found_in_a_pool_of_any_size():
    rng = np.random.default_rng(1)
    size = matched.TURNED + 1
    groups = rng.integers(0, 20, size)
    weights = rng.random((size, 1)) * (1 + 0.3 * (groups == 7))[:, None]
    p = matched_shares(weights, np.zeros(size, dtype=int), groups, 20, draws=4000, seed=0).p[:, 0]
    assert p[7] < 0.05 / 20
    assert 0.2 < np.delete(p, 7).mean() < 0.7
