"""`finetuned:DIR`: an encoder after fine-tuning; its parent is the encoder before.

The folder is made by `equiview.mitigation.finetune`. Dual encoders of transformers, BLIP and VSE++ are whole
checkpoints in `DIR/model`, which `hf:DIR/model` and `vsepp:DIR/model` load as well. For any other encoder the
folder holds two small networks, and the encoder itself is loaded by its name; `encoder=NAME` gives another
place of it. Further options are those of the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from equiview.data.arguments import split_argument
from equiview.errors import InputError
from equiview.extras import require, versions_of
from equiview.io.fingerprint import fingerprint
from equiview.subjects.base import of_inner
from equiview.subjects.encoders.base import EmbeddingModel
from equiview.subjects.encoders.loading import filled, state_of
from equiview.subjects.load import load_subject
from equiview.subjects.trained import Part, TrainingCard, check_same

if TYPE_CHECKING:
    from PIL.Image import Image

MODEL, HEADS = "model", "heads.safetensors"
OPTIONS = ("device", "dtype", "batch", "encoder")
SCHEMES = {"dual": "hf", "blip": "hf", "vsepp": "vsepp"}
"""The `scheme` of cards that version 0.1 wrote without one, by kind."""


class FineTuning(TrainingCard):
    """The content of `finetune.json`: what the encoder was made from, and how.

    `parent` is the encoder before. `pairs` counts the pairs of images and captions of `real` and `synthetic`
    data, and `settings` are those of the kind. `scheme` is the kind of subject that loads `model`, empty for
    an adapter. `weights` is a hash of the files in `model`.
    """

    file: ClassVar[str] = "finetune.json"
    what: ClassVar[str] = "fine-tuned encoder"
    made: ClassVar[str] = MODEL

    kind: str
    scheme: str
    parent: Part
    data: dict[str, Part]
    pairs: dict[str, int]

    @model_validator(mode="before")
    @classmethod
    def _say_scheme(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        return {"scheme": SCHEMES.get(str(content.get("kind")), "")} | content


def new_heads(width: int, hidden: int) -> Any:
    """Two networks over vectors of `width`, for `images` and `texts`, that change nothing before training.

    With `hidden` each is `v + B GELU(A v)`, B beginning at 0; else one linear layer that begins as identity.
    """
    nn = require("torch", "hf").nn

    class Residual(nn.Sequential):  # type: ignore[misc, name-defined]
        def forward(self, vectors: Any) -> Any:
            return vectors + super().forward(vectors)

    def head() -> Any:
        if hidden:
            layers = Residual(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
            nn.init.zeros_(layers[2].weight)
            nn.init.zeros_(layers[2].bias)
            return layers
        layer = nn.Linear(width, width)
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer

    return nn.ModuleDict({"images": head(), "texts": head()})


class FineTuned(EmbeddingModel):
    """An encoder after fine-tuning."""

    inner: EmbeddingModel
    fingerprint, versions = of_inner("fingerprint"), of_inner("versions")
    declares_fingerprint, cuts = of_inner("declares_fingerprint"), of_inner("cuts")
    by_language = of_inner("by_language")

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(argument, "finetuned", OPTIONS)
        if not name:
            raise InputError("finetuned: name the folder of a fine-tuned encoder, as in finetuned:DIR")
        folder = Path(name).expanduser()
        self.tuning = FineTuning.read(folder)
        self.inner = _inner(self.tuning, folder, options)
        self.image_batch, self.text_batch = self.inner.image_batch, self.inner.text_batch

    @property
    def parent(self) -> str:
        """The fingerprint of the encoder before fine-tuning."""
        return self.tuning.parent.fingerprint

    @property
    def about(self) -> str:
        """What it was before, and what it was fine-tuned on."""
        data = " and ".join(part.name for part in self.tuning.data.values())
        return f"{self.tuning.parent.name} fine-tuned on {data}"

    def encode_images(self, images: Sequence[Image]) -> Any:
        """Vectors `(n, width)` of RGB images."""
        return self.inner.encode_images(images)

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Vectors `(n, width)` of strings."""
        return self.inner.encode_texts(texts)

    def encode_texts_in(self, texts: Sequence[str], language: str) -> Any:
        """Vectors `(n, width)` of strings of one language."""
        return self.inner.encode_texts_in(texts, language)


def _inner(tuning: FineTuning, folder: Path, options: Mapping[str, str]) -> EmbeddingModel:
    if not tuning.scheme:
        return Adapted(tuning, folder, options)
    if "encoder" in options:
        raise InputError(f"{folder}: is a whole checkpoint; option encoder= is for encoders with an adapter")
    name = ",".join([f"{tuning.scheme}:{folder / MODEL}", *map("=".join, options.items())])
    subject = load_subject(name)
    assert isinstance(subject, EmbeddingModel)
    return subject


class Adapted(EmbeddingModel):
    """A frozen encoder with a small trained network after its image side and its text side."""

    inner: EmbeddingModel
    declares_fingerprint, cuts = of_inner("declares_fingerprint"), of_inner("cuts")
    by_language = of_inner("by_language")

    def __init__(self, tuning: FineTuning, folder: Path, options: Mapping[str, str]) -> None:
        super().__init__()
        self.tuning, self.folder = tuning, folder
        more = [f"{option}={value}" for option, value in options.items() if option != "encoder"]
        name = ",".join([options.get("encoder", tuning.parent.name), *more])
        inner = load_subject(name)
        check_same(name, inner.fingerprint, tuning.parent, folder, "encoder")
        assert isinstance(inner, EmbeddingModel)
        self.inner = inner
        self.image_batch, self.text_batch = inner.image_batch, inner.text_batch

    @cached_property
    def heads(self) -> Any:
        """The trained networks."""
        path = self.folder / MODEL / HEADS
        state, hidden = state_of(path), self.tuning.settings["hidden"]
        width = len(state["images.2.bias" if hidden else "images.bias"])
        return filled(new_heads(width, hidden), state, path).eval()

    @property
    def fingerprint(self) -> str:
        """A hash of the encoder and of the networks."""
        return fingerprint("adapted", self.inner.fingerprint, self.tuning.weights)

    @property
    def versions(self) -> Mapping[str, str]:
        """Those of the encoder's libraries and of torch."""
        return {**self.inner.versions, **versions_of("torch")}

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Unit vectors of RGB images."""
        return self._moved("images", self.inner.encode_images(images))

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of strings."""
        return self._moved("texts", self.inner.encode_texts(texts))

    def encode_texts_in(self, texts: Sequence[str], language: str) -> NDArray[np.float32]:
        """Unit vectors of strings of one language."""
        return self._moved("texts", self.inner.encode_texts_in(texts, language))

    def _moved(self, side: str, vectors: Any) -> NDArray[np.float32]:
        import torch

        normalize = torch.nn.functional.normalize
        with torch.inference_mode():
            unit = normalize(torch.tensor(np.asarray(vectors, dtype=np.float32)), dim=1)
            return np.asarray(normalize(self.heads[side](unit), dim=1))
