"""Products by torch, lists and ranks as by NumPy: on a processor, and where the device's sums are far off."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.errors import InputError
from equiview.search import device, sharded
from equiview.search.device import lists_and_ranks_on
from equiview.search.targets import Targets
from equiview.search.within import lists_and_ranks

plain = device.product


def assert_same(queries, gallery, k, targets):
    ours = lists_and_ranks_on("cpu", queries, gallery, k, targets)
    theirs = lists_and_ranks(queries, gallery, k, targets)
    np.testing.assert_array_equal(ours[0].items, theirs[0].items)
    np.testing.assert_array_equal(ours[0].scores.view(np.uint32), theirs[0].scores.view(np.uint32))
    np.testing.assert_array_equal(ours[1], theirs[1])


def some_targets(rng, n_queries, n_gallery, n_groups, n):
    queries = np.sort(rng.integers(n_queries, size=n))
    return Targets(queries, rng.integers(n_gallery, size=n), rng.integers(n_groups, size=n_gallery))


@pytest.fixture
def noise(monkeypatch):
    """A device whose scores are as far off as the bound allows."""
    rng = np.random.default_rng(0)

    def noisy(rows, columns):
        scores = plain(rows, columns)
        far = (rows.shape[1] + 8) * 2.0**-24 * rows.norm(dim=1)[:, None] * columns.norm(dim=1)
        return scores + far * torch.from_numpy(rng.uniform(-1, 1, scores.shape).astype(np.float32))

    monkeypatch.setattr(device, "product", noisy)


@settings(max_examples=60)
@given(st.data())
def test_any_vectors_are_ranked_the_same(data):
    seed, width = data.draw(st.integers(0, 99)), data.draw(st.sampled_from([1, 3, 64, 100]))
    n_queries, n_gallery = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 300))
    k = data.draw(st.sampled_from([1, n_gallery // 2 + 1, n_gallery]))
    rng = np.random.default_rng(seed)
    kind = data.draw(st.sampled_from(["normal", "signs", "small", "equal"]))
    make = {
        "normal": lambda *shape: rng.normal(size=shape),
        "signs": lambda *shape: rng.choice([-1.0, -0.0, 0.0, 1.0], size=shape),
        "small": lambda *shape: rng.normal(size=shape) * 1e-22,
        "equal": lambda n, wide: np.repeat(rng.normal(size=(1, wide)), n, axis=0),
    }[kind]
    queries, gallery = make(n_queries, width).astype(np.float32), make(n_gallery, width).astype(np.float32)
    assert_same(
        queries, gallery, k, some_targets(rng, n_queries, n_gallery, 3, data.draw(st.integers(0, 60)))
    )


@pytest.mark.parametrize("copies", [1, 40, 200])
def test_scores_as_far_off_as_rounding_can_be_change_nothing(noise, monkeypatch, copies):
    """Each vector stands in the gallery several times, so that cuts and ranks are all within the noise."""
    monkeypatch.setattr(device, "ROWS", 700)
    monkeypatch.setattr(device, "QUERIES", 16)
    monkeypatch.setattr(device, "PAIRS", 500)
    rng = np.random.default_rng(1)
    gallery = np.tile(rng.normal(size=(2000 // copies, 128)), (copies, 1)).astype(np.float16)
    gallery = (gallery + (copies == 40) * rng.normal(size=gallery.shape) * 1e-3).astype(np.float16)
    queries = rng.normal(size=(50, 128)).astype(np.float32)
    assert_same(queries, gallery, 30, some_targets(rng, 50, len(gallery), 4, 300))


def test_what_is_too_near_is_left_to_the_processor(monkeypatch):
    monkeypatch.setattr(device, "DOUBTS", 10)
    rng = np.random.default_rng(2)
    queries, gallery = rng.normal(size=(4, 64)).astype(np.float32), np.ones((90, 64), dtype=np.float32)
    assert_same(queries, gallery, 5, some_targets(rng, 4, 90, 2, 20))


def test_what_is_no_number_is_refused_as_always():
    queries, gallery = np.ones((2, 64), dtype=np.float32), np.ones((9, 64), dtype=np.float32)
    gallery[3] = np.nan
    targets = some_targets(np.random.default_rng(0), 2, 9, 1, 2)
    with pytest.raises(InputError, match="a score is not a number"):
        lists_and_ranks_on("cpu", queries, gallery, 2, targets)
    with pytest.raises(InputError, match="ask for 1 to 9"):
        lists_and_ranks_on("cpu", queries, gallery, 10, targets)
    with pytest.raises(InputError, match="queries are 64 wide"):
        lists_and_ranks_on("cpu", queries, gallery[:, :9], 2, targets)


def test_the_bound_holds_for_sums_in_any_order():
    rng = np.random.default_rng(3)
    for width in (1, 64, 768):
        rows, columns = rng.normal(size=(2, 200, width)).astype(np.float32)
        far = device.error(np.linalg.norm(rows.astype(float), axis=1), 1.0, width)
        far *= np.linalg.norm(columns.astype(float), axis=1)
        one = np.zeros(200, dtype=np.float32)
        for place in range(width):  # the worst order: one by one
            one += rows[:, place] * columns[:, place]
        other = np.einsum("ij,ij->i", rows[:, ::-1], columns[:, ::-1])
        assert (abs(one.astype(float) - other) <= far).all()


@pytest.mark.parametrize("there", [False, True])
def test_an_accelerator_is_used_where_it_pays(monkeypatch, there):
    asked = []

    def on(name, *rest):
        asked.append(name)
        return lists_and_ranks_on("cpu", *rest)

    monkeypatch.setattr(sharded, "cuda_in_use", lambda: there)
    monkeypatch.setattr(sharded, "CUDA_FROM", 10_000)
    monkeypatch.setattr(device, "lists_and_ranks_on", on)
    rng = np.random.default_rng(4)
    queries, gallery = rng.normal(size=(10, 64)).astype(np.float32), rng.normal(size=(90, 64)).astype("f4")
    targets = some_targets(rng, 10, 90, 3, 30)
    lists, ranks = sharded.ranked_within(queries, gallery, 5, targets)
    np.testing.assert_array_equal(ranks, lists_and_ranks(queries, gallery, 5, targets)[1])
    np.testing.assert_array_equal(sharded.top_k(queries, gallery, 5).items, lists.items)
    assert asked == ["cuda", "cuda"] * there
    sharded.top_k(queries[:1], gallery, 5)
    assert asked == ["cuda", "cuda"] * there  # too few to copy them there
