"""How pictures flow to a model on torch: prepared ahead, computed ahead, and back in order."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from equiview.data.items import Items
from equiview.errors import InputError
from equiview.store import Store
from equiview.store.encoder import StoredEncoder
from equiview.subjects.encoders import torch_encoder
from equiview.subjects.encoders.torch_encoder import TorchEncoder
from tests.subjects.encoders.test_base import images, picture

WAIT = 30
"""Seconds after which a device that is not given enough to do is a failure."""
BATCH, SAVED = 2, 6
"""Pictures in a forward pass, and those whose vectors are handed on together."""


class Mean(TorchEncoder):
    """The mean colour of a picture; remembers what was prepared and computed."""

    scheme = "mean"
    parts_used = ()
    fingerprint = "mean"
    flight = 0

    def __init__(self):
        super().__init__()
        self.image_batch = SAVED
        self.prepared, self.handed_on, self.most = 0, 0, 0
        self.lock = threading.Lock()

    def find(self, argument):
        return SimpleNamespace(options={"device": "cpu", "batch": str(BATCH)}, name="mean")

    @property
    def in_flight(self):
        return self.flight

    def picture_inputs(self, images):
        with self.lock:
            self.prepared += len(images)
            self.most = max(self.most, self.prepared - self.handed_on)
        return {"pixels": torch.tensor(np.array([image.getpixel((0, 0)) for image in images]) + 1.0)}

    def image_vectors(self, inputs):
        return inputs["pixels"]

    def tokens(self, texts):
        return [{"input_ids": [ord(letter) for letter in text]} for text in texts]

    def padded(self, rows):
        return {"ids": torch.tensor([[len(row["input_ids"]), row["input_ids"][0], 1.0] for row in rows])}

    def text_vectors(self, inputs):
        return inputs["ids"]


class Device:
    """Stands for an accelerator: a batch is done once it was given so many more, or the last of all."""

    def __init__(self, ahead, last):
        self.ahead, self.last = ahead, last
        self.given, self.waited_for = 0, 0

    def on_host(self, *tensors):
        self.given += 1
        number = self.given

        def wait():
            # What waits is the thread that gives: if too few were given by now, none will be.
            assert self.given >= min(number + self.ahead, self.last), "the device had nothing to do"
            assert self.waited_for == number - 1, "not in order"
            self.waited_for = number
            return [tensor.numpy() for tensor in tensors]

        return wait


def coloured(count, *, broken=()):
    return images(*(b"" if row in broken else picture((row, 2 * row, 255 - row)) for row in range(count)))


def parts(encoder, items, **how):
    for rows, vectors in encoder.batches(items, **how):
        encoder.handed_on += len(rows)
        yield rows, vectors


@pytest.fixture
def flying(monkeypatch):
    """An encoder on a device that is given three batches ahead, and the device."""

    def make(last):
        encoder, device = Mean(), Device(3, last)
        encoder.flight = 3
        monkeypatch.setattr(torch_encoder, "on_host", device.on_host)
        return encoder, device

    return make


def test_a_device_always_has_batches_to_do_and_gives_the_same_vectors(flying):
    items = coloured(45)
    plain = list(Mean().batches(items))
    encoder, device = flying(last=23)  # seven times three passes, and two for the last three pictures
    found = list(parts(encoder, items))
    assert [len(rows) for rows, _ in found] == [6] * 7 + [3]
    assert device.given == device.waited_for == 23
    for (rows, vectors), (wanted_rows, wanted) in zip(found, plain, strict=True):
        assert rows.tolist() == wanted_rows.tolist()
        assert vectors.tobytes() == wanted.tobytes()
    # Two batches prepared ahead of the one that is begun, three in flight, and a part that is not whole yet.
    assert encoder.most <= BATCH * (2 + 1 + 3 + 1) + SAVED


def test_texts_are_given_ahead_too(flying):
    strings = ["a" * (1 + row % 5) + chr(98 + row) for row in range(20)]
    plain = Mean().encode_texts(strings)
    encoder, device = flying(last=3)
    assert encoder.encode_texts(strings).tobytes() == plain.tobytes()
    assert device.given == 3


@pytest.mark.parametrize("ahead", [0, 3])
def test_what_was_encoded_before_a_picture_that_cannot_be_read_is_kept(flying, tmp_path, ahead):
    encoder = flying(last=9)[0] if ahead else Mean()
    items = coloured(30, broken={20})
    stored = StoredEncoder(encoder, Store(tmp_path))
    with pytest.raises(InputError, match="row 21: picture of 'i20' cannot be read"):
        stored.embed(items)
    assert stored.missing(items) == list(range(18, 30))
    bad = StoredEncoder(Mean(), Store(tmp_path)).fill(items)
    assert bad["id"].to_list() == ["i20"]


def test_an_error_of_the_model_comes_after_what_was_begun_before_it(flying, monkeypatch):
    encoder, device = flying(last=7)
    forward = encoder.image_vectors

    def breaks(inputs):
        if device.given == 7:
            raise RuntimeError("the device is gone")
        return forward(inputs)

    monkeypatch.setattr(encoder, "image_vectors", breaks)
    found = encoder.batches(coloured(30))
    assert [len(next(found)[0]) for _ in range(2)] == [6, 6]
    with pytest.raises(RuntimeError, match="the device is gone"):
        next(found)
    assert device.waited_for == 7


def test_a_batch_that_does_not_fit_is_halved_among_others_in_flight(flying, monkeypatch):
    encoder, _ = flying(last=0)
    forward = encoder.image_vectors

    def small(inputs):
        if len(inputs["pixels"]) > 1 and inputs["pixels"][0, 0] in (5, 9):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(inputs)

    monkeypatch.setattr(encoder, "image_vectors", small)
    monkeypatch.setattr(torch_encoder, "on_host", lambda *tensors: lambda: [part.numpy() for part in tensors])
    items = coloured(12)
    wanted = np.concatenate([vectors for _, vectors in Mean().batches(items)])
    assert np.concatenate([vectors for _, vectors in encoder.batches(items)]).tobytes() == wanted.tobytes()


def test_a_user_s_own_encode_images_is_called():
    class Own(Mean):
        def encode_images(self, images):
            return np.full((len(images), 3), 7.0)

    ((_, vectors),) = Own().batches(Items("image", coloured(3).table))
    assert (vectors == 7).all()
