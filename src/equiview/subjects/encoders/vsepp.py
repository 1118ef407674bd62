"""`vsepp:FOLDER`: VSE++, a VGG19 and a GRU trained with the hardest negatives, from its original checkpoint.

The folder holds `model_best.pth.tar`, as training wrote it beside the `checkpoint.pth.tar` of its last epoch,
and the vocabulary `*_vocab.pkl` (or the same words as JSON). Images: VGG19 up to its second layer of 4,096,
scaled to length 1, one linear layer, scaled. Texts: words in lower case between `<start>` and `<end>`, a
GRU's state after the last, scaled (Faghri et al., "VSE++: Improving Visual-Semantic Embeddings with Hard
Negatives", BMVC 2018).

Both files are pickles; they are read as data, so that nothing in them can run.
"""

from __future__ import annotations

import argparse
import io
import json
import pickle
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders._qwen import widened
from equiview.subjects.encoders.loading import failures, filled
from equiview.subjects.encoders.torch_encoder import Inputs, Tokens, TorchEncoder, pad
from equiview.text.treebank import split_words

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0)
"""VGG19's convolutions in order; 0 halves the picture (Simonyan and Zisserman 2015, table 1, column E)."""
RESIZED, SIDE = 256, 224
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LONGEST = 1000


class VsePlusPlus(TorchEncoder):
    """VSE++ with VGG19 and a GRU."""

    scheme = "vsepp"

    @property
    def recipe(self) -> str:
        """The vocabulary, the rule that splits words, and the weights that are read."""
        return json.dumps(["NLTK", self.path.name, self.vocabulary], sort_keys=True)

    @cached_property
    def path(self) -> Path:
        """The weights: the best of the training, if there are several."""
        weights = self.checkpoint.weights
        return next((path for path in weights if path.name == "model_best.pth.tar"), weights[0])

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Words and their numbers."""
        paths = sorted(
            path for end in ("pkl", "json") for path in self.checkpoint.folder.glob(f"*vocab*.{end}")
        )
        if not paths:
            raise InputError(f"{self.checkpoint.folder}: has no vocabulary (*_vocab.pkl); VSE++ needs one")
        words = read_vocabulary(paths[0])
        if missing := [word for word in ("<start>", "<end>", "<unk>") if word not in words]:
            raise InputError(f"{paths[0]}: has no word {missing[0]}")
        return words

    @cached_property
    def state(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Weights of the image side and of the text side, and the options of training."""
        torch = require("torch", self.extra)
        path = self.path
        safe = torch.serialization.safe_globals([argparse.Namespace])
        with failures(f"{path}: cannot be read as weights"), safe:
            stored = torch.load(path, map_location="cpu", weights_only=True)
        try:
            images, texts = stored["model"]
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}: has no pair of weights under 'model'; is it of VSE++?") from None
        options = stored.get("opt", {})
        options = options if isinstance(options, dict) else getattr(options, "__dict__", {})
        for name, usual in (("measure", "cosine"), ("no_imgnorm", False)):
            if options.get(name, usual) != usual:
                raise InputError(
                    f"{path}: was trained with {name}={options[name]}, so its vectors are not compared by "
                    "their angle; vsepp reads models of cosine similarity"
                )
        # Layers wrapped for several devices have a longer name; older checkpoints number layers from 1.
        plain = {re.sub(r"\bmodule\.", "", name): value for name, value in images.items()}
        if "cnn.classifier.1.weight" in plain:
            older = {"cnn.classifier.1.": "cnn.classifier.0.", "cnn.classifier.4.": "cnn.classifier.3."}
            plain = {older.get(name[:17], name[:17]) + name[17:]: value for name, value in plain.items()}
        return plain, texts, options

    @cached_property
    def model(self) -> dict[str, Any]:
        """VGG19 without its last layer, the projection, the word table and the GRU."""
        from torch import nn

        images, texts, _ = self.state
        path = self.path
        try:
            head = [int(images[f"cnn.classifier.{layer}.weight"].shape[0]) for layer in (0, 3)]
            kernels = sorted(name for name in images if re.fullmatch(r"cnn\.features\.\d+\.weight", name))
            kernels.sort(key=lambda name: int(name.split(".")[2]))
            convolutions = [int(images[name].shape[0]) for name in kernels]
            depth = sum(name.startswith("rnn.weight_hh_l") for name in texts)
            words, word_width = texts["embed.weight"].shape
            width = texts["rnn.weight_hh_l0"].shape[1]
        except KeyError as error:
            raise InputError(f"{path}: has no {error}; VSE++ with VGG19 and a GRU has") from None
        widths, before = iter(convolutions), 3
        layers: list[Any] = []
        for channels in WIDTHS:
            if channels:
                after = next(widths, channels)
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
                before = after
            else:
                layers.append(nn.MaxPool2d(2))
        linear = [nn.Linear(before * 49, head[0]), nn.Linear(head[0], head[1])]
        classifier = nn.Sequential(*(part for layer in linear for part in (layer, nn.ReLU(), nn.Dropout())))
        parts = {
            "cnn.features": (nn.Sequential(*layers), images),
            "cnn.classifier": (classifier, images),
            "fc": (nn.Linear(head[1], width), images),
            "embed": (nn.Embedding(words, word_width), texts),
            "rnn": (nn.GRU(word_width, width, depth, batch_first=True), texts),
        }
        return {
            name: filled(part, _under(name, state), path).to(self.device, self.dtype).eval()
            for name, (part, state) in parts.items()
        }

    def load(self) -> None:
        """Load weights and vocabulary."""
        _ = self.model
        if max(self.vocabulary.values()) >= self.model["embed"].num_embeddings:
            raise InputError(f"{self.checkpoint.folder}: the vocabulary has more words than the model")

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """The middle 224 by 224 of pictures whose shorter side is 256, in ImageNet's colours."""
        import numpy as np
        import torch

        pixels = []
        for image in images:
            wide = widened(image)
            size = [side * RESIZED // min(wide.size) for side in wide.size]
            left, top = (round((side - SIDE) / 2) for side in size)
            middle = wide.resize((size[0], size[1]), 2).crop((left, top, left + SIDE, top + SIDE))
            pixels.append((np.asarray(middle, dtype=np.float32) / 255 - MEAN) / SPREAD)
        return {"pixel_values": torch.tensor(np.stack(pixels), dtype=torch.float32).permute(0, 3, 1, 2)}

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The projection of VGG19's scaled features."""
        from torch.nn import functional

        maps = self.model["cnn.features"](inputs["pixel_values"]).flatten(1)
        features = functional.normalize(self.model["cnn.classifier"](maps), dim=1)
        return self._absolute(self.model["fc"](features))

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Numbers of words; the rest of a very long text is cut off."""
        numbers = self.vocabulary
        rows = []
        for text in texts:
            words = ["<start>", *split_words(text.lower())[:LONGEST], "<end>"]
            rows.append({"input_ids": [numbers.get(word, numbers["<unk>"]) for word in words]})
        return list(rows)

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Texts padded to the longest, and their lengths."""
        import torch

        lengths = torch.tensor([len(row["input_ids"]) for row in rows])
        return {**pad(rows, {"input_ids": 0}), "lengths": lengths}

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The GRU's state after each text's last word."""
        import torch

        states, _ = self.model["rnn"](self.model["embed"](inputs["input_ids"]))
        last = torch.arange(len(states), device=states.device), inputs["lengths"] - 1
        return self._absolute(states[last])

    def _absolute(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors.abs() if self.state[2].get("use_abs") else vectors


def _under(name: str, state: dict[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}


PLAIN = {("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor")}
PLAIN |= {("builtins", "object"), ("__builtin__", "object")}
"""Calls with which the oldest pickle protocols of Python 3 and 2 make an object; they run no code."""


class _Vocabulary:
    """A stand-in for VSE++'s `vocab.Vocabulary` in its pickle, with the same attributes."""


class _DataAlone(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name == "Vocabulary":
            return _Vocabulary
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no vocabulary needs")


def read_vocabulary(path: Path) -> dict[str, int]:
    """Words and their numbers from VSE++'s pickle or from JSON; a pickle that asks for more is refused."""
    try:
        if path.suffix == ".json":
            stored = json.loads(path.read_text(encoding="utf-8"))
            words = stored.get("word2idx", stored)
        else:
            stored = _DataAlone(io.BytesIO(path.read_bytes()), encoding="utf-8").load()
            words = getattr(stored, "word2idx", None)
    except Exception as error:  # damaged pickles raise anything
        raise InputError(f"{path}: cannot be read as a vocabulary ({error})") from None
    if not isinstance(words, dict) or not all(
        isinstance(word, str) and isinstance(number, int) for word, number in words.items()
    ):
        raise InputError(f"{path}: holds no table of words and their numbers")
    return words
