"""The embedded encoders: small, repeatable, the same in any batch, and as good and as skewed as intended."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image

from equiview.benchmarks.pictograms import drawings, names, pictograms
from equiview.data.languages import languages
from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.pictogram import BUCKETS, NAMES, Pictogram, padded, text_features

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


def test_the_models_are_small_and_their_card_lies_beside_them():
    assert len((MODELS / "MODEL_CARD.md").read_text("utf-8")) > 500
    assert sum(len(path.read_bytes()) for path in MODELS.iterdir()) < 8e6


def test_it_says_which_versions_its_vectors_depend_on():
    assert set(Pictogram("skewed").versions) == {"onnxruntime", "pillow"}
    assert Pictogram("skewed").parent is None


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
