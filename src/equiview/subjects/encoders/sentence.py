"""`st:ID_OR_PATH` and `st-multi:ID_OR_PATH`: models of the sentence-transformers library.

`st` is a model of one vector an item, for texts alone or for texts and images; `st-multi` one of a vector a
token, whose texts are read as queries and images as documents. `prompt=NAME` chooses one of the model's
prompts for texts; with `dim=N` only the first N numbers of a vector are kept. A checkpoint that is not whole,
or brings code of its own, is refused as with `hf:`. On an accelerator the checkpoint's own precision is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import count_option
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders._qwen import on_the_grid
from equiview.subjects.encoders.base import EmbeddingModel, narrowed
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import every_weight, failures, library_bars_off
from equiview.subjects.encoders.torch_encoder import OnTorch, readable

if TYPE_CHECKING:
    from PIL.Image import Image

EXTRA = "sentence-transformers"


class SentenceTransformers(OnTorch, EmbeddingModel):
    """A model of sentence-transformers."""

    packages = ("sentence-transformers", "torch", "torchvision", "transformers", "tokenizers", "pillow")
    scheme = "st"
    extra = EXTRA
    class_name = "SentenceTransformer"
    extra_options: tuple[str, ...] = ("prompt", "dim")
    recipe = ""
    """What else decides the vectors. Part of the fingerprint."""

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = Checkpoint.find(argument, self.scheme, self.extra_options, EXTRA)
        self.options = self.checkpoint.options
        self.dim = count_option(self.options, "dim", 1, self.scheme) if "dim" in self.options else 0
        stated = self.checkpoint.folder / "config_sentence_transformers.json"
        known = self.checkpoint.json(stated.name) if stated.is_file() else {}
        if self.similarity == "cosine" and known.get("similarity_fn_name") == "dot":
            self.similarity = "dot"

    @property
    def half(self) -> str:  # type: ignore[override]
        """Precision on an accelerator: the checkpoint's own, as its configuration states it."""
        for path in sorted(self.checkpoint.folder.glob("**/config.json"), key=lambda path: len(path.parts)):
            config = self.checkpoint.json(path.relative_to(self.checkpoint.folder).as_posix())
            stated = config.get("dtype") or config.get("torch_dtype")
            if stated:
                return str(stated)
        return "float32"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files of the checkpoint, the precision and the prompt."""
        prompt = self.options.get("prompt", "")
        parts = (self.scheme, self.recipe, self.checkpoint.fingerprint, self.dtype, prompt)
        return fingerprint(*parts, *([f"dim {self.dim}"] if self.dim else []))

    @cached_property
    def model(self) -> Any:
        """The model, in evaluation mode."""
        kind = getattr(require("sentence_transformers", EXTRA), self.class_name)
        folder = str(self.checkpoint.folder)
        safe = {"local_files_only": True, "trust_remote_code": False}
        said = f"{folder}: {self.class_name} cannot be loaded from it"
        # BERT's pooler, which many checkpoints lack, is never read: the library pools tokens itself.
        with failures(said), library_bars_off(), every_weight(folder, unused=("pooler.",)):
            model = kind(folder, device=str(self.device), model_kwargs={"dtype": self.dtype}, **safe)
        prompt = self.options.get("prompt")
        if prompt is not None and prompt not in model.prompts:
            known = ", ".join(model.prompts) or "none"
            raise InputError(f"{self.checkpoint.name}: has no prompt {prompt!r}; it has: {known}")
        for part in model.modules():
            if type(part).__name__ == "ColQwen2ForRetrieval":
                on_the_grid(part)
        return model.eval()

    def cuts(self, texts: Sequence[str]) -> list[bool] | None:
        """Whether each text after its prompt exceeds the model's limit in tokens; None if it states none."""
        limit, tokenizer = self.model.max_seq_length, getattr(self.model, "tokenizer", None)
        if limit is None or not callable(tokenizer):
            return None
        prompt = self.model.prompts.get(self.options.get("prompt") or self.model.default_prompt_name, "")
        given = [f"{prompt}{text}" for text in readable(texts)]
        with failures(f"{self.checkpoint.name}: its tokenizer cannot count tokens"):
            return [
                len(ids) > limit for ids in tokenizer(given, truncation=False, verbose=False)["input_ids"]
            ]

    def _settings(self) -> dict[str, Any]:
        return {
            "batch_size": count_option(self.options, "batch", 32, self.scheme),
            "convert_to_numpy": True,
            "normalize_embeddings": self.similarity == "cosine",
            "show_progress_bar": False,
        }

    def _seeing(self) -> Any:
        """The model; InputError when it reads texts alone."""
        if not self.model.supports("image"):
            read = " and ".join(self.model.modalities)
            raise InputError(f"{self.checkpoint.name}: reads {read}, no images")
        return self.model

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of RGB images; InputError when the model reads texts alone."""
        return self._narrowed(self._seeing().encode(list(images), **self._settings()))

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of texts, which the library batches by length."""
        prompt = self.options.get("prompt")
        return self._narrowed(self.model.encode(readable(texts), prompt_name=prompt, **self._settings()))

    def _narrowed(self, vectors: Any) -> NDArray[np.float32]:
        whole, scaled = np.asarray(vectors, dtype=np.float32), self.similarity == "cosine"
        return narrowed(whole, self.dim, self.checkpoint.name, scaled=scaled)


class SentenceTransformersMulti(SentenceTransformers):
    """A late-interaction model of sentence-transformers."""

    scheme = "st-multi"
    extra_options = ("prompt",)
    class_name = "MultiVectorEncoder"
    recipe = "ColQwen2 positions on the grid"
    similarity = "maxsim"

    def encode_images(self, images: Sequence[Image]) -> TokenVectors:
        """Vectors of the tokens of images, read as documents."""
        return TokenVectors.of(self._seeing().encode_document(list(images), **self._settings()))

    def encode_texts(self, texts: Sequence[str]) -> TokenVectors:
        """Vectors of the tokens of texts, read as queries."""
        prompt = self.options.get("prompt")
        vectors = self.model.encode_query(readable(texts), prompt_name=prompt, **self._settings())
        return TokenVectors.of(vectors)
