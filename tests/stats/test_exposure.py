"""Exposure of groups against equally right items: by eye, its interval with hubs, its test at a tolerance."""

import numpy as np
import pytest

from equiview.errors import StatsInputError
from equiview.stats import matched_exposure

HALF = 1 / np.log2(3)


def test_observed_and_expected_by_eye_and_items_without_equals_take_no_part():
    # Items 0 and 1 are of one image, 2 of an image of its own, 3 of none; group 1 is shown by 1, 2 and 3.
    lists = matched_exposure([[1, 2], [0, 3]], [0, 0, 1, -1], [0, 1, 1, 1], 2, [1, 2])
    assert lists.by_query[0, 0].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert lists.by_query[1, 0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert lists.exchangeable.round(6).tolist() == [1.0, round(1 / (1 + HALF), 6)]
    assert lists.value.round(9).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert lists.by_cluster.sum(axis=2) == pytest.approx(lists.by_query.mean(axis=2))


def test_a_group_without_equals_has_no_ratio():
    assert np.isnan(matched_exposure([[0], [1]], [0, 1], [0, 1], 2, [1]).value).all()


def test_captions_that_are_shown_alike_leave_nothing_to_vary():
    lists = matched_exposure([[0, 1], [1, 0]] * 20, [0, 0], [0, 1], 2, [2])
    assert lists.p_beyond(0.1)[0] == pytest.approx([1.0, 1.0])
    assert lists.value[0] == pytest.approx([1.0, 1.0])


def test_one_hub_in_all_lists_is_no_proof_and_as_many_different_captions_are():
    labels = np.tile([0, 1], 100)
    images = np.repeat(np.arange(100), 2)
    hub = matched_exposure(np.zeros((100, 1), dtype=int), images, labels, 2, [1])
    each = matched_exposure(2 * np.arange(100)[:, None], images, labels, 2, [1])
    assert hub.value.tolist() == each.value.tolist() == [[2.0, 0.0]]
    assert hub.p_beyond(0.1)[0, 1] > 0.05
    assert each.p_beyond(0.1)[0, 1] < 1e-6
    assert each.interval()[1][0, 1] < 0.2


def test_the_interval_holds_the_truth_where_few_captions_stand_in_all_lists():
    inside = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        images, labels = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
        popular = rng.exponential(size=240)  # how often each caption is shown, whoever asks
        ranked = np.stack([rng.choice(240, 10, replace=False, p=popular / popular.sum()) for _ in range(60)])
        low, high = matched_exposure(ranked, images, labels, 4, [10]).interval()
        inside.append((low <= 1) & (high >= 1))
    assert 0.92 <= np.mean(inside) <= 0.99


def test_p_is_two_sided_for_no_tolerance_and_falls_as_a_ratio_leaves_the_tolerance():
    rng = np.random.default_rng(0)
    images, labels = np.repeat(np.arange(400), 2), np.tile([0, 1], 400)
    p = []
    for share in (0.5, 0.4, 0.3):
        ranked = 2 * np.arange(400)[:, None] + (rng.random((400, 1)) < share)
        lists = matched_exposure(ranked, images, labels, 2, [1])
        p.append(lists.p_beyond(0.1)[0, 1])
        low, high = lists.interval()
        assert (lists.p_beyond(0.0)[0, 1] < 0.05) == (not low[0, 1] <= 1 <= high[0, 1])
    assert p[0] > 0.3 > p[1] > p[2]
    assert p[2] < 1e-5


def test_draws_vary_as_the_interval_does():
    rng = np.random.default_rng(0)
    images, labels = np.repeat(np.arange(200), 2), np.tile([0, 1], 200)
    lists = matched_exposure(rng.integers(400, size=(200, 1)), images, labels, 2, [1])
    low, high = lists.interval()
    wide = lists.draws(2000, seed=0).std(axis=0) / ((high - low) / 3.92)
    assert ((wide > 0.8) & (wide < 1.8)).all()
    assert (lists.draws(5, seed=1) == lists.draws(5, seed=1)).all()


def test_arrays_that_do_not_fit_are_errors():
    with pytest.raises(StatsInputError, match=r"clusters and groups must be \(n_items,\)"):
        matched_exposure([[0]], [0], [0, 1], 2, [1])
    with pytest.raises(StatsInputError, match="groups must lie between 0 and 1; got 2"):
        matched_exposure([[0]], [0, 0], [0, 2], 2, [1])
