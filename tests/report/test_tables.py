"""Tables to paste survive pasting."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from report_runs import make_run

from equiview.data.run import Run
from equiview.data.tables import write_parquet
from equiview.errors import InputError
from equiview.report import FORMATS, export

NASTY = r"50%_of|a&b\c{d}#$^~<i>"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = make_run(tmp_path / "run", "a_system", 0.5)
    table = run.estimates.table.head(3).with_columns(group=pl.Series([NASTY, "ک,\"'", None]))
    write_parquet(table, run.folder / "estimates.parquet")
    return run


def test_csv_and_json_give_back_every_digit(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(export(run, "csv"))))
    assert [float(row["value"]) for row in rows] == run.estimates.table["value"].to_list()
    assert rows[1]["group"] == "ک,\"'"
    content = json.loads(export(run, "json"))
    assert content["subject"] == "a_system"
    assert [row["value"] for row in content["estimates"]] == run.estimates.table["value"].to_list()


def test_latex_escapes_what_latex_reads(run: Run) -> None:
    text = export(run, "latex")
    assert (
        r"50\%\_of|a\&b\textbackslash{}c\{d\}\#\$\textasciicircum{}\textasciitilde{}\textless{}i\textgreater{}"
        in text
    )
    body = text.split("\\midrule")[1].split("\\bottomrule")[0].strip().splitlines()
    shape = text.split("\\begin{tabular}{")[1].split("}")[0]
    assert all(line.replace(r"\&", "").count("&") == len(shape) - 1 for line in body)


def test_markdown_cells_stay_in_their_columns(run: Run) -> None:
    lines = [line for line in export(run, "markdown").splitlines() if line.startswith("|")]
    pipes = {line.replace("\\\\", "").replace(r"\|", "").count("|") for line in lines}
    assert len(pipes) == 1
    assert r"50%\_of\|a&b\\c{d}\#$^\~\<i\>" in lines[2]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_ends_with_a_line_and_repeats(run: Run, format: str) -> None:
    assert export(run, format).endswith("\n")
    assert export(run, format) == export(run, format)


def test_an_unknown_format_names_the_nearest(run: Run) -> None:
    with pytest.raises(InputError, match="did you mean 'latex'"):
        export(run, "latx")
