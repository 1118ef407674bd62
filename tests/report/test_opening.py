"""What the opening picks, and the published numbers beside a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from report_runs import BROKEN, EVIL, EXPOSURE, Skew, comparison, make_run, rewrite
from several_systems import of_trials, of_world

from equiview.audits import AUDITS
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import opening, page, published
from equiview.report.pairs import compared


def test_the_headline_is_the_audit_s_first_and_its_effect_lies_inside_the_scale(runs: list[Run]) -> None:
    card = opening.cards(runs)[0]
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
    rows = [row for row in compared(comparison(runs), "exposure", runs) if row["metric"] == card.metric]
    assert {row["better"] for row in rows} == {"pictogram:english", "pictogram:aligned"}


def test_the_worst_languages_are_the_lowest_of_a_metric_where_higher_is_better(runs: list[Run]) -> None:
    (bad,) = opening.worst("exposure", runs[1].estimates)
    assert (bad.key, bad.about) == ("language", quantity("R", k=1))
    assert [row.quantity.keys["language"] for row in bad.rows] == ["quz", "mi", "fil", "sw", "te"]
    card = opening.cards(runs)[0]
    assert card.worst_title == "R@1 by language"
    assert [entry["name"] for entry in card.answers[1].worst[0]["entries"]][:2] == ["Cusco Quechua", "Maori"]


def test_the_worst_are_the_highest_where_lower_is_better_and_too_few_do_not_count(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.5, audits=("preference",))
    with_floor = Estimates(run.estimates.table.with_columns(chance=pl.lit(0.2)))
    (bad,) = opening.worst("preference", with_floor)
    assert [row.quantity.keys["country"] for row in bad.rows] == ["Kenya", "Thailand"]
    (card,) = opening.cards([run])
    assert (card.metric, card.worst_title) == ("SP, text to image", "SP, text to image by country")
    assert card.answers[0].worst[0]["title"] == "by country"


def test_an_audit_that_is_not_installed_is_shown_under_plain_names(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.5)
    del AUDITS.entries["exposure"]
    try:
        (card,) = opening.cards([run])
        text = page([run]).decode()
    finally:
        AUDITS.register("exposure", about="")(EXPOSURE)
    assert card.question == EXPOSURE.question
    # The first estimate with a chance floor and fewest keys.
    assert (card.metric, card.worst_title) == ("Accuracy@5", "")
    assert card.answers[0].effect is not None
    assert card.answers[0].effect["value"] == "0.800"
    assert 'id="audit-exposure"' in text


def test_a_failed_audit_says_why_and_costs_the_others_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.5, audits=("exposure", "broken"))
    exposure, broken = opening.cards([run])
    assert exposure.answers[0].word == "biased"
    assert (broken.question, broken.metric) == (BROKEN.question, "")
    (answer,) = broken.answers
    assert (answer.finding, answer.word) == ("failed", "not measured")
    assert EVIL in answer.text
    text = page([run]).decode()
    assert EVIL not in text
    assert "trials.csv: row 3: &lt;script&gt;" in text
    assert "Where it failed" not in text


def test_a_defect_of_an_audit_is_shown_with_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report_runs.BROKEN", replace(BROKEN, measure=lambda *_: 1 / 0))
    run = make_run(tmp_path / "r", "mine", 0.5, audits=("exposure", "broken"))
    answer = opening.cards([run])[1].answers[0]
    assert answer.text == "ZeroDivisionError: division by zero"
    assert answer.trace.startswith("Traceback")
    assert "Where it failed" in page([run]).decode()


def test_an_audit_of_two_runs_that_failed_in_one_has_the_answer_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = make_run(tmp_path / "a", "a", 0.5, audits=("exposure", "broken"))
    monkeypatch.setattr(
        "report_runs.BROKEN",
        replace(
            EXPOSURE, name="broken", schemas={}, draw=lambda *_: [], settings=Skew, explore=lambda _: None
        ),
    )
    measured = make_run(tmp_path / "b", "b", 0.5, audits=("exposure", "broken"))
    card = opening.cards([failed, measured])[1]
    assert [answer.word for answer in card.answers] == ["not measured", "biased"]
    assert [answer.effect is None for answer in card.answers] == [True, False]
    assert "Why there is no answer" not in page([failed, measured]).decode()


def test_a_scale_with_values_below_zero_reaches_as_far_below_as_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = Estimates.of_rows(
        [{"metric": "DLBKL", "k": 10, "value": -0.1, "low": -0.3, "high": 0.1, "n": 9, "grouping": "tier"}]
    )
    run = make_run(tmp_path / "r", "mine", 0.5)
    monkeypatch.setattr(Run, "estimates", below.stamped("exposure"))
    (card,) = opening.cards([run])
    assert card.ticks == ((0.0, "−0.3"), (75.0, "0"), (100.0, "0.1"))
    effect = card.answers[0].effect
    assert effect is not None
    assert (effect["low"], effect["at"], effect["width"]) == pytest.approx((0, 50, 100))


def test_readings_are_together_by_title(tmp_path: Path, runs: list[Run]) -> None:
    both = make_run(tmp_path / "r", "mine", 0.5, audits=("preference", "exposure"))
    assert opening.readings([runs[0], both]) == {
        "Exposure and accuracy": [
            ("pictogram:skewed", "Skew 1.0, served alike."),
            ("mine", "Skew 0.5, served alike."),
        ],
        "Pull and clusters": [("mine", "Countries with tight clusters pull more.")],
    }


def test_advice_is_given_once_with_whom_it_is_for(runs: list[Run]) -> None:
    card = opening.cards(runs)[0]
    assert [names for _, names in card.advice] == [("pictogram:skewed", "pictogram:english")]


def test_a_difference_that_is_not_sure_names_nobody_better(runs: list[Run]) -> None:
    rows = compared(comparison(runs), "exposure", runs)
    unsure = [row for row in rows if row["metric"] == "R@1, low tier"]
    assert unsure
    assert not any(row["better"] for row in unsure)


def test_published_rows_stand_under_ours_on_the_same_benchmark_only(tmp_path: Path, runs: list[Run]) -> None:
    assert published.beside(runs) == []
    run = make_run(tmp_path / "x", "mine", 0.2, benchmark="xm3600")
    first, depths = published.beside([run])
    assert first.metrics == (
        "Accuracy@5", "LBKL@10, by tier", "DLBKL@10, by tier", "NDCG@10, retrieved ideal"
    )  # fmt: skip
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


def test_each_published_table_says_its_paper(tmp_path: Path) -> None:
    run = make_run(tmp_path / "x", "mine", 0.2, benchmark="multi30k-translation-test_2016_flickr")
    rows = [
        {"audit": "exposure", "metric": "R", "k": 1, "task": "image-to-text", "language": code, "n": 1000}
        | {"value": value, "low": value - 0.02, "high": value + 0.02}
        for code, value in (("en", 0.61), ("de", 0.57))
    ]
    rewrite(run, "estimates.parquet", Estimates.of_rows(rows).table)
    matching, distance = published.beside([run])
    assert matching.paper == distance.paper
    assert matching.paper.startswith("Assessing Multilingual Fairness")
    assert matching.rows == (
        ("mine", True, ("61.0%", "57.0%")),
        ("Multilingual CLIP", False, ("50.4%", "45.6%")),
    )
    assert distance.rows == (("mine", True, ("–",)), ("Multilingual CLIP", False, ("1.86",)))


def test_published_accuracies_of_faces_are_those_of_the_paper(tmp_path: Path) -> None:
    golden = json.loads((Path(__file__).parents[1] / "data" / "fairness.json").read_text())
    (table,) = published.beside([make_run(tmp_path / "x", "mine", 0.2, benchmark="fairface-val")])
    numbers = golden["fairface_gender_accuracy"].values()
    wanted = tuple(f"{value:.1f}%" for by_gender in numbers for value in by_gender.values())
    assert table.rows[1] == ("Multilingual CLIP", False, wanted)
    assert "accuracy, by gender, Female, tr language, gender" in table.metrics


def test_a_page_names_the_benchmarks_with_published_numbers(runs: list[Run]) -> None:
    assert published.benchmarks() == [
        *("removals-coco-test", "removals-flickr30k-test"),
        *("multi30k-translation-test_2016_flickr", "multi30k-independent-test_2016", "fairface-val"),
        *("xm3600", "3xcm", "transfer", "knowrecall", "visrecall"),
    ]
    text = page(runs).decode()
    assert "<code>fairface-val</code>" in text
    assert "are shown beside published ones" in text


def test_a_page_of_nothing_or_of_one_subject_twice_is_refused(runs: list[Run]) -> None:
    with pytest.raises(InputError, match="at least one run"):
        page([])
    with pytest.raises(InputError, match="two of the runs are of 'pictogram:skewed' in the audit exposure"):
        page([runs[0], runs[0]])


def test_one_subject_may_be_on_two_benchmarks_in_two_audits(tmp_path: Path, runs: list[Run]) -> None:
    other = make_run(tmp_path / "r", runs[0].name, 0.3, benchmark="elsewhere", audits=("preference",))
    text = page([runs[0], other]).decode()
    assert "pictogram:skewed on pictograms and elsewhere" in text
    assert 'id="audit-exposure"' in text
    assert 'id="audit-preference"' in text


def test_where_all_are_alike_nobody_is_worst() -> None:
    rows = [
        {
            "metric": "R",
            "k": 1,
            "value": 1.0,
            "low": 1.0,
            "high": 1.0,
            "n": 9,
            "chance": 0.1,
            "language": code,
        }
        for code in ("en", "sw")
    ]
    (bad,) = opening.worst("exposure", Estimates.of_rows(rows))
    assert (bad.rows, bad.shown, bad.of) == ((), 0, 2)
    assert opening.worst("exposure", Estimates.of_rows(rows[:1])) == []


def test_of_tested_effects_only_those_shown_to_be_worse_are_worst() -> None:
    wide = {"n": 99, "judged": True, "p": 0.01, "metric": "relative shift"}
    rows = [
        wide
        | {"language": "sw", "value": -0.3, "low": -0.4, "high": -0.2, "low_all": -0.5, "high_all": -0.1},
        wide | {"language": "mi", "value": -0.2, "low": -0.3, "high": -0.1, "low_all": -0.5, "high_all": 0.1},
        wide | {"language": "de", "value": 0.4, "low": 0.3, "high": 0.5, "low_all": 0.2, "high_all": 0.6},
    ]
    (bad,) = opening.worst("memory", Estimates.of_rows(rows))
    assert (bad.key, [row.keys["language"] for row in bad.rows]) == ("language", ["sw"])


def test_an_empty_comparison_is_no_comparison(runs: list[Run]) -> None:
    assert compared(pl.DataFrame(), "exposure", runs) == []


def test_a_card_plots_what_its_verdict_rests_on_beside_the_tolerance(tmp_path: Path) -> None:
    runs = of_world(tmp_path, ("prevalence", "parity", "individual"))
    cards = {card.audit: card for card in opening.cards(runs)}
    assert cards["parity"].metric.startswith("gap to pivot, against English")
    assert "exposure ratio" in cards["prevalence"].metric
    for card in cards.values():
        assert card.tolerance
        for answer in card.answers:
            effect = answer.effect
            assert effect is not None
            beyond = not effect["fair_at"] <= effect["at"] <= effect["fair_at"] + effect["fair_width"]
            assert beyond is (float(effect["times"].split()[0]) > 1)
            if answer.finding == "biased":
                assert beyond
    skewed, _, even = cards["parity"].answers
    assert skewed.effect is not None
    assert skewed.effect["value"].startswith("+")
    assert skewed.effect["value"].endswith(" points")
    assert "largest of" in skewed.effect["of"]
    assert even.effect is not None
    assert float(skewed.effect["times"].split()[0]) > 5 > float(even.effect["times"].split()[0])


def test_the_pull_is_plotted_with_its_sign(tmp_path: Path) -> None:
    (card,) = opening.cards(of_trials(tmp_path))
    pulled, _ = card.answers
    assert card.metric == "mean pull of languages, text to image"
    assert pulled.finding == "biased"
    assert pulled.effect is not None
    assert pulled.effect["value"][0] == "+"
    assert "%" not in pulled.effect["value"] + pulled.effect["interval"] + pulled.effect["tolerance"]
    assert {group["title"] for group in pulled.worst} == {"by language", "by country"}


def test_only_who_is_worse_beyond_chance_is_listed_and_at_the_cutoff_of_the_verdict() -> None:
    # Mean 50%. Swahili lies below it, also with the interval for all three; Thai only with its own.
    levels = {"en": (0.8, 0.7, 0.9), "th": (0.4, 0.31, 0.49), "sw": (0.3, 0.2, 0.4)}
    numbers = [
        {"metric": "R", "k": k, "value": value, "low": low, "high": high, "n": 100, "chance": 0.01}
        | {"language": code}
        for k in (1, 10)
        for code, (value, low, high) in levels.items()
    ]
    (bad,) = opening.worst("exposure", Estimates.of_rows(numbers), k=10)
    assert bad.about == quantity("R", k=10)
    assert [row.quantity.keys["language"] for row in bad.rows] == ["sw"]
    assert (bad.shown, bad.of) == (1, 3)
    measured = [row | {"low_all": row["low"], "high_all": row["high"]} for row in numbers]
    (bad,) = opening.worst("exposure", Estimates.of_rows(measured), k=5)  # not measured there
    assert bad.about == quantity("R", k=1)
    assert [row.quantity.keys["language"] for row in bad.rows] == ["sw", "th"]


def test_a_system_that_cannot_do_the_task_is_not_called_better(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = comparison(runs).filter(metric="Accuracy")
    named = {row["better"] for row in compared(table, "exposure", runs)}
    assert named == {run.name for run in runs[1:]}
    unable = [verdict.model_copy(update={"able": False}) for verdict in runs[1].verdicts]
    monkeypatch.setattr(
        Run, "verdicts", property(lambda run: unable if run.name == runs[1].name else unable[:0])
    )
    assert {row["better"] for row in compared(table, "exposure", runs)} == {None}
    assert all(row["sure"] for row in compared(table, "exposure", runs))


def test_a_published_table_stands_beside_runs_with_its_settings_alone(tmp_path: Path) -> None:
    """VisRecall's levels are of one scorer; another's are of another scale."""
    run = make_run(tmp_path / "x", "mine", 0.2, benchmark="visrecall")
    manifest = run.manifest
    assert published.beside([run]) == []
    jina = "hf-trust:jinaai/jina-clip-v2"
    for scorer, tables in (("hf:openai/clip", 0), (jina, 0), (f"{jina},dim=512", 1)):
        manifest.settings["memory"] = {"scorer": scorer}
        assert len(published.beside([run])) == tables
