"""Pairs of captions as they are observed: which there are, what they add up to, which are kept."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from equiview.audits.individual import INDIVIDUAL, SCHEMAS
from equiview.audits.individual.pairs import blocks_of
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.parallel import captions_of
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import Encoder
from tests.audits.individual.worlds import audited, several, with_equal_german
from tests.conftest import LANGUAGES, write_world


def test_observations_satisfy_their_schemas(world):
    observed, _, _ = audited(world)
    assert set(observed.tables) == set(SCHEMAS)
    for name, schema in SCHEMAS.items():
        schema.check(observed[name], name)
    assert len(observed["languages"]) == 2 * 40 * 4
    assert len(observed["captions"]) == 40 * 4
    assert len(observed["pairings"]) == 2 * 6
    assert len(observed["pairs"]) == 2 * 40 * 6


def test_every_pair_respects_its_bound(world):
    observed, estimates, _ = audited(world)
    pairs = observed["pairs"]
    assert (pairs["gap"] <= pairs["chord"]).all()
    assert (pairs["gap"] / pairs["distance"] <= 2 / (pairs["length"] + pairs["other_length"]) + 1e-12).all()
    for kind in ("matched", "shuffled"):
        for vectors in ("raw", "unit"):
            alpha = estimates.one("alpha-hat", images=kind, vectors=vectors).value
            assert alpha <= estimates.one("alpha bound", vectors=vectors).value


def test_a_wrong_image_is_another_one_and_each_is_wrong_once(world):
    observed, _, _ = audited(world)
    images = np.load(world / "images.npy")
    texts, vectors = pl.read_csv(world / "texts.csv"), np.load(world / "texts.npy")
    english = vectors[texts["language"].eq("en").to_numpy()]
    unit = [
        v / np.linalg.norm(v, axis=1, keepdims=True) for v in (images.astype(float), english.astype(float))
    ]
    cosines = unit[1] @ unit[0].T
    rows = observed["languages"].filter(images="shuffled", language="en")
    order = [int(name[1:]) for name in rows["query_id"]]
    wrong = [
        int(np.abs(cosines[at] - value).argmin()) for at, value in zip(order, rows["similarity"], strict=True)
    ]
    assert sorted(wrong) == list(range(40))
    assert all(at != other for at, other in zip(order, wrong, strict=True))


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
    assert estimates.one("alpha-hat", images="matched", vectors="raw").n == 720


def test_a_sample_is_drawn_by_seed_and_leaves_the_sums_whole(tmp_path):
    folder = write_world(tmp_path / "w", images=100)
    whole, few = (audited(folder, sample=size) for size in (20_000, 150))
    assert len(few[0]["pairs"]) == 300
    assert few[0]["pairs"].equals(audited(folder, sample=150)[0]["pairs"])
    assert not few[0]["pairs"].equals(audited(folder, sample=150, seed=1)[0]["pairs"])
    keys = ["query_id", "language", "other", "images"]
    assert len(few[0]["pairs"].join(whole[0]["pairs"], on=[*keys, "text", "other_text", "gap"])) == 300
    for name in ("languages", "pairings"):
        assert whole[0][name].equals(few[0][name])
    same = pl.col("metric").is_in(["alpha-hat", "similarity gap", "relative gap"])
    assert whole[1].table.filter(same).equals(few[1].table.filter(same))


def test_blocks_of_images_do_not_change_anything(world, monkeypatch):
    observed, _, _ = audited(world)
    monkeypatch.setattr("equiview.audits.individual.pairs.BLOCK_BYTES", 16 * 8 * 4 * 7)
    assert [block.stop for block in blocks_of(40, 4, 8)] == [7, 14, 21, 28, 35, 40]
    blocks, _, _ = audited(world)
    for name in ("languages", "pairings", "captions"):
        assert_frame_equal(observed[name], blocks[name])
    key = ["images", "language", "other", "query_id"]
    assert_frame_equal(observed["pairs"].sort(key), blocks["pairs"].sort(key))


def test_captions_with_the_same_vector_are_counted_and_not_divided_by(tmp_path):
    observed, estimates, _ = audited(with_equal_german(tmp_path / "w"))
    row = observed["pairings"].filter(language="de", other="en", images="matched").row(0, named=True)
    assert (row["pairs"], row["equal"], row["gap"], row["ratio"]) == (40, 40, 0.0, None)
    assert estimates.one("alpha-hat", images="matched", vectors="unit").n == 200


def test_captions_missing_in_a_language_are_left_out(tmp_path):
    folder = write_world(tmp_path / "w")
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = ~((texts["language"] == "mi") & texts["image_id"].is_in(["i0", "i1"])).to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    _, estimates, _ = audited(folder)
    assert estimates.one("similarity gap", images="matched", language="mi").n == 38
    assert estimates.one("similarity gap", images="matched").n == 40


def test_what_cannot_be_compared_is_said(world):
    with pytest.raises(InputError, match="has no text in xx; it has de, en, mi, sw"):
        audited(world, languages=["en", "xx"])
    with pytest.raises(InputError, match="takes two or more"):
        audited(world, languages=["en"])


def test_images_each_captioned_in_one_language_cannot_be_compared(world):
    texts, vectors = pl.read_csv(world / "texts.csv"), np.load(world / "texts.npy")
    keep = [row % 4 == row // 4 % 2 for row in range(len(texts))]  # English alone, then German alone, in turn
    texts.filter(keep).write_csv(world / "texts.csv")
    np.save(world / "texts.npy", vectors[keep])
    with pytest.raises(
        InputError, match=r"no image of benchmark .* has captions in two languages, of de, en"
    ):
        audited(world)


def test_a_sample_that_draws_no_pair_says_what_to_do(tmp_path):
    folder = write_world(tmp_path / "w", images=2000)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = [row % 4 == 0 or row == 1 for row in range(len(texts))]
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    with pytest.raises(InputError, match=r"increase the setting individual\.sample"):
        audited(folder, sample=100)


class Tokens(Encoder):
    """Two vectors an item."""

    similarity = "maxsim"

    def encode_images(self, images):
        return TokenVectors.of([np.eye(2)] * len(images))

    def encode_texts(self, texts):
        return TokenVectors.of([np.eye(2)] * len(texts))

    def embed(self, items, progress=silent):
        return self.encode_texts(range(len(items)))


def test_an_encoder_with_a_vector_a_token_is_refused(world):
    with pytest.raises(InputError, match="one for each token"):
        INDIVIDUAL.observe(Tokens(), load_benchmark(f"folder:{world}"), INDIVIDUAL.configure({}), silent)
