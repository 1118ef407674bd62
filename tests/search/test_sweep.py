"""The pass over a gallery in tiles gives what sorting and counting whole rows of scores gives, to the bit."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from equiview.errors import InputError
from equiview.search import Targets, ranked_within, top_k, unit
from equiview.search import products as module
from equiview.search.products import LARGE, products
from equiview.search.scaling import Scaled
from equiview.search.within import SLOTS
from equiview.search.workers import at_once, one_thread_each


def normal(rng, n, width):
    return rng.normal(size=(n, width))


def ties(rng, n, width):
    return rng.integers(-1, 2, size=(n, width))


def duplicates(rng, n, width):
    return rng.normal(size=(3, width))[rng.integers(3, size=n)]


def equal(rng, n, width):
    return np.ones((n, width))


def denormal(rng, n, width):
    return rng.normal(size=(n, width)) * 1e-30


def zeros(rng, n, width):
    return rng.choice([0.0, -0.0], size=(n, width))


def rising(rng, n, width):
    """Each is better than all before it, so that nothing can be left out."""
    return np.repeat(np.arange(n)[:, None] / n, width, axis=1)


KINDS = (normal, ties, duplicates, equal, denormal, zeros, rising)


def drawn(kind, n_queries, n_gallery, width, dtype, seed):
    rng = np.random.default_rng(seed)
    queries = np.abs(kind(rng, n_queries, width)) if kind is rising else kind(rng, n_queries, width)
    return queries.astype(np.float32), kind(rng, n_gallery, width).astype(dtype)


def sorted_whole(queries, gallery, k):
    scores = products(queries, gallery) + np.float32(0)  # of one sign of zero
    items = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return items, np.take_along_axis(scores, items, axis=1)


def counted(queries, gallery, targets):
    scores = products(queries, gallery)
    ranks = []
    for query, item in zip(targets.queries, targets.items, strict=True):
        of_group = np.flatnonzero(targets.groups == targets.groups[item])
        order = of_group[np.argsort(-scores[query, of_group], kind="stable")]
        ranks.append(1 + int(np.flatnonzero(order == item)[0]))
    return ranks


cases = {
    "kind": st.sampled_from(KINDS),
    "n_queries": st.sampled_from([1, 2, 97, 130]),
    "n_gallery": st.sampled_from([1, 2, 15, 16, 257, 1025, LARGE - 1, LARGE + 1]),
    "width": st.sampled_from([1, 7, 64, 80]),
    "dtype": st.sampled_from([np.float32, np.float16]),
    "seed": st.integers(0, 99),
}


@given(**cases, k=st.sampled_from([1, 10, 100, 10**9]))
@settings(max_examples=60, deadline=None)
def test_the_best_are_those_of_whole_rows_sorted(kind, n_queries, n_gallery, width, dtype, seed, k):
    queries, gallery = drawn(kind, n_queries, n_gallery, width, dtype, seed)
    k = min(k, n_gallery)
    found = top_k(queries, gallery, k)
    items, scores = sorted_whole(queries, gallery, k)
    np.testing.assert_array_equal(found.items, items)
    assert (found.scores + np.float32(0)).tobytes() == scores.tobytes()


@given(**cases, n_groups=st.integers(1, 5), n_targets=st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_ranks_are_those_counted_in_whole_rows(
    kind, n_queries, n_gallery, width, dtype, seed, n_groups, n_targets
):
    queries, gallery = drawn(kind, n_queries, n_gallery, width, dtype, seed)
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_gallery)
    keys = np.unique(rng.integers(n_queries * n_gallery, size=n_targets))
    targets = Targets(keys // n_gallery, keys % n_gallery, groups)
    lists, ranks = ranked_within(queries, gallery, 1, targets)
    assert ranks.tolist() == counted(queries, gallery, targets)
    np.testing.assert_array_equal(lists.items, top_k(queries, gallery, 1).items)


def test_a_query_may_have_any_number_of_items_in_a_group():
    queries, gallery = drawn(ties, 3, 5000, 6, np.float32, 0)
    owner = np.where(np.arange(300) < 40, 0, 2)
    targets = Targets(owner, np.sort(np.random.default_rng(1).permutation(5000)[:300]), np.arange(5000) % 3)
    assert np.bincount(targets.groups[targets.items[targets.queries == 2]]).min() > 2 * SLOTS
    assert ranked_within(queries, gallery, 5, targets)[1].tolist() == counted(queries, gallery, targets)


@pytest.mark.parametrize("way", ["tried out", "exact", "with bad places"])
def test_each_way_to_a_product_serves_the_pass(way, monkeypatch):
    if way == "exact":
        monkeypatch.setattr(module, "tiles", lambda width: None)
    if way == "with bad places":
        found = [
            module.Tile(tile.height, tile.length, np.setdiff1d(tile.places, [0, 5, tile.length - 1]))
            for tile in module.tiles(80) or ()
        ]
        monkeypatch.setattr(module, "tiles", lambda width: tuple(found) or None)
        monkeypatch.setattr(module, "_by_columns", lambda width, height: False)
    queries, gallery = drawn(normal, 130, 2 * LARGE + 300, 80, np.float32, 0)
    gallery[::7] = gallery[3]
    targets = Targets(np.repeat(np.arange(130), 5), np.arange(650) * 13, np.arange(len(gallery)) % 4)
    lists, ranks = ranked_within(queries, gallery, 50, targets)
    items, scores = sorted_whole(queries, gallery, 50)
    np.testing.assert_array_equal(lists.items, items)
    assert lists.scores.tobytes() == scores.tobytes()
    assert ranks.tolist() == counted(queries, gallery, targets)


@pytest.mark.parametrize("shape", [(1100, LARGE * 3 + 7), (2500, 300)])
def test_any_number_of_threads_gives_the_same_bytes(shape):
    queries, gallery = drawn(normal, *shape, 64, np.float32, 3)
    targets = Targets(np.zeros(9, dtype=np.int64), np.arange(9), np.arange(shape[1]) % 3)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads, user_api="blas"):
            lists, ranks = ranked_within(queries, gallery, 20, targets)
        found.append((lists.items.tobytes(), lists.scores.tobytes(), ranks.tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_gallery_on_disk_and_one_scaled_when_read_give_the_same_bytes(tmp_path):
    queries, gallery = drawn(normal, 5, 5000, 64, np.float16, 4)
    np.save(tmp_path / "gallery.npy", gallery)
    mapped = np.load(tmp_path / "gallery.npy", mmap_mode="r")
    assert top_k(queries, mapped, 9).items.tobytes() == top_k(queries, gallery, 9).items.tobytes()
    none = Targets(*np.empty((2, 0), dtype=np.int64), np.zeros(5000, dtype=np.int64))
    whole = ranked_within(queries, unit(gallery), 9, none)[0]
    scaled = ranked_within(queries, Scaled(mapped), 9, none)[0]
    assert scaled.scores.tobytes() == whole.scores.tobytes()
    before = gallery.astype(np.float32)
    kept = before.copy()
    Scaled(before)[np.array([3, 4])]
    assert before.tobytes() == kept.tobytes()


@pytest.mark.parametrize("count", [256, LARGE])
def test_a_gallery_that_asks_itself_is_no_special_case(count):
    same, _ = drawn(normal, count, 1, 80, np.float32, 6)
    one, other = top_k(same, same, 9), top_k(same, same.copy(), 9)
    assert one.items.tobytes() == other.items.tobytes()
    assert one.scores.tobytes() == other.scores.tobytes()


def test_no_query_has_no_list():
    none, gallery = drawn(normal, 0, 30, 64, np.float32, 0)
    assert top_k(none, gallery, 3).items.shape == (0, 3)


def test_scores_of_all_pairs_are_the_same_bytes_for_any_number_of_threads():
    rows, columns = drawn(normal, 1500, 500, 64, np.float32, 5)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append((products(rows, columns).tobytes(), products(columns, rows).T.tobytes()))
    assert found[0] == found[1]
    assert found[0][0] == found[0][1]


@pytest.mark.parametrize("value", [np.nan, -np.nan])
@pytest.mark.parametrize("row", [0, 40, LARGE + 3])
def test_what_is_not_a_number_is_refused_wherever_it_stands(value, row):
    queries, gallery = drawn(normal, 3, LARGE + 9, 64, np.float32, 0)
    gallery[row, 7] = value
    with pytest.raises(InputError, match="not a number"):
        top_k(queries, gallery, 2)


def test_an_error_in_a_thread_ends_the_work_and_is_raised():
    taken = []

    def work(parts):
        for part in parts:
            taken.append(part)
            if part == 3:
                raise InputError("three")

    with pytest.raises(InputError, match="three"):
        at_once(work, range(10_000_000), 3)
    assert len(taken) < 10_000_000


def test_threads_of_the_library_are_given_back_whoever_else_is_within():
    inside, out = threading.Event(), threading.Event()

    def other():
        with one_thread_each():
            inside.set()
            out.wait()

    with threadpool_limits(3, user_api="blas"):
        thread = threading.Thread(target=other)
        with one_thread_each() as threads:
            assert threads == 3
            thread.start()
            inside.wait()
        with one_thread_each() as threads:
            assert threads == 3
        out.set()
        thread.join()
        with one_thread_each() as threads:
            assert threads == 3


LATER = """
from equiview.search.workers import one_thread_each
from threadpoolctl import threadpool_info
def counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
with one_thread_each():
    pass
import scipy.linalg
before = counts()
with one_thread_each():
    assert set(counts()) <= {1}, counts()
assert counts() == before
"""


def test_a_library_that_was_loaded_later_has_one_thread_too():
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    done = subprocess.run(
        [sys.executable, "-c", LATER], env=os.environ | threads, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
