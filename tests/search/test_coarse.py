"""MaxSim from coarse to fine ranks as MaxSim does, to the bit, however the coarse scores are off.

By either way to compare nearly: that of an accelerator runs on a processor here, the same lines.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from equiview.audits.parity.observe import _ranks_both_ways
from equiview.audits.social.observe import _lists, _right
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search import coarse, nearly, per_block, top_k
from equiview.search.maxsim import maxsim_blocks
from equiview.search.targets import Targets
from equiview.search.topk import best, ranks_within
from equiview.search.within import lists_and_ranks

BYTES = 2**20


@pytest.fixture(autouse=True, params=["8 bits", "device"])
def way(monkeypatch, request):
    """Each way: small work too, and 8 bits also on processors without instructions for them."""
    if not nearly.eight_bits_work():
        monkeypatch.setattr(
            nearly, "whole_product", lambda rows, columns, out: out.copy_(rows.int() @ columns.int().T)
        )
    monkeypatch.setattr(coarse, "eight_bits_work", lambda: True)
    monkeypatch.setattr(coarse, "cuda_in_use", lambda: request.param == "device")
    monkeypatch.setattr(coarse, "Float32", lambda device: nearly.Float32({"cuda": "cpu"}[device]))
    monkeypatch.setattr(coarse, "FROM", 1)
    monkeypatch.setattr(coarse, "GOOD", 9.0)
    monkeypatch.setattr(coarse, "MOST", 1e9)
    return request.param


def made(rng, lengths, width, kind="normal"):
    values = rng.normal(size=(sum(lengths), width))
    if kind == "signs":
        values = rng.choice([-1.0, -0.0, 0.0, 1.0], size=values.shape)
    elif kind == "equal":
        values[:] = values[0]
    elif kind == "denormal":
        values *= 1e-40
    elif kind == "one huge":
        values[len(values) // 2] *= 1e9
    elif kind == "unlike":
        values *= 10.0 ** rng.integers(-24, 12, (len(values), 1))
    elif kind == "half":
        values = values.astype(np.float16)
    values = values if values.dtype == np.float16 else values.astype(np.float32)
    return TokenVectors(values, np.cumsum([0, *lengths], dtype=np.int64))


def some_targets(rng, n_queries, n_gallery, n, groups=3):
    queries = np.sort(rng.integers(n_queries, size=n))
    return Targets(queries, rng.integers(n_gallery, size=n), rng.integers(groups, size=n_gallery))


def assert_same(queries, gallery, k, targets, block_bytes=BYTES):
    """The lists, with their scores, and the ranks are those of all exact scores."""
    exact = np.concatenate([scores for _, scores in maxsim_blocks(queries, gallery, block_bytes)])
    parts = list(coarse.coarse_to_fine(queries, gallery, block_bytes, k, targets))
    starts = np.cumsum([0, *(len(scores) for _, scores in parts)])
    assert [start for start, _ in parts] == starts[:-1].tolist()
    found = np.concatenate([scores for _, scores in parts])
    ours, theirs = best(found, k), best(exact, k)
    np.testing.assert_array_equal(ours.items, theirs.items)
    np.testing.assert_array_equal(ours.scores.view(np.uint32), theirs.scores.view(np.uint32))
    for group in np.unique(targets.groups[targets.items]):
        columns = np.flatnonzero(targets.groups == group)
        of = targets.groups[targets.items] == group
        at = targets.queries[of], np.searchsorted(columns, targets.items[of])
        np.testing.assert_array_equal(
            ranks_within(found[:, columns], *at), ranks_within(exact[:, columns], *at)
        )
    return found, exact


@settings(max_examples=60)
@given(st.data())
def test_any_vectors_are_ranked_the_same(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kinds = ["normal", "signs", "equal", "denormal", "one huge", "unlike", "half"]
    kind, width = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from([1, 3, 64, 100]))
    asked, offered = (rng.integers(1, most, data.draw(st.integers(1, n))) for most, n in ((9, 12), (40, 60)))
    queries, gallery = made(rng, asked, width), made(rng, offered, width, kind)
    k = data.draw(st.sampled_from([1, len(gallery) // 2 + 1, len(gallery)]))
    targets = some_targets(rng, len(queries), len(gallery), data.draw(st.integers(0, 30)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse, "MOST", data.draw(st.sampled_from([0.0, 0.5, 1e9])))
        patch.setattr(coarse, "GOOD", data.draw(st.sampled_from([1.0, 9.0])))
        patch.setattr(coarse, "TRIED", data.draw(st.sampled_from([1, 4])))
        patch.setattr(nearly, "ROWS", data.draw(st.sampled_from([1, 7, 512])))
        patch.setattr(nearly, "SIDE", data.draw(st.sampled_from([9, 8192])))
        assert_same(queries, gallery, k, targets, data.draw(st.sampled_from([64, BYTES])))


@pytest.mark.parametrize("copies", [1, 20])
@pytest.mark.parametrize("sign", ["below", "above", "either"])
def test_scores_as_far_off_as_the_bound_allows_change_nothing(monkeypatch, copies, sign):
    """Items stand in the gallery several times, so that cuts and ranks are within the noise."""
    rng = np.random.default_rng(1)
    queries = made(rng, rng.integers(1, 40, 12), 64)
    one = made(rng, rng.integers(1, 60, 100 // copies), 64)
    gallery = one.take(np.tile(np.arange(len(one)), copies))
    far = coarse._Block.far
    first = coarse._Block.__init__

    def off(block, *given):
        first(block, *given)
        ((_, exact),) = maxsim_blocks(block.queries, gallery, 2**30)
        bounds = np.stack([far(block, row) for row in range(len(exact))])
        assert (abs(block.scores - exact.astype(np.float64)) <= bounds).all()
        low, high = {"below": (-1, -0.9), "above": (0.9, 1), "either": (-1, 1)}[sign]
        block.scores[:] = exact + 0.9999 * bounds * rng.uniform(low, high, exact.shape)

    monkeypatch.setattr(coarse._Block, "__init__", off)
    found, exact = assert_same(queries, gallery, 10, some_targets(rng, 12, len(gallery), 60))
    assert (found != exact).any()  # not all was scored anew


@pytest.mark.parametrize("way", ["device"], indirect=True)
@pytest.mark.parametrize("kind", ["normal", "equal", "signs", "unlike"])
@pytest.mark.parametrize("sign", [-1, 1, 0])
def test_products_of_a_device_as_far_off_as_rounding_can_be_change_nothing(monkeypatch, kind, sign):
    """Each product is moved by all that sums of its width can round; 0: either way."""
    rng = np.random.default_rng(7)
    plain, moved = nearly.product, []

    def noisy(rows, columns):
        near = plain(rows, columns)
        far = (rows.shape[1] + 8) * 2.0**-24 * torch.outer(rows.norm(dim=1), columns.norm(dim=1))
        moved.append(near.shape)
        signs = rng.choice([sign] if sign else [-1, 1], near.shape)
        return near + far * torch.from_numpy(signs).float()

    monkeypatch.setattr(nearly, "product", noisy)
    monkeypatch.setattr(nearly, "SIDE", 16)
    queries, one = made(rng, [1, 30, 7, 2, 40], 64), made(rng, rng.integers(1, 40, 15), 64, kind)
    gallery = one.take(np.tile(np.arange(15), 4))
    targets = some_targets(rng, 5, 60, 40)
    assert_same(queries, gallery, 6, targets)
    assert max(moved) == (16, 16)
    block = coarse._Block(queries, gallery, coarse._Coarse(nearly.Float32("cpu"), gallery, keep=False))
    ((_, exact),) = maxsim_blocks(queries, gallery, 2**30)
    bounds = np.stack([block.far(row) for row in range(5)])
    assert (abs(block.scores - exact.astype(np.float64)) <= bounds).all()


def test_what_is_far_from_every_cut_is_not_scored_anew(monkeypatch):
    anew = []
    settle = coarse._Block.settle
    monkeypatch.setattr(
        coarse._Block, "settle", lambda block, wanted: anew.append(wanted.sum()) or settle(block, wanted)
    )
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(40, 1, 96))
    gallery = TokenVectors.of(np.float32(centres + 0.1 * rng.normal(size=(40, 30, 96))))
    queries = TokenVectors.of(np.float32(centres[:8] + 0.1 * rng.normal(size=(8, 5, 96))))
    targets = Targets(np.arange(8), np.arange(8), np.zeros(40, dtype=np.int64))
    found, exact = assert_same(queries, gallery, 1, targets)
    assert sum(anew) == (found == exact)[np.arange(8), np.arange(8)].sum() == 8
    assert (best(found, 1).items[:, 0] == np.arange(8)).all()


def test_where_too_much_is_in_doubt_all_is_exact(monkeypatch):
    monkeypatch.setattr(coarse, "MOST", 0.5)
    monkeypatch.setattr(coarse, "GOOD", 0.5)
    made_blocks = []
    first = coarse._Block.__init__
    monkeypatch.setattr(
        coarse._Block, "__init__", lambda block, *given: made_blocks.append(1) or first(block, *given)
    )
    rng = np.random.default_rng(3)
    queries, gallery = made(rng, [4] * 200, 64), made(rng, [3] * 50, 64, "equal")
    found, exact = assert_same(queries, gallery, 5, some_targets(rng, 200, 50, 20))
    np.testing.assert_array_equal(found, exact)
    assert len(made_blocks) == 1  # and it was tried with a few queries alone


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e30])
def test_what_is_no_number_or_too_large_is_left_to_the_exact_way(wrong):
    rng = np.random.default_rng(4)
    queries, gallery = made(rng, [4] * 9, 64), made(rng, [3] * 50, 64)
    gallery.values[70, 3] = wrong
    with np.errstate(all="ignore"):
        exact = np.concatenate([scores for _, scores in maxsim_blocks(queries, gallery, BYTES)])
        found = np.concatenate([part for _, part in coarse.coarse_to_fine(queries, gallery, BYTES, 5)])
    np.testing.assert_array_equal(found, exact)


def test_lists_and_ranks_take_this_way(monkeypatch):
    rng = np.random.default_rng(5)
    queries, gallery = made(rng, [4] * 9, 64), made(rng, [3] * 60, 64)
    targets = some_targets(rng, 9, 60, 30)
    lists, ranks = lists_and_ranks(queries, gallery, 5, targets)
    alone = top_k(queries, gallery, 5)
    used = []
    whole = coarse._decided
    monkeypatch.setattr(coarse, "_decided", lambda *given: used.append(1) or whole(*given))
    for threads in (1, 2):
        with threadpool_limits(threads):
            before = torch.get_num_threads()
            again, same = lists_and_ranks(queries, gallery, 5, targets)
            assert torch.get_num_threads() == before
        np.testing.assert_array_equal(again.items, lists.items)
        np.testing.assert_array_equal(same, ranks)
    assert len(used) == 2
    monkeypatch.setattr(coarse, "FROM", 2**60)  # too little work: never tried
    plain, exact = lists_and_ranks(queries, gallery, 5, targets)
    assert len(used) == 2
    np.testing.assert_array_equal(plain.scores.view(np.uint32), lists.scores.view(np.uint32))
    np.testing.assert_array_equal(plain.items, alone.items)
    np.testing.assert_array_equal(exact, ranks)
    for k in (-1, 0, 61):
        with pytest.raises(InputError, match="ask for 1 to 60"):
            top_k(queries, gallery, k)


@pytest.mark.parametrize("way", ["device"], indirect=True)
def test_products_of_a_device_are_of_float32_whatever_else_is_allowed():
    rng = np.random.default_rng(11)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert_same(made(rng, [4] * 9, 64), made(rng, [3] * 50, 64), 5, some_targets(rng, 9, 50, 20))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("way", ["device"], indirect=True)
@pytest.mark.parametrize("error", ["memory of the device", "other precision"])
def test_what_a_device_cannot_do_is_left_to_the_processor(monkeypatch, error):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    def mixed():
        raise RuntimeError("mix of the legacy and new APIs")

    if error == "other precision":
        monkeypatch.setattr(torch, "get_float32_matmul_precision", mixed)
    else:
        monkeypatch.setattr(torch, "segment_reduce", full)
    rng = np.random.default_rng(8)
    queries, gallery = made(rng, [4] * 9, 64), made(rng, [3] * 50, 64)
    found, exact = assert_same(queries, gallery, 5, some_targets(rng, 9, 50, 20))
    np.testing.assert_array_equal(found, exact)


def test_audits_find_the_same_in_scores_of_tokens(monkeypatch):
    """Lists with ties at the cut, ranks and what is ahead: items stand there several times."""
    rng = np.random.default_rng(9)
    queries, one = made(rng, [4] * 90, 64), made(rng, [3] * 30, 64)
    gallery = one.take(np.tile(np.arange(30), 3))
    members = (rng.random((90, 2)) < 0.4).astype(np.float32)
    right = some_targets(rng, 90, 90, 200, groups=1)
    orders = rng.permutation(90), rng.permutation(90)

    def found():
        lists = list(per_block(_lists, queries, gallery, 5))
        ranks = list(per_block(_right, queries, gallery, 0, right, members))
        assert [done for done, _ in lists][-1] == [done for done, _ in ranks][-1] == 90
        parts = [zip(*(part for _, part in of), strict=True) for of in (lists, ranks)]
        both = _ranks_both_ways(queries, gallery, *orders, members)
        return len(lists), [np.concatenate(part) for of in parts for part in of] + list(both)

    monkeypatch.setattr(coarse, "TRIED", 4)
    blocks, ours = found()
    assert blocks > 2
    monkeypatch.setattr(coarse, "FROM", 2**60)
    _, theirs = found()
    for one_way, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one_way, other)
    assert len(ours[0]) > 5 * 90  # ties at the cut are there


def test_vectors_that_may_not_be_written_are_no_matter_of_a_warning():
    rng = np.random.default_rng(12)
    queries, gallery = made(rng, [4] * 9, 64), made(rng, [3] * 50, 64)
    queries.values.flags.writeable = gallery.values.flags.writeable = False
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same(queries, gallery, 5, some_targets(rng, 9, 50, 20))
    finally:
        torch.set_warn_always(always)


def test_one_number_wide_where_torch_multiplies_wrongly():
    rng = np.random.default_rng(10)
    assert_same(made(rng, [7], 1), made(rng, [25, 20, 11], 1), 1, some_targets(rng, 1, 3, 2))


def test_an_empty_shard_and_one_item():
    rng = np.random.default_rng(6)
    one, empty = made(rng, [3], 64), TokenVectors(np.empty((0, 64), np.float32), np.zeros(1, np.int64))
    ((_, scores),) = coarse.coarse_to_fine(one, empty, BYTES, 0)
    assert scores.shape == (1, 0)
    assert list(coarse.coarse_to_fine(empty, one, BYTES, 1)) == []
    assert_same(one, one, 1, Targets(np.array([0]), np.array([0]), np.array([0])))
