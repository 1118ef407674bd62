"""What the audit says and draws, and what it brings for the report."""

import numpy as np
import pytest

from equiview.audits.execute import execute
from equiview.audits.individual import INDIVIDUAL, METRICS
from equiview.benchmarks import load_benchmark
from equiview.data.estimates import BASE
from equiview.data.metric import metrics_by_name, quantity
from equiview.subjects import load_subject
from tests.audits.individual.worlds import audited
from tests.conftest import write_world


def test_more_skew_is_more_measured_bias(tmp_path):
    values, verdicts = [], []
    for skew in (0.0, 1.0, 4.0):
        _, estimates, options = audited(write_world(tmp_path / str(skew), skew=skew, images=100))
        values.append(estimates.one("relative gap").value)
        verdicts.append(INDIVIDUAL.judge(estimates, options))
    assert values == sorted(values)
    assert [verdicts[0].finding, verdicts[-1].finding] == ["fair", "biased"]
    assert verdicts[0].answer.startswith("No: ")
    assert not verdicts[0].advice
    assert verdicts[-1].answer.startswith("Yes: ")
    assert verdicts[-1].advice


def test_a_tolerance_within_the_interval_is_not_decided(world):
    _, estimates, _ = audited(world)
    tolerance = round(estimates.one("relative gap").value, 3)
    verdict = INDIVIDUAL.judge(estimates, INDIVIDUAL.configure({"tolerance": tolerance}))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(f"Not decided at {tolerance:.0%}: ")


def test_the_evidence_says_what_was_measured(world):
    _, estimates, options = audited(world)
    alpha, shuffled, apart, low = INDIVIDUAL.judge(estimates, options).evidence
    raw, unit = (
        estimates.one("alpha-hat", images="matched", vectors=vectors).value for vectors in ("raw", "unit")
    )
    assert f"{raw:.3g} of at most" in alpha
    assert f"{unit:.3g} of at most 1 " in alpha
    wrong = estimates.one("similarity gap", images="shuffled").value
    assert shuffled.endswith(f"with a wrong one {wrong:.3f}.")
    gaps = {
        (row.quantity.keys["language"], row.quantity.keys["other"]): row.value
        for row in estimates.by(("language", "other"), "similarity gap", images="matched")
    }
    assert apart.startswith("Furthest apart of 6 pairs of languages: ")
    assert f"({max(gaps.values()):.3f}); nearest: " in apart
    assert f"({min(gaps.values()):.3f})." in apart
    levels = sorted(row.value for row in estimates.by("language", "similarity", images="matched"))
    assert f" {levels[0]:.2f}, " in low
    assert low.endswith(f" {levels[-1]:.2f}.")


def test_vectors_of_length_1_make_one_figure_of_distances(world, tmp_path):
    def figures(out):
        subject, benchmark = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
        run = execute(subject, benchmark, ["individual"], out)
        return [figure.name for figure in run.figures("individual")]

    every = [
        *("gap-by-distance-raw", "gap-by-distance-unit"),
        *("gap-by-pair", "gap-by-language", "similarity-by-language"),
    ]
    assert figures(tmp_path / "raw") == every
    texts = np.load(world / "texts.npy")
    np.save(world / "texts.npy", texts / np.linalg.norm(texts, axis=1, keepdims=True))
    assert figures(tmp_path / "unit") == every[1:]


def test_its_metrics_are_those_it_reports_within_their_range(world):
    _, estimates, _ = audited(world)
    known = metrics_by_name(METRICS)
    assert set(known) == set(estimates.table["metric"])
    for row in estimates:
        least, most = known[row.quantity.metric].range
        if not row.has_interval:
            continue
        assert row.low >= (-np.inf if least is None else least)
        assert row.high <= (np.inf if most is None else most)


def test_every_key_is_a_column_and_every_quantity_is_there_once(world):
    _, estimates, _ = audited(world)
    assert set(estimates.table.columns) == {*BASE, "images", "vectors", "language", "other", "quantile"}
    quantities = [row.quantity for row in estimates]
    assert len(set(quantities)) == len(quantities)


def test_headlines_and_whom_to_list_are_among_what_is_measured(world):
    observed, estimates, options = audited(world)
    values = INDIVIDUAL.values(observed, options)
    assert INDIVIDUAL.headlines[0].quantity == quantity("relative gap")
    for headline in INDIVIDUAL.headlines:
        assert headline.is_in(values)
        row = estimates.at(headline.quantity)
        means = values.at(*headline.columns).mean(axis=0)
        assert row.value == pytest.approx(float(headline.combine(means)))
    for key, wanted in INDIVIDUAL.worst_by:
        assert INDIVIDUAL.metric(wanted.metric).better == "lower"
        assert len(estimates.by(key, wanted.metric, wanted.k, **wanted.keys)) == 4


def test_keys_are_read_as_words():
    pair = quantity("chord", images="matched", language="en", other="sw")
    assert pair.label(INDIVIDUAL.key_formats) == "chord, matched images, en language, beside sw"
    share = quantity("ratio", images="shuffled", vectors="unit", quantile="90%")
    assert share.label(INDIVIDUAL.key_formats) == "ratio, shuffled images, 90% quantile, unit vectors"
