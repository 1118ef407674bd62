"""Numbers from observed pairs, on worlds whose bias is known because we made it."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from equiview.audits.individual import INDIVIDUAL
from equiview.audits.individual.measure import RELATIVE_GAP, over_margin
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.metrics import fairness_ratio, similarity_gap, text_distance
from tests.audits.individual.worlds import audited, vectors_by_language
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
    chord = estimates.one("chord", images="matched", language="en", other="mi").value
    assert chord == pytest.approx(text_distance(texts["en"], texts["mi"], unit=True).mean())


def test_the_relative_gap_is_the_gap_over_the_margin_and_its_interval_varies_both(world):
    _, estimates, _ = audited(world)
    gap, margin = estimates.one("similarity gap", images="matched"), estimates.one("margin")
    right, wrong = (estimates.one("similarity", images=kind) for kind in ("matched", "shuffled"))
    relative = estimates.one("relative gap")
    assert margin.value == pytest.approx(right.value - wrong.value)
    assert relative.value == pytest.approx(gap.value / margin.value)
    assert (relative.n, margin.n) == (40, 40)
    fixed = (gap.high - gap.low) / margin.value
    assert abs(relative.high - relative.low - fixed) > 0.05 * fixed


def test_a_margin_that_is_not_above_0_makes_the_relative_gap_infinite():
    means = np.array([[0.2, 0.5, 0.1], [0.2, 0.1, 0.1], [0.2, 0.1, 0.3]])
    assert over_margin(means).tolist() == pytest.approx([0.5, np.inf, np.inf])
    assert RELATIVE_GAP.slopes(means[0]) == pytest.approx([1 / 0.4, -0.2 / 0.4**2, 0.2 / 0.4**2])


def test_an_encoder_that_hardly_relates_images_and_texts_has_an_open_interval(tmp_path):
    folder = write_world(tmp_path / "w", images=12, seed=3)
    noise = np.random.default_rng(0).normal(size=(48, 8))
    np.save(folder / "texts.npy", (np.load(folder / "texts.npy") + 9 * noise).astype(np.float32))
    _, estimates, _ = audited(folder)
    assert estimates.one("margin").low <= 0 < estimates.one("margin").value
    assert estimates.one("relative gap").high == np.inf


def test_captions_no_nearer_to_their_own_images_are_refused(world):
    np.save(world / "images.npy", -np.load(world / "images.npy"))
    with pytest.raises(InputError, match="no more similar to their own images"):
        audited(world)


def test_observations_that_break_the_bound_are_refused(world):
    observed, _, options = audited(world)
    for table in ("pairs", "languages", "pairings"):
        broken = observed[table].with_columns(
            gap=pl.when(pl.int_range(pl.len()) == 3).then(pl.col("chord") * 1.001).otherwise("gap")
        )
        with pytest.raises(InputError, match=rf"table '{table}': the similarity gap .* no vectors do that"):
            INDIVIDUAL.measure(Observations({**observed.tables, table: broken}), options)


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
