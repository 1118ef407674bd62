"""Accuracies, gaps and spreads of languages, against numbers that can be checked by eye or elsewhere."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.judging import shows_bias
from equiview.audits.parity import PARITY
from equiview.audits.parity.spread import spread_headline
from equiview.data.metric import quantity
from equiview.studies.differences import difference
from tests.audits import steps
from tests.audits.parity.worlds import PROMPTS, of_world, ranked
from tests.conftest import LANGUAGES, write_world

RANKS = {
    "en": {"a": 1, "b": 1, "c": 2},
    "de": {"a": 2, "b": 1, "c": 9},
    "sw": {"a": 6, "b": 3, "c": 1},
    "mi": {"a": 1, "b": 9, "c": 12},
}
"""The rank of the correct caption of three images: English and German are of tier high, the others low."""


def several(folder, slots=3):
    """A world in which every image has `slots` captions a language."""
    write_world(folder)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    slots_of_texts = [texts.with_columns(pl.col("id") + f"-{slot}") for slot in range(slots)]
    pl.concat(slots_of_texts).write_csv(folder / "texts.csv")
    noise = np.random.default_rng(9).normal(size=(slots, *vectors.shape))
    np.save(folder / "texts.npy", np.concatenate([vectors + 0.1 * s for s in noise]).astype(np.float32))
    return folder


@pytest.mark.parametrize(
    ("k", "keys", "by_image"),
    [
        (1, {}, [1 / 2, 1 / 2, 1 / 4]),
        (3, {}, [3 / 4, 3 / 4, 1 / 2]),
        (10, {}, [1, 1, 3 / 4]),
        (1, {"tier": "high"}, [1 / 2, 1, 0]),
        (3, {"tier": "high"}, [1, 1, 1 / 2]),
        (10, {"tier": "high"}, [1, 1, 1]),
        (1, {"tier": "low"}, [1 / 2, 0, 1 / 2]),
        (3, {"tier": "low"}, [1 / 2, 1 / 2, 1 / 2]),
        (10, {"tier": "low"}, [1, 1, 1 / 2]),
        (1, {"language": "de"}, [0, 1, 0]),
        (3, {"language": "de"}, [1, 1, 0]),
        (10, {"language": "mi"}, [1, 1, 0]),
    ],
)
def test_values_by_tier_and_by_cutoff(k, keys, by_image):
    settings = PARITY.configure({"cutoffs": [3, 10, 20]})
    values = steps.valued(PARITY, ranked(RANKS), settings)
    assert values.rows["query_id"].to_list() == ["a", "b", "c"]
    assert values.at(quantity("R", k, task="image-to-text", **keys))[:, 0].tolist() == by_image
    estimates = steps.measured(PARITY, ranked(RANKS), settings)
    row = estimates.one("R", k, task="image-to-text", **keys)
    assert row.value == pytest.approx(sum(by_image) / 3)
    assert row.chance == pytest.approx(k / 12)
    assert row.n == 3


def test_values_are_of_what_there_is():
    values = steps.valued(PARITY, ranked(RANKS), PARITY.configure({"cutoffs": [3, 10, 20]}))
    assert {entry.k for entry in values.quantities if entry.metric == "R"} == {1, 3, 10}  # 12 candidates
    assert {entry.keys["tier"] for entry in values.quantities if "tier" in entry.keys} == {"high", "low"}
    gap = values.at(quantity("gap to pivot", task="image-to-text"))[:, 0]
    assert gap == pytest.approx([1 - 1 / 3, 1 - 1 / 3, 0 - 1 / 3])


def test_an_image_that_is_not_asked_about_in_a_language_is_left_out_of_it():
    ranks = {"en": {"a": 1, "b": 2}, "sw": {"b": 1, "c": 1}, "mi": {"b": 2, "c": 1}}
    values = steps.valued(PARITY, ranked(ranks), PARITY.configure({}))
    low = values.at(quantity("R", 1, task="image-to-text", tier="low"))[:, 0]
    assert np.isnan(low[0])
    assert low[1:].tolist() == [1 / 2, 1]
    assert values.mean("R", 1, task="image-to-text") == pytest.approx((1 + 1 / 3 + 1) / 3)


def test_matching_is_that_of_scikit_learn(world):
    from sklearn.metrics import top_k_accuracy_score

    _, estimates, _ = of_world(world)
    texts, vectors = pl.read_csv(world / "texts.csv"), np.load(world / "texts.npy")
    images = np.load(world / "images.npy")
    for code in LANGUAGES:
        captions = vectors[texts["language"].eq(code).to_numpy()]
        cosine = (images / np.linalg.norm(images, axis=1, keepdims=True)) @ (
            captions / np.linalg.norm(captions, axis=1, keepdims=True)
        ).T
        for task, scores in (("image-to-text", cosine), ("text-to-image", cosine.T)):
            for k in (1, 5, 10):
                row = estimates.one("R", k, task=task, language=code)
                expected = top_k_accuracy_score(np.arange(40), scores, k=k)
                assert row.value == pytest.approx(expected)
                assert row.chance == pytest.approx(k / 40)
                assert row.n == 40


def test_classification_is_that_of_scikit_learn(harmed):
    from sklearn.metrics import accuracy_score

    observed, estimates, _ = harmed
    for task in ("gender", "race", "age"):
        for code in ("en", "tr"):
            predictions = observed["predictions"].filter(task=task, language=code)
            accuracy = estimates.one("accuracy", task=task, language=code)
            assert accuracy.value == pytest.approx(
                accuracy_score(predictions["truth"], predictions["predicted"])
            )
            assert accuracy.chance == pytest.approx(1 / len(PROMPTS[task].values))
            photo = predictions.filter(paraphrase="photo")
            wording = estimates.one("accuracy", task=task, language=code, paraphrase="photo")
            assert wording.value == pytest.approx(accuracy_score(photo["truth"], photo["predicted"]))


def test_gaps_of_all_pairs_are_the_differences_of_accuracies(tmp_path):
    _, estimates, _ = of_world(write_world(tmp_path / "w", skew=3.0, images=80), pivot="de")
    accuracy = {code: estimates.one("R", 1, task="image-to-text", language=code).value for code in LANGUAGES}
    gaps = estimates.by(("language", "other"), "gap", task="image-to-text")
    assert len(gaps) == 6
    for row in gaps:
        keys = row.quantity.keys
        assert row.value == pytest.approx(accuracy[keys["language"]] - accuracy[keys["other"]])
    for code in ("en", "sw", "mi"):
        row = estimates.one("gap to pivot", task="image-to-text", language=code, other="de")
        assert row.value == pytest.approx(accuracy["de"] - accuracy[code])
        assert 0 < row.p <= row.p_holm <= 1
    mean = estimates.one("gap to pivot", task="image-to-text").value
    assert mean == pytest.approx(accuracy["de"] - np.mean([accuracy[code] for code in ("en", "sw", "mi")]))
    spread = estimates.one("range over languages", task="image-to-text")
    assert spread.value == pytest.approx(max(accuracy.values()) - min(accuracy.values()))
    assert 0 < spread.chance < spread.value


def test_pools_have_one_size(tmp_path):
    ranks = {"en": dict.fromkeys("abcdefgh", 2), "de": dict.fromkeys("abcd", 2)}
    settings = PARITY.configure({"least": 2})
    estimates = steps.measured(PARITY, ranked(ranks, candidates={"en": 8, "de": 4}), settings)
    # Of 7 other candidates 3 are drawn: the one that is better is not among them with a chance of 4 / 7.
    assert estimates.one("R", 1, task="image-to-text", language="en").value == pytest.approx(4 / 7)
    assert estimates.one("R", 1, task="image-to-text", language="en").chance == 1 / 4
    assert estimates.one("R", 1, task="image-to-text", language="de").value == 0


def test_languages_are_compared_on_the_images_that_they_share():
    ranks = {
        "en": {"a": 1, "b": 1, "c": 2, "d": 2},
        "de": {"c": 2, "d": 1},
        "sw": {"a": 1, "b": 2},
        "mi": {"e": 1},
    }
    settings = PARITY.configure({"least": 2})
    estimates = steps.measured(PARITY, ranked(ranks, candidates=4), settings)
    gaps = {
        row.quantity.keys["language"]: row
        for row in estimates.by(("language", "other"), "gap to pivot", task="image-to-text")
    }
    assert {name: (row.value, row.n) for name, row in gaps.items()} == {"de": (-0.5, 2), "sw": (0.5, 2)}
    pairs = [
        (row.quantity.keys["language"], row.quantity.keys["other"])
        for row in estimates.by(("language", "other"), "gap", task="image-to-text")
    ]
    assert pairs == [("de", "en"), ("en", "sw")]


def test_p_of_a_gap_is_of_its_exceeding_the_tolerance():
    hits = {code: {f"i{at}": 1 if at < right else 2 for at in range(400)} for code, right in ENDS.items()}
    estimates = steps.measured(PARITY, ranked(hits, candidates=400), PARITY.configure({}))
    keys = {"task": "image-to-text", "other": "en"}
    rows = {code: estimates.one("gap to pivot", language=code, **keys) for code in ("de", "sw", "mi")}
    assert rows["de"].p > 0.8  # 4 points, and surely not 0
    assert rows["de"].low > 0
    assert 0.4 < rows["sw"].p < 0.6  # 5 points are the tolerance
    assert rows["mi"].p_holm < 0.001
    assert [shows_bias(rows[code], 0.05) for code in ("de", "sw", "mi")] == [False, False, True]


ENDS = {"en": 400, "de": 384, "sw": 380, "mi": 320}


def test_accuracies_of_0_and_1_have_intervals_of_some_width():
    hits = {"en": {f"i{at}": 1 for at in range(50)}, "sw": {f"i{at}": 2 for at in range(50)}}
    estimates = steps.measured(PARITY, ranked(hits, candidates=50), PARITY.configure({}))
    english, swahili = (estimates.one("R", 1, task="image-to-text", language=code) for code in ("en", "sw"))
    assert (round(english.low, 3), english.high) == (0.929, 1)
    assert (swahili.low, round(swahili.high, 3)) == (0, 0.071)
    gap = estimates.one("gap to pivot", task="image-to-text", language="sw", other="en")
    assert (gap.value, gap.high) == (1, 1)
    assert 0.88 < gap.low < 0.95


def test_two_systems_are_compared_by_spread():
    rng = np.random.default_rng(0)
    settings = PARITY.configure({})
    tables = []
    for level in ((0.8, 0.8, 0.8), (0.8, 0.8, 0.8), (0.9, 0.8, 0.6)):
        hits = {
            code: {f"i{at}": 1 + int(rng.uniform() > share) for at in range(300)}
            for code, share in zip(("en", "de", "sw"), level, strict=True)
        }
        tables.append(steps.valued(PARITY, ranked(hits, candidates=300), settings))
    task, found = "image-to-text", {}
    for spread in ("range", "sd", "Gini"):
        headline = spread_headline(spread, task)
        alike, apart = (difference(headline, tables[0], b, replicates=1000, seed=0) for b in tables[1:])
        assert alike["p"] > 0.05
        assert alike["n"] == 300
        assert apart["p"] < 0.01
        assert apart["low"] is None
        found[spread] = apart
    correct = [table.at(*spread_headline("range", task).columns(table)) for table in tables]
    ranges = [float(np.ptp(table.mean(axis=0))) for table in correct]
    assert (found["range"]["value_a"], found["range"]["value_b"]) == (ranges[0], ranges[2])
    assert spread_headline("range", "gender").columns(tables[0], tables[1]) == ()


def test_every_estimate_has_an_interval_around_it_and_an_n(world, harmed):
    for estimates in (of_world(world)[1], harmed[1]):
        table = estimates.table
        assert (table["low"] <= table["value"] + 1e-12).all()
        assert (table["high"] >= table["value"] - 1e-12).all()
        assert (table["n"] > 0).all()


def test_the_order_of_images_does_not_matter(tmp_path):
    folder = write_world(tmp_path / "a", skew=3.0)
    before = of_world(folder)[1]
    images, vectors = pl.read_csv(folder / "images.csv"), np.load(folder / "images.npy")
    order = np.random.default_rng(3).permutation(len(images))
    images[order].write_csv(folder / "images.csv")
    np.save(folder / "images.npy", vectors[order])
    after = of_world(folder)[1]
    for code in LANGUAGES:
        for task in ("image-to-text", "text-to-image"):
            rows = [estimates.one("R", 1, task=task, language=code).value for estimates in (before, after)]
            assert rows[0] == rows[1]


def test_captions_of_several_rounds_are_averaged_within_the_image(tmp_path):
    folder = several(tmp_path / "w", slots=3)
    observed, estimates, _ = of_world(folder)
    assert observed["matches"]["round"].unique().to_list() == [1, 2, 3]
    row = estimates.one("R", 1, task="image-to-text", language="sw")
    hits = observed["matches"].filter(direction="image-to-text", language="sw")["rank"] == 1
    assert row.value == pytest.approx(hits.mean())
    assert row.n == 40
    first = of_world(folder, captions="first")[0]["matches"]
    assert first.equals(observed["matches"].filter(round=1))


def test_images_that_a_language_lacks_are_left_out_or_its_own(tmp_path):
    folder = write_world(tmp_path / "w", images=60)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = ~((texts["language"] == "mi") & (texts["image_id"].str.slice(1).cast(pl.Int64) < 20)).to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    _, common, _ = of_world(folder)
    _, separate, _ = of_world(folder, common=False)
    for estimates, n in ((common, 40), (separate, 60)):
        assert estimates.one("R", 1, task="image-to-text", language="en").n == n
        assert estimates.one("R", 1, task="image-to-text", language="mi").n == 40


def test_p_values_of_all_tasks_are_corrected_together(world):
    _, estimates, _ = of_world(world)
    rows = [
        row
        for task in ("image-to-text", "text-to-image")
        for row in estimates.by(("language", "other"), "gap to pivot", task=task)
    ]
    assert len(rows) == 6
    assert {row.judged for row in rows} == {True}
    smallest = min(rows, key=lambda row: row.p)
    assert smallest.p_holm == pytest.approx(min(1, 6 * smallest.p))
