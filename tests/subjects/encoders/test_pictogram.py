"""The embedded encoders: small, repeatable, the same in any batch, and as good and as skewed as intended."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.pictograms import drawings, names, pictograms
from equiview.benchmarks.pictograms_people import neutral_names, people, pictograms_people
from equiview.data.languages import languages
from equiview.errors import InputError
from equiview.metrics import max_skew
from equiview.ours.subjects import PICTOGRAMS
from equiview.subjects import load_subject
from equiview.subjects.encoders import pictogram
from equiview.subjects.encoders.pictogram import BUCKETS, Pictogram, padded, text_features

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
    assert sum(len(path.read_bytes()) for path in MODELS.iterdir()) < 15.5e6


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


@pytest.mark.parametrize("name", PICTOGRAMS)
def test_encoders_repeat_themselves_and_ignore_the_batch(name):
    subject = load_subject(f"pictogram:{name}")
    texts = names().sample(300, seed=2)["text"].to_list()
    vectors = subject.encode_texts(texts)
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert subject.encode_texts(texts).tobytes() == vectors.tobytes()
    alone = np.concatenate([subject.encode_texts([text]) for text in texts[:20]])
    assert alone.tobytes() == vectors[:20].tobytes()


@pytest.mark.parametrize("name", ["skewed", "scenes"])
def test_the_image_tower_repeats_itself_and_ignores_the_batch(name):
    subject = Pictogram(name)
    pictures = pictograms().images.pictures(range(100))
    vectors = subject.encode_images(pictures)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert subject.encode_images(pictures).tobytes() == vectors.tobytes()
    pictogram._seen.cache_clear()
    alone = np.concatenate([subject.encode_images([picture]) for picture in pictures[:10]])
    assert alone.tobytes() == vectors[:10].tobytes()


def test_encoders_of_one_image_tower_share_what_it_saw(monkeypatch):
    pictures = pictograms().images.pictures(range(8))
    first = Pictogram("tied").encode_images([*pictures, pictures[0]])
    assert first[8].tobytes() == first[0].tobytes()
    # Neither the other tower nor a picture that only looks alike in part is taken for a known one.
    scenes = Pictogram("scenes").encode_images(pictures)
    turned = Pictogram("tied").encode_images([picture.rotate(90) for picture in pictures])
    assert (np.abs(turned - first[:8]).max(axis=1) > 0.01).all()
    monkeypatch.setattr(pictogram, "_run", lambda *_: pytest.fail("encoded again"))
    assert Pictogram("english").encode_images(pictures[::-1]).tobytes() == first[7::-1].tobytes()
    assert Pictogram("scenes").encode_images(pictures).tobytes() == scenes.tobytes()


def test_an_image_tower_forgets_the_oldest(monkeypatch):
    pictogram._seen.cache_clear()
    monkeypatch.setattr(pictogram, "REMEMBERED", 5)
    pictures = pictograms().images.pictures(range(8))
    Pictogram("tied").encode_images(pictures)
    assert list(pictogram._seen("image")) == [pictogram._content(picture) for picture in pictures[3:]]


def test_odd_input_is_encoded_too():
    subject = Pictogram("english")
    vectors = subject.encode_texts(["", " ", "x" * 5000, "🍕", "\ud800"])
    assert np.isfinite(vectors).all()
    assert np.isfinite(subject.encode_images([Image.new("RGB", (7, 300), "red")])).all()


def test_fingerprints_differ_and_unknown_names_are_told():
    assert len({Pictogram(name).fingerprint for name in PICTOGRAMS}) == len(PICTOGRAMS)
    with pytest.raises(InputError, match="pictogram:skewed"):
        load_subject("pictogram:skewd")


@pytest.mark.parametrize("name", [name for name in PICTOGRAMS if name != "scenes"])
def test_english_finds_the_held_out_artists_drawings(name):
    assert recall_at_10(names_of(name, "en"), images_of(name)) >= 0.6


def test_the_aligned_encoder_serves_every_language_alike():
    images = images_of("aligned")
    english = recall_at_10(names_of("aligned", "en"), images)
    found = {code: recall_at_10(names_of("aligned", code), images) for code in languages()["code"]}
    assert min(found.values()) >= english - 0.05, found


@cache
def people_images():
    return Pictogram("untied").embed(pictograms_people().images)


def neutral(name, language):
    """Row i is role i's neutral name in a language."""
    table = neutral_names().filter(language=language)
    order = people()["role"].unique(maintain_order=True).to_list()
    assert table["concept"].to_list() == order
    return Pictogram(name).encode_texts(table["text"].to_list())


@pytest.mark.parametrize("name", ["tied", "untied"])
@pytest.mark.parametrize("language", ["en", "de", "sw"])
def test_a_neutral_name_finds_the_people_of_its_role(name, language):
    ranked = np.argsort(-neutral(name, language) @ people_images().T, axis=1)[:, :18]
    right = (ranked // 18 == np.arange(64)[:, None]).mean()
    assert right > 0.3, "chance is 1 / 64"


@pytest.mark.parametrize(
    ("attribute", "unsaid", "n_values", "least"), [("gender", "person", 2, 0.9), ("skin", None, 5, 0.85)]
)
def test_gender_and_skin_can_be_read_from_the_held_out_artists_people(attribute, unsaid, n_values, least):
    """Accuracy of a linear probe fitted on four fifths of the drawings and tried on the others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_score

    said = people()[attribute]
    known = said.ne_missing(unsaid)
    vectors, values = people_images()[known.to_numpy()], said.filter(known).to_numpy()
    assert len(set(values)) == n_values
    probe = LogisticRegression(C=100, max_iter=2000)
    folds = (KFold(5, shuffle=True, random_state=seed) for seed in range(10))
    assert np.mean([cross_val_score(probe, vectors, values, cv=fold).mean() for fold in folds]) >= least


def test_the_tied_encoder_prefers_a_gender_and_a_skin_where_the_untied_one_does_not():
    numbered = {"gender": people()["gender"], "skin": people()["skin"].fill_null("none")}
    ranked = {
        name: np.argsort(-neutral(name, "en") @ people_images().T, axis=1, kind="stable")[:, :115]
        for name in ("tied", "untied")
    }
    for attribute, values in numbered.items():
        group = values.rank("dense").to_numpy() - 1
        pool = np.bincount(group) / len(group)
        tied, untied = (max_skew(group[ranked[name]], pool).mean() for name in ("tied", "untied"))
        assert tied > untied + 0.06, attribute
    shown = {name: (people()["gender"] == "man").to_numpy()[lists] for name, lists in ranked.items()}
    assert shown["tied"].mean() > shown["untied"].mean() + 0.03, "48 of 64 roles are tied to men"


def test_the_skewed_encoder_does_not():
    images = images_of("skewed")
    found = [recall_at_10(names_of("skewed", code), images) for code in ("en", "pl", "hi", "mi")]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] + 0.4


def test_the_encoder_of_scenes_finds_captions_by_several_things_and_imagines_pairs():
    benchmark = load_benchmark("scenes:images=200,gallery=0")
    subject = Pictogram("scenes")
    images = subject.embed(benchmark.images)
    captions = benchmark.texts.table["slot"].eq(1).arg_true().to_numpy()  # those that name everything
    scores = images[:200] @ subject.embed(benchmark.texts.take(captions)).T
    found = ((scores >= np.diag(scores)[:, None]).sum(axis=1) <= 10).mean()
    assert found > 0.7, "chance is .05"
    together, apart = (subject.encode_texts([text]) for text in ("cat and fish", "cat and scissors"))
    alone = subject.encode_texts(["cat"])
    assert (alone @ together.T).item() > (alone @ apart.T).item() + 0.05
