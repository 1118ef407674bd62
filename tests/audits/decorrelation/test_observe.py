"""Observing: what is ranked, and what a caption counts as."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from equiview.audits.decorrelation import DECORRELATION
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects.lists.finished import FinishedRun
from tests.audits.decorrelation.worlds import Words, small

SETTINGS = DECORRELATION.configure({"cutoffs": (1, 3), "judged_at": 3, "replicates": 100})


def observed(subject, benchmark=None, settings=SETTINGS):
    return DECORRELATION.observe(subject, benchmark or small(), settings, silent)


def test_an_encoder_that_sees_ranks_the_right_caption_first():
    rankings = observed(Words({}))["rankings"].filter(image="synthetic").sort("rank")
    assert rankings["item_id"][0] == "t1"
    assert rankings["removed"].to_list()[0] is False
    assert rankings["kept"].to_list()[0] == 1


def test_one_that_imagines_a_fish_names_it():
    rankings = observed(Words({"fish": 1.0}))["rankings"].filter(image="synthetic").sort("rank")
    assert rankings["item_id"][0] == "t0"
    assert rankings["removed"][0]
    assert rankings["expected"][0] == pytest.approx(1 / 3)


def test_the_unchanged_image_is_held_against_the_same_classes():
    rankings = observed(Words({}))["rankings"].filter(image="unchanged").sort("rank")
    assert rankings["item_id"][0] == "t0"
    assert rankings["removed"][0]


def test_recall_is_over_the_real_images_and_their_captions_alone():
    recall = observed(Words({}))["recall"]
    assert recall["rank"].to_list() == [1, 1, 1, 1]
    assert recall["gallery"].to_list() == [2, 2, 2, 2]
    assert recall["query_id"].to_list() == ["i0", "i1", "t0", "t4"]


def run_of(tmp_path, rows, options=",partial=yes"):
    path = tmp_path / "run.csv"
    pl.DataFrame(rows, schema=["query_id", "rank", "item_id"], orient="row").write_csv(path)
    return FinishedRun(f"{path}{options}")


def test_lists_over_synthetic_images_are_enough(tmp_path):
    rows = [("i0-without-fish", rank, item) for rank, item in enumerate(("t0", "t3", "t1"), start=1)]
    observations = observed(run_of(tmp_path, rows))
    assert observations["rankings"]["removed"].to_list() == [True, False, False]
    assert not len(observations["recall"])
    assert not len(observations["rankings"].filter(image="unchanged"))


def test_lists_over_real_images_are_taken_along(tmp_path):
    rows = [
        (image, rank, item)
        for image, items in {"i0": ("t1", "t0", "t3"), "i0-without-fish": ("t0", "t3", "t1")}.items()
        for rank, item in enumerate(items, start=1)
    ]
    observations = observed(run_of(tmp_path, rows))
    assert observations["recall"].select("query_id", "direction", "rank").rows() == [
        ("i0", "image-to-text", 2)
    ]
    assert observations["rankings"]["image"].unique().sort().to_list() == ["synthetic", "unchanged"]


def test_lists_that_are_too_short_or_of_other_images_are_told(tmp_path):
    with pytest.raises(InputError, match="lists have 1 ranks, cutoffs reach to 3"):
        observed(run_of(tmp_path, [("i0-without-fish", 1, "t0")]))
    rows = [("i1", rank, item) for rank, item in enumerate(("t0", "t3", "t1"), start=1)]
    with pytest.raises(InputError, match="no list for any image from which an object was removed"):
        observed(run_of(tmp_path, rows))


def test_benchmarks_that_cannot_be_used_are_told():
    benchmark = small()
    with pytest.raises(InputError, match="no table 'removals'"):
        observed(Words({}), Benchmark("bare", Items("image", pl.DataFrame({"id": ["a"]}))))
    both = benchmark.tables["removals"].with_columns(kept=pl.Series([["cat", "fish"]]))
    with pytest.raises(InputError, match="both removed and kept"):
        observed(Words({}), replace(benchmark, tables=dict(benchmark.tables) | {"removals": both}))
    with pytest.raises(InputError, match="6 captions, cutoffs reach to 10"):
        observed(Words({}), settings=DECORRELATION.configure({}))


def test_settings_that_do_not_fit_are_told():
    with pytest.raises(InputError, match="judged_at is 10, which is not one of the cutoffs"):
        DECORRELATION.configure({"cutoffs": (1, 5)})
    with pytest.raises(InputError, match="whole numbers of 1 or more"):
        DECORRELATION.configure({"cutoffs": (0,)})
