"""A class of the user's own: what its vectors are kept by, and what happens when it is trained again."""

import logging

import numpy as np
import pytest

from equiview import api
from equiview.errors import InputError
from equiview.store import stored
from equiview.store.encoder import StoredEncoder
from equiview.subjects import EmbeddingModel, load_subject
from tests.conftest import add_pictures

SOURCE = """
import numpy as np

class Trained:
    def encode_images(self, images):
        pixels = [np.asarray(image.resize((2, 2)), dtype=float).ravel() for image in images]
        return np.asarray(pixels) @ np.load("weights.npy")
    def encode_texts(self, texts):
        codes = [np.bincount([ord(letter) % 12 for letter in text], minlength=12) for text in texts]
        return np.asarray(codes) @ np.load("weights.npy")

class Declared(Trained):
    fingerprint = "weights-1"
"""
FEW = {"prevalence": {"replicates": 100}}


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"trained_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    train(0)
    return name


def train(seed):
    np.save("weights.npy", np.random.default_rng(seed).normal(size=(12, 6)))


def numbers(run):
    return run.estimates.table


def test_a_model_trained_again_gives_its_new_numbers(module, world, tmp_path):
    add_pictures(world)

    def audit(out):
        subject = f"{module}:Trained"
        return api.audit(subject, "folder:world", ["prevalence"], tmp_path / out, settings=FEW)

    before = numbers(audit("before"))
    train(1)
    after = numbers(audit("after"))
    assert not before.equals(after)
    with pytest.raises(InputError, match="holds a run that differs in subject"):
        audit("before")
    train(0)
    assert numbers(audit("before")).equals(before)


def test_vectors_are_kept_only_by_a_fingerprint_that_the_class_declares(module, caplog):
    with caplog.at_level(logging.WARNING):
        plain = [stored(load_subject(f"{module}:Trained")) for _ in range(2)]
    assert not any(isinstance(subject, StoredEncoder) for subject in plain)
    assert len(caplog.messages) == 1
    assert "declares no `fingerprint`" in caplog.messages[0]
    assert isinstance(stored(load_subject(f"{module}:Declared")), StoredEncoder)
    assert len(caplog.messages) == 1


def test_a_subclass_without_a_fingerprint_is_known_by_its_vectors():
    class Scaled(EmbeddingModel):
        scale = 1.0

        def encode_images(self, images):
            return np.ones((len(images), 2)) * self.scale

        def encode_texts(self, texts):
            return np.ones((len(texts), 2))

    class Broken(Scaled):
        def encode_images(self, images):
            raise RuntimeError("no weights")

    assert Scaled().fingerprint == Scaled().fingerprint
    other = Scaled()
    other.scale = 2.0
    assert other.fingerprint != Scaled().fingerprint
    assert not other.declares_fingerprint
    assert Broken().fingerprint == Broken().fingerprint
