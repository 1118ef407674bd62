"""Tables of papers, filled by runs."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import polars as pl
import pytest
from report_runs import make_run, rewrite

from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import FORMATS, export_layout, lay_out, list_layouts
from equiview.report.layouts import FORMATS as LAYOUT_FORMATS
from equiview.report.layouts import _words


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("layouts")
    return [
        make_run(folder / name, name, skew, audits=("exposure", "preference"))
        for name, skew in (("a", 0.6), ("b", 0.0))
    ]


def test_a_table_has_a_row_of_each_run_after_its_system(runs: list[Run]) -> None:
    table = lay_out(runs[:2], "table-1")
    assert table.columns == ["system", "tier", "DLBKL@10", "missing"]
    assert table["system"].to_list() == ["pictogram:skewed", "pictogram:english"]
    wanted = [run.estimates.one("DLBKL", k=10, grouping="tier").value for run in runs[:2]]
    assert table["DLBKL@10"].to_list() == [round(value, 3) for value in wanted]


def test_the_list_has_the_first_line_of_what_each_table_is(both: list[Run]) -> None:
    assert list_layouts(both).rows() == [
        ("exposure.table-1", "Exposure of a system, as one row."),
        ("preference.table-1", "Preference by country, as rows."),
        ("preference.table_&2", "Preference by country, as rows."),
    ]


def test_runs_without_tables_say_so(runs: list[Run]) -> None:
    manifest = runs[0].manifest.model_copy(update={"audits": ("not-installed",)})
    bare = Run(runs[0].folder, manifest)
    with pytest.raises(InputError, match="no audit of these runs has a table of its paper"):
        list_layouts([bare])


def test_a_name_that_two_audits_share_needs_the_audit(both: list[Run]) -> None:
    message = "several tables are named 'table-1'; use one of exposure.table-1, preference.table-1"
    with pytest.raises(InputError, match=message):
        lay_out(both, "table-1")
    assert "DLBKL@10" in lay_out(both, "exposure.table-1").columns
    assert lay_out(both, "preference.table-1").equals(lay_out(both, "table_&2"))


def test_an_unknown_table_names_those_there_are(runs: list[Run]) -> None:
    with pytest.raises(
        InputError, match=r"no table is named 'table-9'; did you mean .*known: exposure.table-1"
    ):
        lay_out(runs, "table-9")


def test_a_run_that_cannot_fill_a_table_is_named(runs: list[Run], both: list[Run], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of audit 'preference', which this run does not have"):
        lay_out([*both, runs[0]], "preference.table-1")
    run = make_run(tmp_path / "emptied", "mine", 0.5)
    kept = run.estimates.table.filter(pl.col("metric") != "DLBKL")
    rewrite(run, "estimates.parquet", kept)
    with pytest.raises(InputError, match=r"emptied: table 'table-1': .*0 estimates of 'DLBKL@10"):
        lay_out([run], "table-1")


def test_printed_cells_survive_pasting(both: list[Run]) -> None:
    latex, markdown = (export_layout(both, "table_&2", name) for name in ("latex", "markdown"))
    assert "\\begin{tabular}{llr}" in latex
    assert "a & USA & 0.50 \\\\" in latex
    assert r"### table\_&2: pictograms" in markdown
    assert "| a | USA | 0.50 |" in markdown
    assert "| b | Thailand | 0.12 |" in markdown
    assert r"| a | low | " in export_layout(both, "exposure.table-1", "markdown")


def test_csv_and_json_give_back_the_numbers(both: list[Run]) -> None:
    wanted = lay_out(both, "table_&2")["SP"].to_list()
    rows = csv.DictReader(io.StringIO(export_layout(both, "table_&2", "csv")))
    assert [float(row["SP"]) for row in rows] == wanted
    content = json.loads(export_layout(both, "table_&2", "json"))
    assert [row["SP"] for row in content["rows"]] == wanted


def test_numbers_of_a_column_have_the_decimals_of_the_paper() -> None:
    assert _words(pl.Series([0.29, 0.207, -1.0, None, math.inf])) == ["0.290", "0.207", "−1.000", "–", "∞"]
    assert _words(pl.Series([83.3412, 2.0])) == ["83.341", "2.000"]
    assert _words(pl.Series([94.6, 91.0])) == ["94.6", "91.0"]
    assert _words(pl.Series([1, None])) == ["1", "–"]


def test_infinity_is_null_in_json() -> None:
    frame = pl.DataFrame({"SP": [math.inf, 0.5], "n": [1, 2]})
    assert [row["SP"] for row in json.loads(LAYOUT_FORMATS["json"]("t", frame))["rows"]] == [None, 0.5]


def test_tables_have_the_formats_of_estimates(runs: list[Run]) -> None:
    assert list(LAYOUT_FORMATS) == list(FORMATS)
    for format in FORMATS:
        assert export_layout(runs, "table-1", format).endswith("\n")
    with pytest.raises(InputError, match="did you mean 'latex'"):
        export_layout(runs, "table-1", "latx")
