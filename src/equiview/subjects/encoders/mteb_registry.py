"""`mteb:NAME`: any model of mteb's registry, loaded by mteb, given texts and images as its tasks give them.

Texts are read as queries and images as documents of `task=`, an mteb task whose prompts the model may have;
by default that of Crossmodal-3600, text to image. Models of a vector a token are compared by MaxSim.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import count_option, split_argument
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders.base import EmbeddingModel
from equiview.subjects.encoders.loading import every_weight, failures, library_bars_off
from equiview.subjects.encoders.sentence import SentenceTransformers
from equiview.subjects.encoders.torch_encoder import chosen_device, readable

if TYPE_CHECKING:
    from PIL.Image import Image

EXTRA = "mteb"
TASK = "XM3600T2IRetrieval"
SIMILARITIES: dict[str | None, Literal["dot", "maxsim"]] = {"MaxSim": "maxsim", "dot": "dot"}


class MtebModel(EmbeddingModel):
    """A model of mteb's registry."""

    packages = ("mteb", *SentenceTransformers.packages)

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, self.options = split_argument(argument, "mteb", ("device", "batch", "task"))
        self.model_name, _, self.revision = name.partition("@")
        if not self.model_name:
            raise InputError("subject 'mteb' needs a model: mteb:NAME")
        self.batch = count_option(self.options, "batch", 32, "mteb")
        self.similarity = SIMILARITIES.get(self.meta.similarity_fn_name, "cosine")

    @cached_property
    def meta(self) -> Any:
        """The registry's entry of the model; InputError when there is none."""
        library = require("mteb", EXTRA)
        try:
            return library.get_model_meta(self.model_name, self.revision or None)
        except (KeyError, ValueError) as error:
            reason = (str(error).strip("'\"").splitlines() or ["unknown"])[0]
            raise InputError(f"mteb's registry has no model {self.model_name!r} ({reason})") from None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of name, revision and mteb's version, which holds the loading code."""
        library = require("mteb", EXTRA)
        task = self.options.get("task", TASK)
        return fingerprint(self.model_name, self.meta.revision, library.__version__, task)

    @cached_property
    def task(self) -> Any:
        """The task whose prompts are used."""
        library = require("mteb", EXTRA)
        name = self.options.get("task", TASK)
        try:
            return library.get_task(name).metadata
        except (KeyError, ValueError):
            raise InputError(f"mteb has no task {name!r}") from None

    @cached_property
    def model(self) -> Any:
        """The model as mteb loads it."""
        device = chosen_device(self.options.get("device"), "mteb", EXTRA)
        said = f"mteb:{self.model_name}: cannot be loaded"
        with failures(said), library_bars_off(), every_weight(self.model_name, unused=("pooler.",)):
            return self.meta.load_model(device=str(device))

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of RGB images, read as documents."""
        return self._encoded("image", list(images), "document")

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of texts, read as queries."""
        return self._encoded("text", readable(texts), "query")

    def _encoded(self, kind: str, items: list[Any], role: str) -> NDArray[np.float32] | TokenVectors:
        if kind not in self.meta.modalities:
            known = " and ".join(self.meta.modalities)
            raise InputError(f"mteb:{self.model_name}: reads {known}, no {kind}s")
        datasets = require("datasets", EXTRA)
        types = require("mteb.types", EXTRA)
        loader = require("torch.utils.data", EXTRA).DataLoader

        def together(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
            return {kind: [row[kind] for row in rows]}

        feature = datasets.Image() if kind == "image" else datasets.Value("string")
        rows = datasets.Dataset.from_dict({kind: items}, features=datasets.Features({kind: feature}))
        task = self.task
        if not hasattr(self.model, "encode"):
            raise InputError(
                f"mteb:{self.model_name}: searches without giving vectors; try st-multi:{self.model_name}"
            )
        vectors = self.model.encode(
            loader(rows, batch_size=self.batch, collate_fn=together),
            task_metadata=task,
            hf_split="test",
            hf_subset="default",
            prompt_type=types.PromptType(role),
            batch_size=self.batch,
            show_progress_bar=False,
        )
        if self.similarity == "maxsim":
            # Some models pad shorter items with zeros.
            return TokenVectors.of([row[row.any(axis=1)] for row in map(_array, vectors)])
        return _array(vectors)


def _array(values: Any) -> NDArray[np.float32]:
    """A tensor or an array as float32 on the host."""
    if hasattr(values, "detach"):
        values = values.detach().float().cpu().numpy()
    return np.asarray(values, dtype=np.float32)
