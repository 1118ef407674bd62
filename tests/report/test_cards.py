"""Exports that choose and join, and cards that other programs read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results
from report_runs import make_run, rewrite
from tests.conftest import write_world
from tests.faults.running import typed

from equiview.data.run import Run
from equiview.data.stamped import SCHEMA_VERSION
from equiview.errors import InputError
from equiview.report import CARDS, export


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    return [make_run(tmp_path / name, name, value) for name, value in (("one", 0.2), ("two", 0.5))]


def test_several_runs_are_one_table(runs: list[Run]) -> None:
    rows = list(csv.DictReader(io.StringIO(export(runs, "csv"))))
    assert [row["subject"] for row in rows] == [run.name for run in runs for _ in range(len(run.estimates))]
    entries = json.loads(export(runs, "json"))
    assert entries["schema_version"] == SCHEMA_VERSION
    assert [entry["subject"] for entry in entries["runs"]] == ["one", "two"]
    for format, begin in (("latex", "one & "), ("markdown", "| one | ")):
        text = export(runs, format)
        assert begin in text
        assert begin.replace("one", "two") in text


def test_rows_are_chosen_by_audit_and_metric(runs: list[Run]) -> None:
    run = runs[0]
    audit = run.manifest.audits[0]
    metric = run.estimates.of(audit).table["metric"][0]
    rows = list(csv.DictReader(io.StringIO(export(run, "csv", audit=audit, metric=metric))))
    assert {(row["audit"], row["metric"]) for row in rows} == {(audit, metric)}
    assert len(rows) == len(run.estimates.of(audit).table.filter(metric=metric))
    with pytest.raises(InputError, match="is named 'nothing'"):
        export(run, "csv", audit="nothing")
    with pytest.raises(InputError, match="no metric of"):
        export(run, "csv", metric="nothing at all")


def test_latex_leaves_out_rows_that_are_nothing_and_says_how_many(runs: list[Run]) -> None:
    run = runs[0]
    table = run.estimates.table.head(3).with_columns(
        value=pl.Series([0.0, 0.0, 0.5]), low=pl.Series([0.0, -0.1, 0.4]), high=pl.Series([0.0, 0.1, 0.6])
    )
    rewrite(run, "estimates.parquet", table)
    text = export(run, "latex")
    assert "% 1 rows of 0 [0, 0] are left out; CSV has them." in text
    assert len(text.split("\\midrule")[1].split("\\bottomrule")[0].strip().splitlines()) == 2
    assert len(list(csv.DictReader(io.StringIO(export(run, "csv"))))) == 3


def test_results_for_the_hub_are_read_by_its_library(runs: list[Run]) -> None:
    run = runs[1]
    index = yaml.safe_load(export(run, "eval-results"))["model-index"]
    name, results = model_index_to_eval_results(index)
    assert name == "two"
    verdicts = [result for result in results if result.metric_type == "verdict"]
    assert [result.metric_value for result in verdicts] == [verdict.finding for verdict in run.verdicts]
    numbers = [result for result in results if result.metric_type != "verdict"]
    known = run.estimates.table["value"].to_list()
    assert all(result.metric_value in known for result in numbers)
    assert {result.dataset_name for result in results} == {run.manifest.benchmark.name}


def test_a_card_says_each_answer_and_a_factsheet_all_there_is(runs: list[Run]) -> None:
    run = runs[1]
    card = export(run, "model-card")
    for verdict in run.verdicts:
        assert f"### {verdict.question}" in card
    sheet = json.loads(export(run, "factsheet"))
    assert [finding["finding"] for finding in sheet["findings"]] == [
        verdict.finding for verdict in run.verdicts
    ]
    assert sheet["settings"] == run.manifest.settings
    assert sheet["schema_version"] == SCHEMA_VERSION


@pytest.mark.parametrize("format", CARDS)
def test_a_card_is_of_one_whole_run(runs: list[Run], format: str) -> None:
    assert export(runs[0], format) == export(runs[:1], format)
    with pytest.raises(InputError, match="is of one run as a whole"):
        export(runs, format)
    with pytest.raises(InputError, match="is of one run as a whole"):
        export(runs[0], format, metric="R")


def test_a_comparison_is_exported_from_its_folder(tmp_path: Path) -> None:
    for name, skew in (("even", 0.0), ("skewed", 4.0)):
        world = write_world(tmp_path / name, skew=skew)
        words = ["audit", f"embeddings:{world}", "--benchmark", f"folder:{world}", "--audit", "prevalence",
                 "--out", str(tmp_path / f"run-{name}"), "--setting", "prevalence.replicates=100",
                 "--name", f"the {name} one"]  # fmt: skip
        assert typed(words)[0] == 0
    both = [str(tmp_path / f"run-{name}") for name in ("even", "skewed")]
    assert typed(["compare", *both, "--out", str(tmp_path / "both")])[0] == 0
    folder = str(tmp_path / "both")
    code, output, errors = typed(["export", folder])
    assert code == 0, errors
    rows = list(csv.DictReader(io.StringIO(output)))
    assert {(row["a"], row["b"]) for row in rows} == {("the even one", "the skewed one")}
    file = tmp_path / "table.tex"
    assert typed(["export", folder, "--format", "latex", "--out", str(file)]) == (0, "", "")
    assert "second $-$ first" in file.read_text()
    assert json.loads(typed(["export", folder, "--format", "json"])[1])["comparison"]
    assert "Paired differences" in typed(["export", folder, "--format", "markdown"])[1]
    assert "export it alone" in typed(["export", folder, both[0]])[2]
    assert "no format of a comparison" in typed(["export", folder, "--format", "factsheet"])[2]
    manifest = json.loads((tmp_path / "run-even" / "manifest.json").read_text())
    assert manifest["name"] == "the even one"
    assert manifest["subject"]["name"].startswith("embeddings:")
