"""Tables to paste survive pasting."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from report_runs import make_run, rewrite

from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import FORMATS, export, export_layout
from equiview.report.tables import TOO_FEW, estimates_table

NASTY = r"50%_of|a&b\c{d}#$^~<i>"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = make_run(tmp_path / "run", "a_system", 0.5)
    table = run.estimates.table.head(3).with_columns(group=pl.Series([NASTY, "ک,\"'", None]))
    rewrite(run, "estimates.parquet", table)
    return run


def test_csv_and_json_give_back_every_digit(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(export(run, "csv"))))
    assert [float(row["value"]) for row in rows] == run.estimates.table["value"].to_list()
    assert rows[1]["group"] == "ک,\"'"
    content = json.loads(export(run, "json"))
    assert content["subject"] == "a_system"
    assert [row["value"] for row in content["estimates"]] == run.estimates.table["value"].to_list()


def test_a_page_s_table_leaves_out_what_no_row_has(run: Run, tmp_path: Path) -> None:
    table = estimates_table([run], "exposure")
    numbers = ["value", "low", "high", "n", "chance", "excess"]
    assert table.columns == ["metric", "k", "grouping", "group", *numbers]
    tested = make_run(tmp_path / "tested", "mine", 0.5, audits=("preference", "broken"))
    keys, tests = ["country", "direction"], ["p", "p_holm", "judged"]
    table = estimates_table([tested], "preference")
    assert sorted(table.columns) == sorted(["metric", *keys, *numbers, *tests])
    assert table.columns[-3:] == tests
    assert set(table.filter(country="USA")["judged"]) == {TOO_FEW}
    assert set(table.filter(pl.col("country").is_null())["judged"]) == {"yes"}
    assert estimates_table([run, tested], "exposure")["subject"].unique().to_list() == ["a_system"]
    assert len(estimates_table([tested], "broken")) == 0


def test_printed_tables_say_p_what_has_too_few_to_judge_by_and_what_was_not_measured(tmp_path: Path) -> None:
    run = make_run(tmp_path / "tested", "mine", 0.5, audits=("preference", "broken"))
    lines = export(run, "markdown").splitlines()
    assert lines[2].endswith("| n | p | p (Holm) | judged |")
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| M\\_cul")
    ]
    by_country = {row[2]: row for row in cells}
    assert by_country["USA"][-3:] == [r"\< 0.001", "0.031", TOO_FEW]
    assert by_country["Kenya"][-3:] == [r"\< 0.001", "0.031", ""]
    assert lines[-1].startswith(r"Not measured: trials.csv: row 3: \<script\>")
    assert "broken. Not measured: trials.csv: row 3" in export(run, "latex")
    assert [row["judged"] for row in json.loads(export(run, "json"))["estimates"]].count(False) == 3


def test_printed_tables_say_the_cutoff_behind_the_metric(run: Run) -> None:
    assert r"| LBKL@5 | tier |" in export(run, "markdown")
    assert "LBKL@5 & tier &" in export(run, "latex")
    assert [row["k"] for row in csv.DictReader(io.StringIO(export(run, "csv")))] == ["5", "5", "10"]


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


def test_no_cell_of_a_csv_is_a_formula_and_numbers_stay_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", "=cmd|' /C calc'!A0", 0.5, audits=("preference",))
    begins = ["=1+1", "+1", "-1", "@sum", "\tx", "plain", None]
    table = run.estimates.table.head(7).with_columns(
        pl.Series("country", begins), value=pl.Series([-1.5, 2.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    )
    rewrite(run, "estimates.parquet", table)
    rows = list(csv.DictReader(io.StringIO(export(run, "csv"))))
    safe = [f"'{word}" for word in begins[:5] if word]
    assert [row["country"] for row in rows] == [*safe, "plain", ""]
    assert [float(row["value"]) for row in rows][:2] == [-1.5, 2.0]
    laid_out = export_layout([make_run(tmp_path / "other", "=x", 0.5)], "table-1", "csv")
    assert laid_out.splitlines()[1].startswith("'=x,")
