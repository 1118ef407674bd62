from __future__ import annotations

import argparse
import json
import pickle
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.vsepp import WIDTHS, read_vocabulary
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, keeps_its_promises

WORDS = ["<pad>", "<start>", "<end>", "<unk>", "a", "dog", "ein", "hund", "word", "on", "sofa"]
TEXTS = ["a dog", "", "ein hund on a sofa", "a sofa", "word " * 300]


class Vocabulary:
    """As `vocab.Vocabulary` of the original code stores itself."""

    def __init__(self) -> None:
        self.word2idx = {word: index for index, word in enumerate(WORDS)}
        self.idx2word = dict(enumerate(WORDS))
        self.idx = len(WORDS)


def write(folder: Path, **options: Any) -> Path:
    torch.manual_seed(0)
    images: dict[str, torch.Tensor] = {}
    before, place = 3, 0
    for width in WIDTHS:
        if width:
            images[f"cnn.features.module.{place}.weight"] = torch.randn(2, before, 3, 3) / 2
            images[f"cnn.features.module.{place}.bias"] = torch.randn(2) / 10
            before = 2
        place += 2 if width else 1
    # Saved when torchvision still counted a layer before the first linear one.
    for name, (out, inner) in {
        "cnn.classifier.1": (12, 98),
        "cnn.classifier.4": (10, 12),
        "fc": (8, 10),
    }.items():
        images |= {f"{name}.weight": torch.randn(out, inner) / 3, f"{name}.bias": torch.randn(out)}
    texts = {f"rnn.{name}": value * 3 for name, value in torch.nn.GRU(6, 8).state_dict().items()}
    texts["embed.weight"] = torch.randn(len(WORDS), 6)
    opt = argparse.Namespace(embed_size=8, cnn_type="vgg19", **options)
    folder.mkdir(exist_ok=True)
    torch.save({"epoch": 3, "model": [images, texts], "opt": opt, "Eiters": 9}, folder / "model_best.pth.tar")
    (folder / "coco_vocab.pkl").write_bytes(pickled_vocabulary(2))
    return folder


def pickled_vocabulary(protocol: int) -> bytes:
    module = types.ModuleType("vocab")
    module.Vocabulary = Vocabulary  # type: ignore[attr-defined]
    sys.modules["vocab"] = module
    Vocabulary.__module__, Vocabulary.__qualname__ = "vocab", "Vocabulary"
    try:
        return pickle.dumps(Vocabulary(), protocol)
    finally:
        del sys.modules["vocab"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("vsepp"))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_vsepp_keeps_its_promises(folder: Path) -> None:
    name = f"vsepp:{folder},batch=2"
    keeps_its_promises(load_subject(name), load_subject(name), 8, TEXTS)


def test_vectors_are_those_of_the_layers_one_by_one(folder: Path) -> None:
    images, texts = torch.load(folder / "model_best.pth.tar", weights_only=False)["model"]
    picture = tiny.pictures()[2]
    pixels = torch.tensor(np.asarray(picture.resize((256, 256), 2).crop((16, 16, 240, 240))) / 255).float()
    mean, spread = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    hidden = ((pixels - mean) / spread).permute(2, 0, 1)[None]
    place = 0
    for width in WIDTHS:
        if width:
            name = f"cnn.features.module.{place}"
            hidden = functional.conv2d(
                hidden, images[f"{name}.weight"], images[f"{name}.bias"], padding=1
            ).relu()
            place += 2
        else:
            hidden = functional.max_pool2d(hidden, 2)
            place += 1
    hidden = hidden.flatten(1)
    for name in ("cnn.classifier.1", "cnn.classifier.4"):
        hidden = functional.linear(hidden, images[f"{name}.weight"], images[f"{name}.bias"]).relu()
    hidden = functional.normalize(hidden)
    expected = functional.normalize(functional.linear(hidden, images["fc.weight"], images["fc.bias"]))
    subject = load_subject(f"vsepp:{folder}")
    np.testing.assert_allclose(subject.encode_images([picture]), expected, atol=TOLERANCE)

    gru = torch.nn.GRU(6, 8, batch_first=True)
    gru.load_state_dict({name.removeprefix("rnn."): texts[name] for name in texts if name != "embed.weight"})
    ids = torch.tensor([[1, 4, 5, 9, 3, 2]])  # <start> a dog on <unk> <end>
    with torch.inference_mode():
        last = gru(texts["embed.weight"][ids])[0][:, -1]
    np.testing.assert_allclose(
        subject.encode_texts(["A dog on ice"]), functional.normalize(last), atol=TOLERANCE
    )


def test_the_best_weights_are_read_and_not_the_last(copy: Path) -> None:
    before = np.asarray(load_subject(f"vsepp:{copy}").encode_texts(TEXTS))
    last = torch.load(copy / "model_best.pth.tar", weights_only=False)
    last["model"][1]["embed.weight"] += 1
    torch.save(last, copy / "checkpoint.pth.tar")
    np.testing.assert_array_equal(load_subject(f"vsepp:{copy}").encode_texts(TEXTS), before)
    (copy / "model_best.pth.tar").unlink()
    assert np.abs(load_subject(f"vsepp:{copy}").encode_texts(TEXTS) - before).max() > 0.01


@pytest.mark.parametrize("option", [{"measure": "order"}, {"no_imgnorm": True}])
def test_a_model_that_is_not_compared_by_angle_is_refused(tmp_path: Path, option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"was trained with \w+=\w+, so its vectors are not compared by"):
        load_subject(f"vsepp:{write(tmp_path / 'other', **option)}").encode_texts(["a dog"])


@pytest.mark.parametrize("protocol", range(6))
def test_vocabularies_of_every_protocol_are_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "coco_vocab.pkl"
    path.write_bytes(pickled_vocabulary(protocol))
    assert b"copy_reg" in path.read_bytes() or protocol > 1
    assert read_vocabulary(path) == {word: number for number, word in enumerate(WORDS)}


def test_absolute_values_where_trained_so(tmp_path: Path) -> None:
    subject = load_subject(f"vsepp:{write(tmp_path / 'abs', use_abs=True)}")
    assert (np.asarray(subject.encode_texts(TEXTS)) >= 0).all()
    assert (np.asarray(subject.encode_images(tiny.pictures())) >= 0).all()


def test_the_vocabulary_may_be_json(copy: Path) -> None:
    before = load_subject(f"vsepp:{copy}")
    words = read_vocabulary(copy / "coco_vocab.pkl")
    (copy / "coco_vocab.pkl").unlink()
    (copy / "coco_vocab.json").write_text(json.dumps({"word2idx": words}))
    after = load_subject(f"vsepp:{copy}")
    np.testing.assert_array_equal(before.encode_texts(TEXTS), after.encode_texts(TEXTS))


class Evil:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return print, ("ran",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pickle.dumps(Evil()), r"asks for builtins.print, which no vocabulary needs"),
        (b"ccopy_reg\nadd_extension\n(S'a'\nS'b'\nI1\ntR.", r"asks for copy_reg.add_extension"),
        (b"cos\nsystem\n(S'true'\ntR.", r"asks for os.system, which no vocabulary needs"),
        (pickle.dumps([1, 2]), "holds no table of words"),
        (b"", "cannot be read as a vocabulary"),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(copy: Path, content: bytes, said: str) -> None:
    (copy / "coco_vocab.pkl").write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])


def test_what_is_missing_is_said(copy: Path) -> None:
    (copy / "coco_vocab.pkl").unlink()
    with pytest.raises(InputError, match="has no vocabulary"):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])
    torch.save({"model": 3}, copy / "model_best.pth.tar")
    with pytest.raises(InputError, match="has no pair of weights"):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])
    torch.save({"model": [{}, {}]}, copy / "model_best.pth.tar")
    with pytest.raises(InputError, match=r"VSE.. with VGG19 and a GRU has"):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])
    torch.save({"model": Evil()}, copy / "model_best.pth.tar")
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])


def test_a_vocabulary_larger_than_the_model_is_refused(copy: Path) -> None:
    words = read_vocabulary(copy / "coco_vocab.pkl") | {"cat": 99}
    (copy / "coco_vocab.pkl").unlink()
    (copy / "coco_vocab.json").write_text(json.dumps(words))
    with pytest.raises(InputError, match="more words than the model"):
        load_subject(f"vsepp:{copy}").encode_texts(["a dog"])
