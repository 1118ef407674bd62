"""Means over systems, against what P's Table 7 prints."""

import json
from pathlib import Path

import polars as pl
import pytest

from equiview.audits.association import ASSOCIATION
from equiview.audits.association.measure import TOGETHER
from equiview.data.estimates import Estimates
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard
from equiview.data.metric import quantity
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.tables import write_parquet
from equiview.studies import averages
from equiview.studies.averages import mean_of, mean_over

TABLE_7 = json.loads((Path(__file__).parents[1] / "data" / "perspectival.json").read_text())[
    "silhouette_correlation"
]
MODELS = [name for name in TABLE_7 if name != "Average"]
METRIC = ASSOCIATION.metric(TOGETHER)


def of_model(name, spaces=("text", "image")):
    """The correlations that a model has in Table 7, as estimates."""
    return Estimates.of_rows(
        [
            {"metric": TOGETHER, "direction": "text-to-image", "space": f"{space}s", "n": 16, "chance": 0.0}
            | {"value": TABLE_7[name][space], "low": -1.0, "high": 1.0}
            for space in spaces
        ]
    )


def run_of(folder, name, *, items="a" * 16, spaces=("text", "image")):
    """A run of the audit with the numbers of a model."""
    run = Run.start(
        folder,
        Manifest(
            subject=SubjectCard(name=name, fingerprint="b" * 16, about=""),
            benchmark=BenchmarkCard(
                name="3xcm", fingerprint=items, counts={}, about="", source="", licence=""
            ),
            audits=("association",),
            settings={"association": {}},
            seed=0,
            versions={},
        ),
    )
    table = of_model(name, spaces).stamped("association").table
    run.stage("measure", lambda work: write_parquet(table, work / "estimates.parquet"))
    return run


def test_the_mean_over_models_is_that_of_table_7(tmp_path):
    table = averages([run_of(tmp_path / str(at), name) for at, name in enumerate(MODELS)])
    assert table.columns == [
        "audit",
        "metric",
        "k",
        "direction",
        "space",
        "value",
        "low",
        "high",
        "n",
        "alike",
    ]
    means = {row["space"]: mean_of(row) for row in table.iter_rows(named=True)}
    for space in ("text", "image"):
        mean = means[f"{space}s"]
        assert mean.quantity == quantity(TOGETHER, direction="text-to-image", space=f"{space}s")
        assert round(mean.value, 2) == TABLE_7["Average"][space]
        assert mean.n == 7
    assert f"{means['texts']:.2f}" == "0.68 [0.29, 1.00]"
    assert f"{means['images']:.2f}" == "0.18 [-0.10, 0.45]"


def test_an_interval_does_not_leave_the_range_of_the_metric():
    rows = mean_over([of_model("XLM-R-B/16plus"), of_model("Chinese-CLIP-L/14")], [METRIC])
    assert [(row["low"], row["high"]) for row in rows] == [(-1.0, 1.0)] * 2


def test_a_system_without_the_quantity_is_not_counted(tmp_path):
    runs = [run_of(tmp_path / "a", MODELS[0]), run_of(tmp_path / "b", MODELS[1])]
    runs.append(run_of(tmp_path / "c", MODELS[2], spaces=("text",)))
    assert averages(runs).select("space", "n").rows() == [("texts", 3), ("images", 2)]
    assert averages([runs[0], runs[2]])["space"].to_list() == ["texts"]


def test_only_runs_over_the_same_items_are_averaged(tmp_path):
    runs = [run_of(tmp_path / "a", MODELS[0]), run_of(tmp_path / "b", MODELS[1], items="c" * 16)]
    table = averages(runs)
    assert table.columns == ["audit", "metric", "k", "value", "low", "high", "n", "alike"]
    assert len(table) == 0
    assert table.dtypes[3:] == [pl.Float64] * 3 + [pl.Int64, pl.String]


def test_a_system_given_twice_is_refused(tmp_path):
    runs = [run_of(tmp_path / name, MODELS[0]) for name in ("a", "b")]
    with pytest.raises(InputError, match="two runs are of 'CLIP-L/14'; a mean over systems takes each once"):
        averages(runs)


def test_one_image_tower_in_three_systems_counts_once(tmp_path, monkeypatch):
    shared = {"image": -0.04}
    for name, text in (("x", 0.1), ("y", 0.5), ("z", 0.3)):
        monkeypatch.setitem(TABLE_7, name, {"text": text} | shared)
    runs = [run_of(tmp_path / name, name) for name in "xyz"]
    rows = {row["space"]: row for row in averages(runs).iter_rows(named=True)}
    images, texts = rows["images"], rows["texts"]
    assert (images["value"], images["low"], images["high"], images["n"]) == (-0.04, None, None, 1)
    assert images["alike"] == "x, y and z"
    assert (texts["n"], texts["alike"]) == (3, None)
    assert not mean_of(images).has_interval
    runs.append(run_of(tmp_path / "other", MODELS[0]))
    images = averages(runs).filter(space="images").row(0, named=True)
    assert (images["n"], images["alike"]) == (2, "x, y and z")
    assert images["value"] == pytest.approx((-0.04 + TABLE_7[MODELS[0]]["image"]) / 2)
