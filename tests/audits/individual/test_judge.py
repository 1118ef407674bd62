"""What the audit says and draws, and what it brings for the report."""

import numpy as np
import pytest
from labs.error_rates.individual import at_tolerance

from equiview.audits.execute import execute
from equiview.audits.individual import INDIVIDUAL, METRICS
from equiview.benchmarks import load_benchmark
from equiview.data.estimates import BASE
from equiview.data.metric import quantity
from equiview.subjects import load_subject
from tests.audits import steps
from tests.audits.individual.worlds import audited, judged, observed, several, similar
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
    most = max(estimates.by("language", "relative shift"), key=lambda row: row.high)
    tolerance = round((most.value + most.high) / 2, 3)
    verdict = INDIVIDUAL.judge(estimates, INDIVIDUAL.configure({"tolerance": tolerance}))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(f"Unclear at {tolerance:.0%}: ")


def test_the_evidence_says_what_was_measured(world):
    _, estimates, options = audited(world)
    alpha, shuffled, *low = INDIVIDUAL.judge(estimates, options).evidence
    raw, unit = (
        estimates.one("alpha-hat", images="matched", vectors=vectors).value for vectors in ("raw", "unit")
    )
    assert f"{raw:.3g} of at most" in alpha
    assert f"{unit:.3g} of at most 1 " in alpha
    wrong = estimates.one("similarity gap", images="shuffled").value
    assert shuffled.endswith(f"with a wrong one {wrong:.3f}.")
    lower = {row.keys["language"] for row in estimates.by("language", "shift") if row.of_many().high < 0}
    assert bool(low) == bool(lower)


def test_vectors_of_length_1_make_one_figure_of_distances(world, tmp_path):
    def figures(out):
        subject, benchmark = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
        run = execute(subject, benchmark, ["individual"], out)
        return [figure.name for figure in run.figures("individual")]

    every = [
        *("gap-by-distance-raw", "gap-by-distance-unit"),
        *("gap-by-pair", "shift-by-language", "gap-by-language", "similarity-by-language"),
    ]
    assert figures(tmp_path / "raw") == every
    texts = np.load(world / "texts.npy")
    np.save(world / "texts.npy", texts / np.linalg.norm(texts, axis=1, keepdims=True))
    assert figures(tmp_path / "unit") == every[1:]


def test_its_metrics_are_those_it_reports_within_their_range(tmp_path):
    _, estimates, _ = audited(several(tmp_path / "w"))
    known = {metric.name: metric for metric in METRICS}
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


def test_headlines_and_whom_to_list_are_among_what_is_measured(tmp_path):
    observed, estimates, options = audited(several(tmp_path / "w"))
    values = steps.valued(INDIVIDUAL, observed, options)
    assert INDIVIDUAL.headlines[0].quantity == quantity("relative gap")
    for headline in INDIVIDUAL.headlines:
        assert headline.columns(values)
        row = estimates.at(headline.quantity)
        means = values.at(*headline.columns(values)).mean(axis=0)
        assert row.value == pytest.approx(float(headline.combine(means)))
    for key, wanted in INDIVIDUAL.worst_by:
        assert INDIVIDUAL.metric(wanted.metric).better == "higher"
        assert len(estimates.by(key, wanted.metric, wanted.k, **wanted.keys)) == 4


def test_keys_are_read_as_words():
    pair = quantity("chord", images="matched", language="en", other="sw")
    assert pair.label(INDIVIDUAL.key_formats) == "chord, matched images, en language, beside sw"
    share = quantity("ratio", images="shuffled", vectors="unit", quantile="90%")
    assert share.label(INDIVIDUAL.key_formats) == "ratio, shuffled images, 90% quantile, unit vectors"


NOISE = 0.1


def noisy(seed: int, *shape: int, sd: float = NOISE) -> np.ndarray:
    """Similarities to an image about .5, `(slots, languages, images)`, that languages have no part in."""
    return 0.5 + sd * np.random.default_rng(seed).normal(size=shape)


def test_language_blind_captions_that_differ_by_noise_are_never_biased():
    # Said of ten of ten such encoders before: "the language of a caption moves its similarity".
    for seed in range(10):
        estimates, verdict = judged(noisy(seed, 1, 4, 200))
        assert estimates.one("relative gap").low > 0.15
        assert verdict.finding == "unclear"
        assert "what the captions say included" in verdict.answer
        assert any("one caption for each image and language" in limit for limit in verdict.limits)


def test_two_captions_a_language_tell_noise_from_language():
    estimates, verdict = judged(noisy(0, 2, 4, 200))
    assert estimates.one("relative gap").low > 0.15
    assert verdict.finding == "fair"
    assert verdict.answer.startswith(
        "No: between captions in different languages similarity to an image moves more than between captions "
        "in one language, by "
    )
    assert estimates.one("relative gap beyond paraphrase").high < 0.1


def test_a_language_that_is_shifted_is_named_with_its_side():
    similarities = noisy(0, 1, 4, 200)
    similarities[0, 3] -= 0.15
    _, verdict = judged(similarities)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: captions in Swahili (by 3")
    assert ") are less similar to their images than captions of the same images in other" in verdict.answer
    assert "Maori" not in verdict.answer


def test_languages_that_differ_image_by_image_are_biased_where_captions_can_tell():
    rng = np.random.default_rng(0)
    by_image = 0.15 * rng.normal(size=(1, 4, 200))  # alike on average: no language is shifted by much
    several_each = noisy(1, 2, 4, 200, sd=0.05) + by_image
    _, verdict = judged(several_each)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: between captions in different languages similarity to an image")
    _, verdict = judged(several_each[:1])
    assert verdict.finding == "unclear"


def test_captions_translated_slot_by_slot_are_not_thought_nearer_than_they_are():
    rng = np.random.default_rng(0)
    of_slot = 0.1 * rng.normal(size=(2, 1, 200))
    estimates, verdict = judged(0.5 + of_slot + 0.02 * rng.normal(size=(2, 4, 200)))
    assert verdict.finding == "fair"
    beyond = estimates.one("gap beyond paraphrase")
    assert beyond.low < 0 < beyond.high


def test_a_random_encoder_is_neither_biased_nor_fair():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        images, texts = rng.normal(size=(60, 8)), rng.normal(size=(2, 4, 60, 8))
        texts += 2 * rng.normal(size=(1, 4, 1, 8))  # languages lie apart, which no image has a part in
        estimates, verdict = judged(observed(images, texts))
        assert verdict.finding == "unclear"
        assert verdict.answer.startswith("Unclear: captions are ")
        margin = estimates.one("margin")
        assert (estimates.maybe("relative gap") is None) == (margin.low <= 0)
        assert estimates.one("similarity gap", images="matched").value > 0


def test_a_margin_that_chance_may_have_made_is_not_enough():
    rng = np.random.default_rng(3)
    estimates, verdict = judged(0.017 + NOISE * rng.normal(size=(1, 4, 60)))
    margin = estimates.one("margin")
    assert margin.low > 0
    assert margin.p > 0.001
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith("Unclear: captions are hardly more similar to their own images")


def test_too_few_images_decide_nothing_and_the_answer_says_how_many():
    _, verdict = judged(noisy(0, 1, 4, 12, sd=0.001))
    assert verdict.finding == "unclear"
    assert verdict.answer == (
        "Unclear: only 12 images are captioned in two languages, at least 30 are needed."
    )


def test_languages_are_said_to_be_less_similar_only_where_that_is_shown():
    similarities = noisy(0, 1, 4, 100)
    _, verdict = judged(similarities)
    assert not any("less similar" in line for line in verdict.evidence)
    similarities[0, 3] -= 0.2
    _, verdict = judged(similarities)
    assert any(
        line.startswith("Captions in 1 languages are shown to be less similar") and "Swahili 0.3" in line
        for line in verdict.evidence
    )
    assert ", the largest of 4)" in verdict.answer


def test_languages_exactly_at_the_tolerance_are_not_found_biased():
    findings = [judged(at_tolerance(15, 1)(seed, 100))[1].finding for seed in range(8)]
    assert findings.count("biased") <= 1
    assert judged(at_tolerance(15, 1, times=2.0)(0, 100))[1].finding == "biased"


def test_a_language_of_few_images_is_named_and_forbids_fair():
    similarities = noisy(0, 1, 4, 100, sd=0.01)
    similarities[0, 2] -= 0.3
    similarities[0, 2, 10:] = np.nan
    estimates, verdict = judged(similarities)
    assert estimates.one("relative shift", language="mi").judged is False
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(
        "Unclear at 10%: too few images captioned in Maori (10), at least 30 are needed; "
    )
    similarities[0, 3] -= 0.2
    _, verdict = judged(similarities)
    assert verdict.finding == "biased"
    assert (
        verdict.evidence[0] == "Not judged: too few images captioned in Maori (10), at least 30 are needed."
    )


def test_the_curve_of_theorem_2_lies_above_all_points_up_to_the_shortest_length(world):
    observed_, estimates, options = audited(world)
    raw, unit = steps.drawn(INDIVIDUAL, observed_, estimates, options)[:2]
    pairs = observed_["pairs"]
    lengths = np.concatenate([pairs["length"], pairs["other_length"]])
    for chart, length in ((raw, lengths.min()), (unit, 1.0)):
        curve = chart.table.filter(series="Theorem 2 of F")
        x, y = curve["distance"].to_numpy(), curve["gap"].to_numpy()
        assert x.max() <= length + 1e-12
        assert y == pytest.approx(np.sqrt(2 - 2 * np.sqrt(1 - (x / length) ** 2)))
        points = chart.table.filter(chart.table["series"].str.ends_with("image"))
        below = points.filter(points["distance"] <= x.max())
        assert (below["gap"].to_numpy() <= np.interp(below["distance"], [0, *x], [0, *y]) + 1e-3).all()


def test_the_figure_of_shifts_has_lines_at_the_tolerance():
    seen = similar(noisy(0, 1, 4, 60))
    options = INDIVIDUAL.configure({"replicates": 500})
    figures = steps.drawn(INDIVIDUAL, seen, steps.measured(INDIVIDUAL, seen, options), options)
    shifts = next(figure for figure in figures if figure.name == "shift-by-language")
    assert sorted(shifts.reference.values()) == [-0.1, 0.1]
    assert len(shifts.table) == 4
