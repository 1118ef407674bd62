"""Kinds of captions, how often they name what is gone, and ODmAP of captions at random."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.audits.decorrelation.naming import Pool, chance_odmap
from equiview.metrics import odmap_at_k
from tests.audits.decorrelation.worlds import CAPTIONS


def pool_of(captions):
    mentions = [(text, name) for text, named in captions.items() for name in named]
    table = pl.DataFrame(mentions, schema={"text_id": pl.String, "object": pl.String}, orient="row")
    return Pool.of(pl.Series(list(captions)), table, ["bird"])


def test_a_kind_is_what_is_named_of_what_is_there_and_how_much_else():
    pool = pool_of(CAPTIONS)
    view = pool.view(["fish"], ["cat"])
    at = pool.set_of
    assert view.gone[at].tolist() == [True, False, False, False, False, True]
    assert view.here[at].tolist() == [1, 1, 1, 1, 0, 0]
    # A cat and one thing more: fish, dog or car. A cat alone. No cat and one thing: dog or fish.
    assert view.expected[at].round(4).tolist() == [0.3333, 0.0, 0.3333, 0.3333, 0.5, 0.5]
    assert view.counts() == {
        "pool": 6,
        "right_any": 3,
        "right_all": 3,
        "naming_removed": 2,
        "naming_kept": 4,
    }


def test_all_that_is_there_may_be_asked_for():
    counts = pool_of(CAPTIONS).view(["fish"], ["cat", "dog"]).counts()
    assert (counts["right_any"], counts["right_all"]) == (4, 1)


def test_captions_that_name_nothing_and_classes_that_nobody_names_are_counted_too():
    pool = pool_of({"t0": (), "t1": ("cat",), "t2": ()})
    view = pool.view(["bird"], ["cat"])
    assert view.counts()["pool"] == 3
    assert view.counts()["right_any"] == 1
    assert not view.gone.any()


@given(
    captions=st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=12),
    kept=st.sets(st.sampled_from("abcd")),
)
def test_over_the_whole_pool_naming_is_as_expected(captions, kept):
    pool = pool_of({f"t{row}": sorted(named) for row, named in enumerate(captions)} | {"last": "abcde"})
    view = pool.view(["e"], sorted(kept))
    assert (view.size * view.expected).sum() == pytest.approx((view.size * view.gone).sum())


@pytest.mark.parametrize(("right", "pool"), [(0, 3), (1, 3), (2, 4), (4, 4), (1, 1)])
def test_the_floor_is_the_mean_over_all_orders(right, pool):
    marks = [True] * right + [False] * (pool - right)
    for k in range(1, pool + 1):
        orders = np.array(list(permutations(marks)))
        exact = odmap_at_k(orders, k).mean()
        assert chance_odmap(np.array([right]), np.array([pool]), k)[0] == pytest.approx(exact)
