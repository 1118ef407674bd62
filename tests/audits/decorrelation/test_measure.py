"""Measuring: numbers that follow by hand from the lists of a small world."""

from __future__ import annotations

import polars as pl
import pytest

from equiview.audits.decorrelation import DECORRELATION
from equiview.benchmarks.scenes import SceneOptions, scenes_of
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.io.progress import silent
from equiview.subjects import load_subject
from tests.audits import steps
from tests.audits.decorrelation.worlds import Words, small

GIVEN = {"cutoffs": (1, 3), "judged_at": 3, "replicates": 100}


def values_of(imagined, **given):
    settings = DECORRELATION.configure(GIVEN | given)
    observations = DECORRELATION.observe(Words(imagined), small(), settings, silent)
    return steps.valued(DECORRELATION, observations, settings)


def test_odmap_of_a_list_by_hand():
    # By cosine: t1 (cat) at 1, then t0, t2 and t3 alike at .71.
    values = values_of({})
    assert values.mean("ODmAP", k=1) == 1
    imagined = values_of({"fish": 1.0})
    assert imagined.mean("ODmAP", k=1) == 0
    assert imagined.mean("naming what is gone", k=1) == 1
    assert imagined.mean("excess naming", k=1) == pytest.approx(2 / 3)
    assert imagined.mean("naming what is there", k=1) == 1


def test_floors_are_those_of_the_pool():
    columns = values_of({}).columns.filter(pl.col("images").is_null(), pl.col("k") == 1)
    chance = dict(columns.filter(pl.col("direction").is_null()).select("metric", "chance").iter_rows())
    assert chance["ODmAP"] == pytest.approx(3 / 6)
    assert chance["naming what is gone"] == pytest.approx(2 / 6)
    assert chance["naming what is there"] == pytest.approx(4 / 6)


def test_the_unchanged_image_stands_beside():
    values = values_of({})
    assert values.mean("ODmAP", k=1, images="unchanged") == 0
    assert values.mean("naming what is gone", k=1, images="unchanged") == 1


def test_recall_of_both_directions():
    values = values_of({})
    for direction in ("image-to-text", "text-to-image"):
        assert values.mean("R", k=1, direction=direction) == 1


@pytest.fixture(scope="module")
def scenes() -> Observations:
    settings = DECORRELATION.configure({})
    benchmark = scenes_of(SceneOptions(images=120, gallery=100))
    return DECORRELATION.observe(load_subject("pictogram:aligned"), benchmark, settings, silent)


def test_asking_for_all_that_is_there_is_never_easier(scenes):
    measured = {
        kept: steps.valued(DECORRELATION, scenes, DECORRELATION.configure({"kept": kept}))
        for kept in ("any", "all")
    }
    for k in (1, 5, 10):
        wanted = quantity("ODmAP", k)
        assert (measured["all"].at(wanted)[:120] <= measured["any"].at(wanted)[:120]).all()


def test_every_number_has_n_an_interval_or_none_and_odmap_a_floor(scenes):
    estimates = steps.measured(DECORRELATION, scenes, DECORRELATION.configure({"replicates": 200}))
    for k in (1, 5, 10):
        row = estimates.one("ODmAP", k)
        assert row.n == 120
        assert row.low <= row.value <= row.high
        assert 0 < row.chance < 1
    pairs = estimates.by(("removed", "kept"), "naming what is gone", 10).table
    assert (pairs["n"] >= 3).all()
    assert set(DECORRELATION.tables["table-1"](estimates).columns) == {"ODmAP@1", "ODmAP@5", "ODmAP@10"}
    assert len(DECORRELATION.tables["table-2"](estimates).columns) == 6


def test_figures_name_pairs_and_show_pictures_before_and_after(scenes):
    settings = DECORRELATION.configure({"replicates": 200})
    figures = {
        f.name: f
        for f in steps.drawn(DECORRELATION, scenes, steps.measured(DECORRELATION, scenes, settings), settings)
    }
    assert list(figures) == ["odmap", "naming-by-cutoff", "pairs", "matrix", "odmap-by-class", "examples"]
    gallery = figures["examples"]
    assert set(gallery.table["group"]) == set(gallery.pictures)
    assert gallery.table["note"].str.contains("which is gone").any()
    before = gallery.table.filter(pl.col("heading").str.starts_with("Before"))
    assert before["correct"].null_count() == len(before)


def test_captions_add_up_to_the_means_over_images():
    for imagined in ({}, {"fish": 0.6}):
        values = values_of(imagined)
        classes, captions = values.shared
        for k in (1, 3):
            for metric in ("ODmAP", "excess naming"):
                assert captions.mean(metric, k=k) == pytest.approx(values.mean(metric, k=k))
                assert classes.mean(metric, k=k) == pytest.approx(values.mean(metric, k=k))
