"""Numbers from observed pairs, on worlds whose bias is known because we made it."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from equiview.audits.individual import INDIVIDUAL
from equiview.audits.individual.measure import RELATIVE_GAP
from equiview.audits.margin import over_margin
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.metrics import fairness_ratio, similarity_gap, text_distance
from tests.audits import steps
from tests.audits.individual.worlds import audited, judged, vectors_by_language
from tests.conftest import LANGUAGES, write_world


def test_numbers_are_those_of_the_metrics_on_whole_arrays(world):
    _, estimates, _ = audited(world)
    images, texts = np.load(world / "images.npy"), vectors_by_language(world)
    pairs = [(texts[a], texts[b]) for a, b in combinations(LANGUAGES, 2)]
    gap = np.concatenate([similarity_gap(images, *pair) for pair in pairs])
    assert estimates.one("similarity gap", images="matched").value == pytest.approx(gap.mean())
    for vectors, unit in (("raw", False), ("unit", True)):
        ratio = np.concatenate([fairness_ratio(images, *pair, unit=unit) for pair in pairs])
        keys = {"images": "matched", "vectors": vectors}
        assert estimates.one("alpha-hat", **keys).value == pytest.approx(ratio.max())
        assert estimates.one("ratio", **keys).value == pytest.approx(ratio.mean())
        for name, share in (("50%", 0.5), ("90%", 0.9), ("99%", 0.99)):
            row = estimates.one("ratio", **keys, quantile=name)
            assert row.value == pytest.approx(np.quantile(ratio, share))
    gap = similarity_gap(images, texts["en"], texts["mi"])
    row = estimates.one("similarity gap", images="matched", language="en", other="mi")
    assert row.value == pytest.approx(gap.mean())
    assert row.high - row.value == pytest.approx(1.96 * gap.std(ddof=1) / np.sqrt(40), rel=1e-3)
    distance = estimates.one("text distance", images="matched", language="en", other="mi").value
    assert distance == pytest.approx(text_distance(texts["en"], texts["mi"]).mean())
    chord = estimates.one("chord", images="matched", language="en", other="mi").value
    assert chord == pytest.approx(text_distance(texts["en"], texts["mi"], unit=True).mean())


def test_the_relative_gap_is_the_gap_over_the_margin_and_its_interval_varies_both(world):
    _, estimates, _ = audited(world)
    gap, margin = estimates.one("similarity gap", images="matched"), estimates.one("margin")
    relative = estimates.one("relative gap")
    assert relative.value == pytest.approx(gap.value / margin.value)
    assert (relative.n, margin.n) == (40, 40)
    fixed = (gap.high - gap.low) / margin.value
    assert abs(relative.high - relative.low - fixed) > 0.01 * fixed


def test_the_margin_is_over_all_wrong_images(world):
    _, estimates, _ = audited(world)
    images, texts = np.load(world / "images.npy").astype(float), vectors_by_language(world)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    margins = []
    for vectors in texts.values():
        cosines = vectors @ images.T / np.linalg.norm(vectors, axis=1, keepdims=True)
        wrong = (cosines.sum(axis=1) - np.diag(cosines)) / (len(images) - 1)
        margins.append(np.diag(cosines) - wrong)
    assert estimates.one("margin").value == pytest.approx(np.mean(margins), rel=1e-5)


def test_the_margin_does_not_depend_on_the_seed_or_the_order_of_images(tmp_path):
    folder = write_world(tmp_path / "a")
    before = [audited(folder, seed=seed)[1].one("margin").value for seed in (0, 1)]
    images, vectors = pl.read_csv(folder / "images.csv"), np.load(folder / "images.npy")
    order = np.random.default_rng(3).permutation(len(images))
    images[order].write_csv(folder / "images.csv")
    np.save(folder / "images.npy", vectors[order])
    assert audited(folder)[1].one("margin").value == pytest.approx(before[0])
    assert before[0] == before[1]


def test_a_margin_that_is_not_above_0_makes_the_relative_gap_infinite():
    means = np.array([[0.2, 0.4], [0.2, 0.0], [0.2, -0.2]])
    assert over_margin(means).tolist() == pytest.approx([0.5, np.inf, np.inf])
    assert RELATIVE_GAP.slopes(means[0]) == pytest.approx([1 / 0.4, -0.2 / 0.4**2])


def test_where_the_margin_may_be_0_nothing_is_over_it_and_all_else_is_measured(world):
    np.save(world / "images.npy", -np.load(world / "images.npy"))
    _, estimates, _ = audited(world)
    assert estimates.one("margin").high < 0
    assert not any(metric.startswith("relative") for metric in estimates.table["metric"])
    assert estimates.one("similarity gap", images="matched").value > 0
    assert estimates.one("text distance", images="matched").value > 0
    assert estimates.one("shift", language="en").p is not None
    assert not estimates.table["value"].is_nan().any()


def test_few_replicates_do_not_keep_many_tests_from_rejecting():
    similarities = np.random.default_rng(0).normal(0.5, 0.05, size=(1, 4, 60))
    similarities[0, 3] -= 0.3
    estimates, verdict = judged(similarities, replicates=100)
    assert estimates.one("shift", language="sw").p_holm == pytest.approx(4 / 801)
    assert estimates.one("relative shift", language="sw").p_holm < 1e-6
    assert verdict.finding == "biased"


def test_shifts_are_of_the_captions_of_the_same_images():
    # English .6, German .4, and Maori .5 of the first 40 of 80 images alone; Swahili captions nothing.
    similarities = np.full((1, 4, 80), np.nan)
    similarities[0, 0], similarities[0, 1], similarities[0, 2, :40] = 0.4, 0.6, 0.5
    estimates, _ = judged(similarities)
    shifts = {row.quantity.keys["language"]: row for row in estimates.by("language", "shift")}
    assert {code: round(row.value, 6) for code, row in shifts.items()} == {"de": -0.175, "en": 0.175, "mi": 0}
    assert [shifts[code].n for code in ("de", "en", "mi")] == [80, 80, 40]
    assert shifts["de"].p_holm < 0.01
    assert shifts["mi"].p_holm > 0.05


def test_the_gap_beyond_paraphrase_is_that_of_captions_in_different_slots():
    # Of each image: English .6 and .5, German .4 and .3. In one language .1; in two |.6 - .3| and |.5 - .4|.
    similarities = np.full((2, 4, 40), np.nan)
    similarities[:, 0] = [[0.4], [0.3]]
    similarities[:, 1] = [[0.6], [0.5]]
    estimates, _ = judged(similarities)
    assert estimates.one("same-language gap").value == pytest.approx(0.1, abs=1e-6)
    assert estimates.one("same-language gap", language="en").value == pytest.approx(0.1, abs=1e-6)
    beyond = estimates.one("gap beyond paraphrase")
    assert beyond.value == pytest.approx(0.2 - 0.1, abs=1e-6)
    assert beyond.p_holm < 0.01
    relative = estimates.one("relative gap beyond paraphrase").value
    assert relative == pytest.approx(beyond.value / estimates.one("margin").value)


def test_a_language_with_one_caption_takes_no_part_beyond_paraphrase():
    similarities = np.full((2, 4, 40), np.nan)
    similarities[0, :3] = 0.5
    similarities[1, 0] = 0.4
    estimates, _ = judged(similarities)
    assert [row.quantity.keys["language"] for row in estimates.by("language", "same-language gap")] == ["de"]
    assert estimates.maybe("gap beyond paraphrase") is None


def test_observations_that_break_the_bound_are_refused(world):
    observed, _, options = audited(world)
    for table in ("pairs", "languages", "pairings"):
        broken = observed[table].with_columns(
            gap=pl.when(pl.int_range(pl.len()) == 3).then(pl.col("chord") * 1.001).otherwise("gap")
        )
        with pytest.raises(InputError, match=rf"table '{table}': the similarity gap .* no vectors do that"):
            steps.measured(INDIVIDUAL, Observations({**observed.tables, table: broken}), options)


def test_texts_of_equal_vectors_alone_have_no_ratio(tmp_path):
    folder = write_world(tmp_path / "w")
    texts = vectors_by_language(folder)["en"]
    np.save(folder / "texts.npy", np.repeat(texts, len(LANGUAGES), axis=0))
    _, estimates, _ = audited(folder)
    assert estimates.one("relative gap").value == 0
    assert not {"ratio", "alpha-hat"} & set(estimates.table["metric"])


def test_every_estimate_has_an_interval_around_it_and_an_n(world):
    _, estimates, _ = audited(world)
    table = estimates.table
    assert (table["low"] <= table["value"] + 1e-12).all()
    assert (table["high"] >= table["value"] - 1e-12).all()
    assert (table["n"] > 0).all()


def test_the_order_of_images_does_not_matter(tmp_path):
    folder = write_world(tmp_path / "a")
    _, before, _ = audited(folder)
    images, vectors = pl.read_csv(folder / "images.csv"), np.load(folder / "images.npy")
    order = np.random.default_rng(3).permutation(len(images))
    images[order].write_csv(folder / "images.csv")
    np.save(folder / "images.npy", vectors[order])
    _, after, _ = audited(folder)
    for metric in ("similarity gap", "chord", "text distance", "similarity"):
        value = before.one(metric, images="matched").value
        assert after.one(metric, images="matched").value == pytest.approx(value)
    keys = {"images": "matched", "vectors": "raw"}
    assert after.one("alpha-hat", **keys).value == pytest.approx(before.one("alpha-hat", **keys).value)


def test_longer_vectors_change_what_is_of_raw_vectors_alone(tmp_path):
    folder = write_world(tmp_path / "a")
    _, before, _ = audited(folder)
    np.save(folder / "texts.npy", 3 * np.load(folder / "texts.npy"))
    np.save(folder / "images.npy", 0.5 * np.load(folder / "images.npy"))
    _, after, _ = audited(folder)
    unit, raw = ({"images": "matched", "vectors": vectors} for vectors in ("unit", "raw"))
    assert after.one("alpha-hat", **unit).value == pytest.approx(before.one("alpha-hat", **unit).value)
    assert after.one("relative gap").value == pytest.approx(before.one("relative gap").value)
    assert after.one("alpha-hat", **raw).value == pytest.approx(before.one("alpha-hat", **raw).value / 3)
