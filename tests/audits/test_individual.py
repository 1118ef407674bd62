"""The individual audit, from vectors to words, on worlds whose bias is known because we made it."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from equiview.audits._captions import captions_of
from equiview.audits.execute import execute
from equiview.audits.individual import INDIVIDUAL, SCHEMAS
from equiview.benchmarks import load_benchmark
from equiview.data.observations import Observations
from equiview.data.progress import silent
from equiview.errors import InputError
from equiview.metrics import fairness_ratio, similarity_gap, text_distance
from equiview.subjects import load_subject
from tests.conftest import LANGUAGES, write_world


def audited(folder, **settings):
    options = INDIVIDUAL.configure({"replicates": 500, **settings})
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    observed = INDIVIDUAL.observe(subject, benchmark, options, silent)
    return observed, INDIVIDUAL.measure(observed, options), options


def several(folder, slots=3, **world):
    """A world in which every image has `slots` captions a language, later ones longer in German alone."""
    write_world(folder, **world)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    parts = []
    for slot in range(slots):
        more = pl.when(pl.col("language") == "de").then(pl.lit("x" * 9 * slot)).otherwise(pl.lit(""))
        parts.append(texts.with_columns(pl.col("id") + f"-{slot}", pl.col("text") + more))
    pl.concat(parts).write_csv(folder / "texts.csv")
    noise = np.random.default_rng(9).normal(size=(slots, *vectors.shape))
    np.save(folder / "texts.npy", np.concatenate([vectors + 0.1 * s for s in noise]).astype(np.float32))
    return folder


def vectors_by_language(folder):
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    return {code: vectors[(texts["language"] == code).to_numpy()] for code in LANGUAGES}


def test_observations_satisfy_their_schemas(world):
    observed, _, _ = audited(world)
    for name, schema in SCHEMAS.items():
        schema.check(observed[name], name)
    assert len(observed["languages"]) == 2 * 40 * 4
    assert len(observed["pairings"]) == 2 * 6
    assert len(observed["pairs"]) == 2 * 40 * 6


def test_numbers_are_those_of_the_metrics_on_whole_arrays(world):
    _, estimates, _ = audited(world)
    images, texts = np.load(world / "images.npy"), vectors_by_language(world)
    pairs = [(texts[a], texts[b]) for a, b in combinations(LANGUAGES, 2)]
    gap = np.concatenate([similarity_gap(images, *pair) for pair in pairs])
    assert estimates.one("similarity gap", images="matched")["value"] == pytest.approx(gap.mean())
    for vectors, unit in (("raw", False), ("unit", True)):
        ratio = np.concatenate([fairness_ratio(images, *pair, unit=unit) for pair in pairs])
        keys = {"images": "matched", "vectors": vectors}
        assert estimates.one("alpha-hat", **keys)["value"] == pytest.approx(ratio.max())
        assert estimates.one("ratio", **keys)["value"] == pytest.approx(ratio.mean())
        assert estimates.one("ratio p90", **keys)["value"] == pytest.approx(np.quantile(ratio, 0.9))
    own = similarity_gap(images, texts["en"], texts["mi"])
    row = estimates.one("similarity gap", images="matched", language="en", other="mi")
    assert row["value"] == pytest.approx(own.mean())
    assert row["high"] - row["value"] == pytest.approx(1.96 * own.std(ddof=1) / np.sqrt(40), rel=1e-3)
    chord = estimates.one("chord", images="matched", language="en", other="mi")["value"]
    assert chord == pytest.approx(text_distance(texts["en"], texts["mi"], unit=True).mean())


def test_every_pair_respects_its_bound(world):
    observed, estimates, _ = audited(world)
    pairs = observed["pairs"]
    assert (pairs["gap"] <= pairs["chord"]).all()
    assert (pairs["gap"] / pairs["distance"] <= 2 / (pairs["length"] + pairs["other_length"]) + 1e-12).all()
    for which in ("matched", "shuffled"):
        for vectors in ("raw", "unit"):
            alpha = estimates.one("alpha-hat", images=which, vectors=vectors)["value"]
            assert alpha <= estimates.one("alpha bound", vectors=vectors)["value"]


def test_observations_that_break_the_bound_are_refused(world):
    observed, _, options = audited(world)
    for table in ("pairs", "languages", "pairings"):
        broken = observed[table].with_columns(
            gap=pl.when(pl.int_range(pl.len()) == 3).then(pl.col("chord") * 1.001).otherwise("gap")
        )
        tables = {**observed.tables, table: broken}
        with pytest.raises(
            InputError, match=rf"individual\.{table}: the similarity gap .* no vectors do that"
        ):
            INDIVIDUAL.measure(Observations("individual", tables), options)


def test_more_skew_is_more_measured_bias(tmp_path):
    found = []
    for skew in (0.0, 1.0, 4.0):
        _, estimates, options = audited(write_world(tmp_path / str(skew), skew=skew, images=100))
        found.append((estimates.one("relative gap")["value"], INDIVIDUAL.judge(estimates, options)))
    values = [value for value, _ in found]
    assert values == sorted(values)
    assert [found[0][1].finding, found[-1][1].finding] == ["fair", "biased"]
    assert found[-1][1].answer.startswith("No:")


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
        keys = {"images": "matched"}
        assert after.one(metric, **keys)["value"] == pytest.approx(before.one(metric, **keys)["value"])
    keys = {"images": "matched", "vectors": "raw"}
    assert after.one("alpha-hat", **keys)["value"] == pytest.approx(before.one("alpha-hat", **keys)["value"])


def test_longer_vectors_change_what_is_of_raw_vectors_alone(tmp_path):
    folder = write_world(tmp_path / "a")
    _, before, _ = audited(folder)
    np.save(folder / "texts.npy", 3 * np.load(folder / "texts.npy"))
    np.save(folder / "images.npy", 0.5 * np.load(folder / "images.npy"))
    _, after, _ = audited(folder)
    keys = {"images": "matched", "vectors": "unit"}
    assert after.one("alpha-hat", **keys)["value"] == pytest.approx(before.one("alpha-hat", **keys)["value"])
    assert after.one("relative gap")["value"] == pytest.approx(before.one("relative gap")["value"])
    keys["vectors"] = "raw"
    assert after.one("alpha-hat", **keys)["value"] == pytest.approx(
        before.one("alpha-hat", **keys)["value"] / 3
    )


def test_slots_are_averaged_or_chosen(tmp_path):
    folder = several(tmp_path / "w")
    benchmark = load_benchmark(f"folder:{folder}")
    assert captions_of(benchmark, "each").rows.shape == (3, 4, 40)
    texts = benchmark.texts.table
    for choice, slots in (("first", {"de": 0, "en": 0}), ("length", {"de": 1, "en": 0})):
        rows = captions_of(benchmark, choice).rows
        assert rows.shape == (1, 4, 40)
        for code, slot in slots.items():
            ids = texts["id"][rows[0, sorted(LANGUAGES).index(code)]].to_list()
            assert ids == [f"i{image}-{code}-{slot}" for image in range(40)]
    observed, estimates, _ = audited(folder)
    assert observed["pairings"]["pairs"].unique().to_list() == [120]
    assert estimates.one("alpha-hat", images="matched", vectors="raw")["n"] == 720


def test_a_sample_is_drawn_by_seed_and_leaves_the_sums_whole(tmp_path):
    folder = write_world(tmp_path / "w", images=100)
    whole, few = (audited(folder, sample=size) for size in (20_000, 150))
    assert len(few[0]["pairs"]) == 300
    assert few[0]["pairs"].equals(audited(folder, sample=150)[0]["pairs"])
    same = ["alpha-hat", "similarity gap", "relative gap"]
    kept = [one[1].table.filter(pl.col("metric").is_in(same)) for one in (whole, few)]
    assert kept[0].equals(kept[1])


def test_blocks_of_images_do_not_change_anything(world, monkeypatch):
    observed, _, _ = audited(world)
    monkeypatch.setattr("equiview.audits.individual.BLOCK_BYTES", 16 * 8 * 4 * 7)
    blocks, _, _ = audited(world)
    for name in ("languages", "pairings"):
        assert_frame_equal(observed[name], blocks[name])
    key = ["images", "language", "other", "query_id"]
    assert_frame_equal(observed["pairs"].sort(key), blocks["pairs"].sort(key))


def test_captions_with_the_same_vector_are_counted_and_not_divided_by(tmp_path):
    folder = write_world(tmp_path / "w")
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    english, german = (texts["language"].eq(code).to_numpy() for code in ("en", "de"))
    vectors[german] = vectors[english]
    np.save(folder / "texts.npy", vectors)
    observed, estimates, _ = audited(folder)
    row = observed["pairings"].filter(language="de", other="en", images="matched").row(0, named=True)
    assert (row["pairs"], row["equal"], row["gap"], row["ratio"]) == (40, 40, 0.0, None)
    assert estimates.one("alpha-hat", images="matched", vectors="unit")["n"] == 200


def test_captions_missing_in_a_language_are_left_out(tmp_path):
    folder = write_world(tmp_path / "w")
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = ~((texts["language"] == "mi") & texts["image_id"].is_in(["i0", "i1"])).to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    _, estimates, _ = audited(folder)
    assert estimates.one("similarity gap", images="matched", language="mi")["n"] == 38
    assert estimates.one("similarity gap", images="matched")["n"] == 40


def test_what_cannot_be_compared_is_said(world, tmp_path):
    with pytest.raises(InputError, match="has no text in xx; it has de, en, mi, sw"):
        audited(world, languages=["en", "xx"])
    with pytest.raises(InputError, match="takes two or more"):
        audited(world, languages=["en"])
    images = np.load(world / "images.npy")
    np.save(world / "images.npy", -images)
    with pytest.raises(InputError, match="no more similar to their own images"):
        audited(world)


def test_vectors_of_length_1_make_one_figure_of_distances(world, tmp_path):
    def figures(out):
        subject, benchmark = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
        run = execute("s", subject, benchmark, ["individual"], out)
        return [figure.name for figure in run.figures("individual")]

    every = [
        *("gap-by-distance-raw", "gap-by-distance-unit"),
        *("gap-by-pair", "gap-by-language", "similarity-by-language"),
    ]
    assert figures(tmp_path / "raw") == every
    texts = np.load(world / "texts.npy")
    np.save(world / "texts.npy", texts / np.linalg.norm(texts, axis=1, keepdims=True))
    assert figures(tmp_path / "unit") == every[1:]
