"""`st:ID_OR_PATH` and `st-multi:ID_OR_PATH`: models of the sentence-transformers library.

`st` is a model of one vector an item, for texts alone or for texts and images; `st-multi` one of a vector a
token, whose texts are read as queries and images as documents. `prompt=NAME` chooses one of the model's
prompts for texts. A checkpoint that is not whole, or brings code of its own, is refused as with `hf:`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.data.arguments import count_of
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.subjects.base import register
from equiview.subjects.encoders._qwen import on_the_grid
from equiview.subjects.encoders.base import EmbeddingModel
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.torch_encoder import chosen_device, chosen_dtype, library_bars_off, readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

EXTRA = "sentence-transformers"


@register("st", usage=("st:ID_OR_PATH",), about="a model of sentence-transformers, one vector an item")
class SentenceTransformers(EmbeddingModel):
    """A model of sentence-transformers."""

    packages = ("sentence-transformers", "torch", "torchvision", "transformers", "tokenizers", "pillow")
    scheme = "st"
    class_name = "SentenceTransformer"
    recipe = ""
    """What else decides the vectors. Part of the fingerprint."""

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = Checkpoint.find(argument, self.scheme, ("prompt",), EXTRA)
        self.options = self.checkpoint.options
        stated = self.checkpoint.folder / "config_sentence_transformers.json"
        if stated.is_file() and self.similarity == "cosine":
            self.similarity = (
                "dot" if self.checkpoint.json(stated.name).get("similarity_fn_name") == "dot" else "cosine"
            )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files of the checkpoint, the precision and the prompt."""
        prompt = self.options.get("prompt", "")
        return fingerprint(self.scheme, self.recipe, self.checkpoint.fingerprint, self._dtype, prompt)

    @property
    def _dtype(self) -> str:
        device = chosen_device(self.options.get("device"), self.scheme, EXTRA)
        return str(chosen_dtype(self.options.get("dtype"), device, "float16", self.scheme, EXTRA))

    @cached_property
    def model(self) -> Any:
        """The model, in evaluation mode."""
        kind = getattr(require("sentence_transformers", EXTRA), self.class_name)
        device = chosen_device(self.options.get("device"), self.scheme, EXTRA)
        dtype = chosen_dtype(self.options.get("dtype"), device, "float16", self.scheme, EXTRA)
        try:
            with library_bars_off():
                model = kind(
                    str(self.checkpoint.folder),
                    device=str(device),
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"dtype": dtype},
                )
        except Exception as error:  # as many kinds as there are modules of that library
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"{self.checkpoint.folder}: {self.class_name} cannot be loaded from it ({reason})"
            ) from error
        prompt = self.options.get("prompt")
        if prompt is not None and prompt not in model.prompts:
            known = ", ".join(model.prompts) or "none"
            raise InputError(f"{self.checkpoint.name}: has no prompt {prompt!r}; it has: {known}")
        for part in model.modules():
            if type(part).__name__ == "ColQwen2ForRetrieval":
                on_the_grid(part)
        return model.eval()

    def _settings(self) -> dict[str, Any]:
        return {
            "batch_size": count_of(self.options.get("batch", 32), "batch", self.scheme),
            "convert_to_numpy": True,
            "normalize_embeddings": self.similarity == "cosine",
            "show_progress_bar": False,
        }

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of RGB images; InputError when the model reads texts alone."""
        if not self.model.supports("image"):
            raise InputError(
                f"{self.checkpoint.name}: reads {' and '.join(self.model.modalities)}, no images"
            )
        vectors: NDArray[np.float32] = self.model.encode(list(images), **self._settings()).astype("float32")
        return vectors

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32] | TokenVectors:
        """Vectors of texts, which the library batches by length."""
        vectors: NDArray[np.float32] = self.model.encode(
            readable(texts), prompt_name=self.options.get("prompt"), **self._settings()
        ).astype("float32")
        return vectors


@register(
    "st-multi", usage=("st-multi:ID_OR_PATH",), about="a model of sentence-transformers, one vector a token"
)
class SentenceTransformersMulti(SentenceTransformers):
    """A late-interaction model of sentence-transformers."""

    scheme = "st-multi"
    class_name = "MultiVectorEncoder"
    recipe = "ColQwen2 positions on the grid"
    similarity = "maxsim"

    def encode_images(self, images: Sequence[Image]) -> TokenVectors:
        """Vectors of the tokens of images, read as documents."""
        if not self.model.supports("image"):
            raise InputError(
                f"{self.checkpoint.name}: reads {' and '.join(self.model.modalities)}, no images"
            )
        return TokenVectors.of(self.model.encode_document(list(images), **self._settings()))

    def encode_texts(self, texts: Sequence[str]) -> TokenVectors:
        """Vectors of the tokens of texts, read as queries."""
        vectors = self.model.encode_query(
            readable(texts), prompt_name=self.options.get("prompt"), **self._settings()
        )
        return TokenVectors.of(vectors)
