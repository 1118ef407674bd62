"""The embedded benchmark and encoders: what ships is whole, licensed, small, repeatable, and good enough."""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.pictograms import (
    FLAG_OF,
    drawings,
    flag_badge,
    flags,
    names,
    nigerian_names,
    pictograms,
    with_flag,
)
from equiview.data.languages import languages
from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.pictogram import BUCKETS, NAMES, Pictogram, padded, text_features

DATA = files("equiview.benchmarks") / "pictogram_data"
MODELS = files("equiview.subjects.encoders") / "pictogram_models"


def recall_at_10(texts, images):
    """Share of rows i whose image i is among the 10 nearest, ties counted against it."""
    scores = texts @ images.T
    return ((scores >= np.diag(scores)[:, None]).sum(axis=1) <= 10).mean()


@cache
def images_of(name):
    return Pictogram(name).embed(pictograms().images)


@cache
def names_of(name, language):
    table = names().filter(language=language)
    assert table["concept"].to_list() == drawings()["concept"].to_list()
    return Pictogram(name).encode_texts(table["text"].to_list())


def test_every_concept_is_named_once_in_each_of_36_languages():
    counts = names().group_by("language").agg(pl.col("concept").n_unique(), pl.len())
    assert set(counts["language"]) == set(languages()["code"])
    assert counts["concept"].unique().to_list() == counts["len"].unique().to_list() == [1280]
    assert names()["text"].str.strip_chars().str.len_chars().min() >= 1


def test_concepts_leave_out_variants():
    concepts = drawings()["concept"]
    assert concepts.n_unique() == 1280
    points = {int(code, 16) for concept in concepts for code in concept.split("-")}
    assert 0xFE0F not in points
    assert 0x20E3 not in points
    assert not points & set(range(0x1F3FB, 0x1F400))
    assert "Flags" not in set(drawings()["group"])


def test_lookalikes_share_a_family():
    family = dict(drawings().select("concept", "family").iter_rows())
    assert len({family[f"{code:x}"] for code in range(0x1F550, 0x1F568)}) == 1, "clock faces"
    assert len({family[f"{code:x}"] for code in range(0x1F311, 0x1F319)}) == 1, "moon phases"
    assert (
        family["1f9d1-200d-1f373" if "1f9d1-200d-1f373" in family else "1f468-200d-1f373"]
        == (family["1f469-200d-1f373"])
    ), "cooks"
    assert family["1f355"] == "1f355"
    assert set(family.values()) <= set(family)


def test_borrowed_marks_names_equal_to_the_english():
    table = names().join(names().filter(language="en").select("concept", english="text"), on="concept")
    same = (table["text"].str.to_lowercase() == table["english"].str.to_lowercase()) & (
        table["language"] != "en"
    )
    assert (same == table["borrowed"]).mean() > 0.9999  # folding knows a few letters more than lower case
    assert 0 < table["borrowed"].sum() < 2000


def test_pictures_open_and_flags_are_there():
    for table in (drawings(), flags()):
        for picture in table["picture"][:: max(1, len(table) // 40)]:
            assert max(Image.open(io.BytesIO(picture)).size) == 96
    assert flags()["country"].to_list() == list(FLAG_OF)
    assert flags()["concept"].to_list() == list(FLAG_OF.values())
    assert set(nigerian_names()["language"]) == {"yo", "ha"}


def test_licences_and_sources_lie_beside_what_they_cover():
    for place, wanted in (
        (DATA, ("LICENSE-Apache-2.0.txt", "LICENSE-Unicode-3.0.txt", "SOURCE.md")),
        (MODELS, ("MODEL_CARD.md",)),
    ):
        for name in wanted:
            assert len((place / name).read_text("utf-8")) > 500, name


def test_what_ships_is_small():
    assert sum(len(path.read_bytes()) for path in DATA.iterdir()) < 6e6
    assert sum(len(path.read_bytes()) for path in MODELS.iterdir()) < 8e6


def test_the_benchmark_has_36_right_names_for_each_drawing():
    loaded = load_benchmark("pictograms")
    assert (len(loaded.images), len(loaded.texts)) == (1280, 46_080)
    assert set(loaded.relevance.counts.tolist()) == {36}
    assert {"concept", "family", "group", "borrowed", "language"} <= set(loaded.texts.table.columns)
    assert "Apache-2.0" in loaded.licence
    assert loaded.fingerprint == pictograms().fingerprint


def test_a_flag_changes_the_corner_and_nothing_else():
    drawing = Image.new("RGB", (96, 96), (10, 200, 30))
    flag = Image.open(io.BytesIO(flags()["picture"][5]))
    shown = np.asarray(with_flag(drawing, flag))
    badge = flag_badge(flag, 96)
    changed = (shown != np.asarray(drawing)).any(axis=2)
    assert changed[96 - badge.height :, 96 - badge.width :].all()
    assert changed.sum() == badge.height * badge.width
    assert (shown[95, 95] == 255).all(), "the frame is white"


def test_features_are_pinned():
    # A change of the hash would silently part the text towers from their tables.
    features, starts = text_features(["Pizza", "比萨饼", ""])
    assert starts.tolist() == [0, 18, 30, 32]
    assert features[:5].tolist() == [23175, 3402, 23521, 23521, 16672]
    assert int(features.max()) < BUCKETS
    assert int(features.min()) > 0


def test_features_do_not_depend_on_neighbours():
    texts = names()["text"].sample(500, seed=1).to_list()
    features, starts = text_features(texts)
    for row in range(0, 500, 25):
        alone, _ = text_features([texts[row]])
        assert features[starts[row] : starts[row + 1]].tolist() == alone.tolist()
    bag = padded(features, starts, np.arange(500))
    assert ((bag > 0).sum(axis=1) == np.diff(starts)).all()


@pytest.mark.parametrize("name", NAMES)
def test_encoders_repeat_themselves_and_ignore_the_batch(name):
    subject = load_subject(f"pictogram:{name}")
    texts = names().sample(300, seed=2)["text"].to_list()
    vectors = subject.encode_texts(texts)
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert subject.encode_texts(texts).tobytes() == vectors.tobytes()
    alone = np.concatenate([subject.encode_texts([text]) for text in texts[:20]])
    assert np.abs(alone - vectors[:20]).max() < 1e-5


def test_the_image_tower_repeats_itself_and_ignores_the_batch():
    subject = Pictogram("skewed")
    pictures = pictograms().images.pictures(range(100))
    vectors = subject.encode_images(pictures)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert subject.encode_images(pictures).tobytes() == vectors.tobytes()
    alone = np.concatenate([subject.encode_images([picture]) for picture in pictures[:10]])
    assert np.abs(alone - vectors[:10]).max() < 1e-5


def test_odd_input_is_encoded_too():
    subject = Pictogram("english")
    vectors = subject.encode_texts(["", " ", "x" * 5000, "🍕", "\ud800"])
    assert np.isfinite(vectors).all()
    assert np.isfinite(subject.encode_images([Image.new("RGB", (7, 300), "red")])).all()


def test_fingerprints_differ_and_unknown_names_are_told():
    assert len({Pictogram(name).fingerprint for name in NAMES}) == 3
    with pytest.raises(InputError, match="pictogram:skewed"):
        load_subject("pictogram:skewd")


@pytest.mark.parametrize("name", NAMES)
def test_english_finds_the_held_out_artists_drawings(name):
    assert recall_at_10(names_of(name, "en"), images_of(name)) >= 0.6


def test_the_aligned_encoder_serves_every_language_alike():
    images = images_of("aligned")
    english = recall_at_10(names_of("aligned", "en"), images)
    found = {code: recall_at_10(names_of("aligned", code), images) for code in languages()["code"]}
    assert min(found.values()) >= english - 0.05, found


def test_the_skewed_encoder_does_not():
    images = images_of("skewed")
    found = [recall_at_10(names_of("skewed", code), images) for code in ("en", "pl", "hi", "mi")]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] + 0.4
