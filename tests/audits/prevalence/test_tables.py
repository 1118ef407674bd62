"""P's Tables 1 and 5 from estimates."""

import json
from importlib.resources import files

import polars as pl
import pytest

from equiview.audits.prevalence import PREVALENCE
from equiview.audits.prevalence.tables import table_1, table_3, table_5
from equiview.data.estimates import Estimates
from equiview.errors import InputError

PUBLISHED = json.loads(files("equiview.report").joinpath("published", "perspectival.json").read_text())


def published(title: str, system: str) -> Estimates:
    """What a system has in a published table, as estimates of the audit."""
    table = next(table for table in PUBLISHED["tables"] if title in table["title"])
    numbers = table["rows"][system]
    rows = [
        {
            "metric": column["metric"],
            "k": column["k"],
            "value": value + 0.0004,
            "low": 0.0,
            "high": 9.0,
            "n": 3600,
        }
        | column.get("keys", {})
        for column, value in zip(table["metrics"], numbers, strict=True)
    ]
    return Estimates.of_rows(rows)


def test_table_1_has_the_columns_of_the_paper():
    table = table_1(published("Table 1", "GME-Qwen2-7B"))
    assert table.columns == ["Accuracy@5", "LBKL@10", "DLBKL@10", "NDCG@10"]
    assert table.rows() == [(0.979, 1.371, 1.42, 0.77)]


def test_table_5_has_the_depths_of_the_paper():
    table = table_5(published("Table 5", "CLIP-L/14"))
    assert table.columns[:3] == ["LBKL@5", "DLBKL@5", "LBKL@25"]
    assert table.rows() == [(6.904, 6.911, 4.171, 4.182, 3.245, 3.249, 2.658, 2.652)]


def test_a_cutoff_that_was_not_measured_is_empty_and_a_run_without_any_has_no_table():
    of_both = published("Table 1", "CLIP-L/14").table
    shallow = Estimates(of_both.filter(pl.col("metric") != "DLBKL"))
    assert table_1(shallow).rows() == [(0.509, 5.673, None, 0.29)]
    assert table_1(shallow).dtypes == [pl.Float64] * 4
    with pytest.raises(InputError, match="the run has none of LBKL@5, DLBKL@5, LBKL@25"):
        table_5(shallow)


def test_the_audit_brings_them():
    assert list(PREVALENCE.tables) == ["table-1", "table-3", "table-5"]


def test_table_3_has_the_tiers_and_shares_of_the_paper():
    numbers = {"metric": "R", "k": 1, "value": 0.5, "low": 0.4, "high": 0.6, "n": 10}
    rows = [numbers | {"language": code} for code in ("sw", "en", "ko", "xx")]
    assert table_3(Estimates.of_rows(rows)).rows() == [
        ("high", "English", "en", 43.9499),
        ("low", "Korean", "ko", 0.7865),
        ("low", "Swahili", "sw", 0.0102),
        (None, None, "xx", None),
    ]
    with pytest.raises(InputError, match="no R@1 by language"):
        table_3(Estimates.of_rows([numbers]))
