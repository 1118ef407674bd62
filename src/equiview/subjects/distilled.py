"""`distilled:DIR`: an encoder whose texts are read by a student of its text tower; its parent is the encoder.

The folder is made by `equiview mitigate distill`. Images have the vectors of the encoder, which is loaded by
its name; `encoder=NAME` gives another place of the same one. `device`, `dtype` and `batch` are the student's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.vectors import Vectors, one_each
from equiview.errors import InputError
from equiview.extras import require, versions_of
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.subjects.base import of_inner
from equiview.subjects.encoders.base import EmbeddingModel, Encoder, checked_vectors
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.loading import (
    failures,
    filled,
    from_files,
    library_notes_off,
    loaded,
    state_of,
)
from equiview.subjects.encoders.pictogram import BUCKETS, padded, text_features
from equiview.subjects.encoders.torch_encoder import LENGTH_LIMIT, Inputs, Tokens, readable
from equiview.subjects.finetuned import new_heads
from equiview.subjects.load import load_encoder
from equiview.subjects.trained import Derived, DerivedCard, Part, check_same

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

MODEL, STUDENT = "model", "student.safetensors"
SIZES = {"table": 64, "hidden": 256}
"""Widths of the two layers of a table of n-grams."""
RUNNING = ("device", "dtype", "batch")


class Distillation(DerivedCard):
    """The content of `distill.json`: whose texts were taught to whom, by which captions.

    `texts` counts them by language. `width` is that of the vectors, and `length` the most tokens of a text.
    """

    file: ClassVar[str] = "distill.json"
    what: ClassVar[str] = "distilled encoder"
    made: ClassVar[str] = MODEL

    kind: Literal["model", "tower", "adapter", "ngrams"]
    student: str
    data: dict[str, Part]
    texts: dict[str, int]
    width: int
    length: int


class TextModel(HuggingFace):
    """A text model of transformers: the mean of its tokens, padding excluded, through a linear layer.

    With `width` the linear layer is new, drawn from torch's generator; else it is read from the folder.
    """

    scheme = "distilled"
    extra_options = ()
    parts_used = ("model", "tokenizer", "head")

    def __init__(self, argument: str, *, width: int = 0, length: int = LENGTH_LIMIT) -> None:
        super().__init__(argument)
        self.width, self.length = width, length

    @property
    def recipe(self) -> str:
        """The longest text that is read whole."""
        return f"mean of tokens, at most {self.length}"

    @cached_property
    def model_type(self) -> str:
        """The model type that the configuration states; InputError for code of its own."""
        config = self.checkpoint.json()
        kind = str(config.get("model_type", ""))
        if kind not in require("transformers", self.extra).CONFIG_MAPPING:
            raise InputError(
                f"{self.checkpoint.name}: transformers has no model of type {kind!r}; a student is a text "
                "model that needs no code of its own"
            )
        return kind

    @cached_property
    def model(self) -> Any:
        """The model without its pooler, which is not used and which many checkpoints lack."""
        kind, folder = require("transformers", self.extra).AutoModel, self.checkpoint.folder
        _ = self.model_type
        with library_notes_off():  # of weights that are not read, and of the pooler's
            model, info = from_files(kind, folder, output_loading_info=True, dtype=self.dtype, **self.trusted)
        needed = [name for name in info["missing_keys"] if not name.startswith("pooler.")]
        loaded(model, dict(info) | {"missing_keys": needed}, folder)
        if getattr(model.config, "is_encoder_decoder", False) or hasattr(model, "get_image_features"):
            raise InputError(
                f"{self.checkpoint.name}: {type(model).__name__} is no encoder of texts alone; a student is "
                "one such as XLM-R or BERT"
            )
        if hasattr(model, "pooler"):
            model.pooler = None
        return model.to(self.device).eval()

    @cached_property
    def head(self) -> Any:
        """The linear layer."""
        nn = require("torch", self.extra).nn
        if self.width:
            layer = nn.Linear(self.model.config.hidden_size, self.width)
        else:
            path = self.checkpoint.folder / STUDENT
            state = state_of(path)
            layer = filled(nn.Linear(*reversed(state["weight"].shape)), state, path)
        return layer.to(self.device, self.dtype).eval()

    @cached_property
    def limit(self) -> int:
        """The longest text in tokens."""
        return min(super().limit, self.length)

    @cached_property
    def fills(self) -> dict[str, int]:
        """Token ids and their mask; token types are all zero, as the model itself takes them to be."""
        return {"input_ids": int(self.tokenizer.pad_token_id or 0), "attention_mask": 0}

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids; InputError where the tokenizer fails."""
        with failures(f"{self.checkpoint.name}: its tokenizer cannot read these texts"):
            return super().tokens(texts)

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean of the tokens through the linear layer."""
        states = self.model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        return self.head((states * mask).sum(dim=1) / mask.sum(dim=1))


class Ngrams(EmbeddingModel):
    """A table of hashed n-grams and words, as the embedded encoders read, and two layers."""

    def __init__(self, folder: Path, weights: str) -> None:
        super().__init__()
        self.folder, self.weights = folder, weights

    @property
    def fingerprint(self) -> str:
        """A hash of the weights."""
        return fingerprint("ngrams", self.weights)

    @property
    def versions(self) -> Mapping[str, str]:
        """That of torch."""
        return versions_of("torch")

    @cached_property
    def network(self) -> Any:
        """The trained table and layers."""
        path = self.folder / STUDENT
        state = state_of(path)
        return filled(new_ngrams(len(state["out.bias"])), state, path).eval()

    def encode_images(self, images: Sequence[Image]) -> Any:
        """A student sees nothing: its images are the encoder's."""
        raise InputError(f"{self.called}: reads texts alone")

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of strings."""
        import torch

        with torch.inference_mode():
            vectors = self.network(ngrams_of(texts))
            return np.asarray(torch.nn.functional.normalize(vectors, dim=1))


def ngrams_of(texts: Sequence[str]) -> Any:
    """The features of texts as a tensor `(n, longest)`, padded with 0."""
    torch = require("torch", "hf")
    features, starts = text_features(readable(texts))
    return torch.from_numpy(padded(features, starts, np.arange(len(texts))).astype(np.int64))


def new_ngrams(width: int) -> Any:
    """An untrained table with its layers, from features `(n, longest)` to vectors `(n, width)`."""
    torch = require("torch", "hf")
    nn = torch.nn

    class Bag(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(BUCKETS, SIZES["table"], mode="mean", padding_idx=0)
            nn.init.normal_(self.table.weight, std=0.1)
            with torch.no_grad():
                self.table.weight[0] = 0
            self.norm = nn.LayerNorm(SIZES["table"])
            self.first = nn.Linear(SIZES["table"], SIZES["hidden"])
            self.out = nn.Linear(SIZES["hidden"], width)

        def forward(self, features: Any) -> Any:
            return self.out(torch.relu(self.first(self.norm(self.table(features)))))

    return Bag()


class Adapter(Encoder):
    """The texts of an encoder, moved by a small network."""

    def __init__(self, owner: Distilled) -> None:
        super().__init__()
        self.owner = owner

    @property
    def fingerprint(self) -> str:
        """A hash of the network."""
        return fingerprint("adapter", self.owner.card.weights)

    @property
    def versions(self) -> Mapping[str, str]:
        """That of torch."""
        return versions_of("torch")

    @cached_property
    def network(self) -> Any:
        """The trained network."""
        path = self.owner.folder / MODEL / STUDENT
        network = new_heads(self.owner.card.width, self.owner.card.settings["hidden"])["texts"]
        return filled(network, state_of(path), path).eval()

    def cuts(self, texts: Sequence[str]) -> list[bool] | None:
        """Whether each text is longer than the encoder's limit."""
        return self.owner.inner.cuts(texts)

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """Unit vectors of texts."""
        import torch

        normalize = torch.nn.functional.normalize
        given = np.asarray(one_each(self.owner.inner.embed(items, progress)), dtype=np.float32)
        with torch.inference_mode():
            return np.asarray(normalize(self.network(normalize(torch.from_numpy(given), dim=1)), dim=1))


class Distilled(Derived, Encoder):
    """An encoder whose texts a student of its text tower reads."""

    inner: Encoder
    card: Distillation
    parts = ("inner", "student")

    looks = of_inner("looks")

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, self.options = split_argument(argument, "distilled", (*RUNNING, "encoder"))
        if not name:
            raise InputError("distilled: name the folder of a distillation, as in distilled:DIR")
        self.folder = Path(name).expanduser()
        self.card = Distillation.read(self.folder)
        called = self.options.get("encoder", self.card.parent.name)
        self.inner = load_encoder(called)
        check_same(called, self.inner.fingerprint, self.card.parent, self.folder, "encoder")
        self.student = self._student()

    def _student(self) -> Encoder:
        folder = self.folder / MODEL
        running = {key: value for key, value in self.options.items() if key in RUNNING}
        if self.card.kind in ("adapter", "ngrams") and running:
            raise InputError(
                f"{self.folder}: its student is small and runs on the processor; leave out "
                f"{', '.join(running)}="
            )
        if self.card.kind == "adapter":
            return Adapter(self)
        if self.card.kind == "ngrams":
            return Ngrams(folder, self.card.weights)
        called = ",".join([str(folder), *map("=".join, running.items())])
        return (
            HuggingFace(called) if self.card.kind == "tower" else TextModel(called, length=self.card.length)
        )

    @property
    def about(self) -> str:
        """What it was before, who reads its texts, and what was learnt from."""
        data = " and ".join(part.name for part in self.card.data.values())
        return f"{self.card.parent.name} with texts read by {self.card.student}, distilled on {data}"

    @property
    def fingerprint(self) -> str:
        """A hash of the encoder and of the student."""
        return fingerprint(self.inner.fingerprint, self.student.fingerprint)

    @property
    def versions(self) -> Mapping[str, str]:
        """Those of both."""
        return {**self.inner.versions, **self.student.versions}

    def cuts(self, texts: Sequence[str]) -> list[bool] | None:
        """Whether each text is longer than the student's limit."""
        return self.student.cuts(texts)

    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order, `(len(items), width)`: images the encoder's, texts the student's."""
        if items.kind == "image":
            return self.inner.embed(items, progress)
        return checked_vectors(one_each(self.student.embed(items, progress)), items, self.name)
