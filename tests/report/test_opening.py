"""What the opening picks, and the published numbers beside a run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from report_runs import comparison, make_run

from equiview.data.run import Run
from equiview.data.tables import write_parquet
from equiview.errors import InputError
from equiview.report import opening, page, published


def test_the_headline_is_the_audit_s_first_and_its_effect_lies_inside_the_scale(runs: list[Run]) -> None:
    card = opening.cards(runs, comparison(runs))[0]
    assert card.metric == "DLBKL@10, by tier"
    assert [answer.word for answer in card.answers] == ["biased", "biased", "fair"]
    for answer in card.answers:
        assert answer.effect is not None
        assert (
            0
            <= answer.effect["low"]
            <= answer.effect["at"]
            <= answer.effect["low"] + answer.effect["width"]
            <= 100
        )
    assert {row["metric"] for row in card.comparison} == {"DLBKL@10, by tier"}
    assert {row["better"] for row in card.comparison} == {"pictogram:english", "pictogram:aligned"}


def test_the_worst_languages_are_the_lowest_of_a_metric_where_higher_is_better(runs: list[Run]) -> None:
    metric, rows = opening.worst(runs[1].estimates.table, "language")
    assert metric == "R@1"
    assert [row["language"] for row in rows] == ["quz", "mi", "fil", "sw", "te"]
    assert opening.worst(runs[1].estimates.table, "country") == ("", [])


def test_advice_is_given_once_with_whom_it_is_for(runs: list[Run]) -> None:
    card = opening.cards(runs, None)[0]
    assert [names for _, names in card.advice] == [("pictogram:skewed", "pictogram:english")]


def test_a_difference_that_is_not_sure_names_nobody_better(runs: list[Run]) -> None:
    rows = opening.compared(comparison(runs), "prevalence")
    unsure = [row for row in rows if row["metric"] == "R@1, low tier"]
    assert unsure
    assert not any(row["better"] for row in unsure)


def test_published_rows_stand_under_ours_on_the_same_benchmark_only(tmp_path: Path, runs: list[Run]) -> None:
    assert published.beside(runs) == []
    run = make_run(tmp_path / "x", "mine", 0.2, benchmark="xm3600")
    first, depths = published.beside([run])
    assert first.metrics == ("Accuracy@5", "LBKL@10", "DLBKL@10", "NDCG@10 (retrieved)")
    assert first.rows[0] == ("mine", True, ("89.0%", "0.591", "0.591", "0.720"))
    assert {name: values for name, _, values in first.rows}["CLIP-L/14"] == (
        "50.9%",
        "5.67",
        "5.68",
        "0.290",
    )
    assert len(first.rows) == 11
    assert depths.rows[0][2][-1] != "–"
    text = page([run]).decode()
    assert "Table 1" in text
    assert "No paper has published numbers" not in text


def test_a_page_of_nothing_or_of_one_subject_twice_is_refused(runs: list[Run]) -> None:
    with pytest.raises(InputError, match="at least one run"):
        page([])
    with pytest.raises(InputError, match="two of the runs are of 'pictogram:skewed' in the audit prevalence"):
        page([runs[0], runs[0]])


def test_one_subject_may_stand_on_two_benchmarks_in_two_audits(tmp_path: Path, runs: list[Run]) -> None:
    other = make_run(tmp_path / "other", runs[0].name, 0.3, benchmark="elsewhere")
    manifest = other.manifest.model_copy(update={"audits": ("association",), "settings": {}})
    renamed = other.estimates.table.with_columns(audit=pl.lit("association"))
    write_parquet(renamed, other.folder / "estimates.parquet")
    verdicts = (other.folder / "verdicts.json").read_text().replace('"prevalence"', '"association"')
    (other.folder / "verdicts.json").write_text(verdicts)
    text = page([runs[0], Run(other.folder, manifest)]).decode()
    assert "pictogram:skewed on pictograms and elsewhere" in text
    assert 'id="audit-association"' in text


def test_where_all_are_alike_nobody_is_worst() -> None:
    rows = [
        {"audit": "a", "metric": "R@1", "value": 1.0, "low": 1.0, "high": 1.0, "n": 9, "chance": 0.1,
         "excess": 0.9, "language": code}
        for code in ("en", "sw")
    ]  # fmt: skip
    assert opening.worst(pl.from_dicts(rows), "language") == ("R@1", [])


def test_an_empty_comparison_is_no_comparison(runs: list[Run]) -> None:
    assert opening.compared(pl.DataFrame(), "prevalence") == ()
