"""`colpali:` and `colqwen2:`: late interaction by transformers' own classes, one vector a token, MaxSim.

Checkpoints in transformers' layout, such as vidore/colpali-v1.3-hf and vidore/colqwen2-v1.0-hf (Faysse et
al., "ColPali: Efficient Document Retrieval with Vision Language Models", 2024). Every token has a vector,
prompt included, padding excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders._qwen import LONGEST, on_the_grid, widened
from equiview.subjects.encoders.loading import preprocessing_of, tokenizer_of, whole_model
from equiview.subjects.encoders.torch_encoder import Inputs, Tokens, TorchEncoder, pad, with_masks

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


class LateInteraction(TorchEncoder):
    """A retriever of transformers that gives each token a vector."""

    half = "bfloat16"
    usual_batch = 4
    parts_used = ("model", "processor")
    similarity = "maxsim"
    family: str
    """The stem of its classes in transformers."""

    @property
    def recipe(self) -> str:
        """The limit; the prompts are the processor's."""
        return f"{LONGEST}"

    @cached_property
    def model(self) -> Any:
        """The model, whole."""
        if (self.checkpoint.folder / "adapter_config.json").is_file():
            raise InputError(
                f"{self.checkpoint.name}: is an adapter; {self.scheme} reads merged checkpoints, whose names "
                "end in -hf on the hub"
            )
        kind = getattr(require("transformers", self.extra), f"{self.family}ForRetrieval")
        model = whole_model(kind, self.checkpoint.folder, dtype=self.dtype, local_files_only=True)
        return model.to(self.device).eval()

    @cached_property
    def processor(self) -> Any:
        """Its prompts and image preprocessing, which is Pillow's."""
        library = require("transformers", self.extra)
        images = preprocessing_of(self.checkpoint, library.AutoImageProcessor, backend="pil")
        return getattr(library, f"{self.family}Processor")(images, tokenizer_of(self.checkpoint))

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Pixels in their prompt."""
        inputs = self.processor.process_images([widened(image) for image in images])
        return {name: value for name, value in inputs.items() if name != "labels"}

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids of texts in the query prompt, ten padding tokens after them; long texts are cut."""
        rows, kept = self._prompted(texts)
        tokens = with_masks(rows, LONGEST, kept)
        if self.family == "ColPali":  # PaliGemma attends to a prompt (type 0) in both directions
            return [{**row, "token_type_ids": [0] * len(row["input_ids"])} for row in tokens]
        return tokens

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text in its prompt has more tokens than are read."""
        return [len(row) > LONGEST for row in self._prompted(texts)[0]]

    def _prompted(self, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """Token ids of texts in the query prompt, and how many of them are after the text."""
        filler = self.processor.query_augmentation_token
        first = self.processor.tokenizer.bos_token if self.family == "ColPali" else ""
        tail = f"{filler * 10}\n"
        tokenize, special = self.processor.tokenizer, {"add_special_tokens": self.family != "ColPali"}
        kept = len(tokenize(tail, **special)["input_ids"])
        prompts = [f"{first}{self.processor.query_prefix}{text}{tail}" for text in texts]
        return tokenize(prompts, verbose=False, **special)["input_ids"], kept

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Rows padded on the tokenizer's side."""
        tokenizer = self.processor.tokenizer
        fills = {"input_ids": tokenizer.pad_token_id or 0, "attention_mask": 0, "token_type_ids": 0}
        return pad(rows, fills, tokenizer.padding_side)

    def image_vectors(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors of all tokens, and the mask of those that are not padding."""
        return self.model(**inputs).embeddings, inputs["attention_mask"].bool()

    text_vectors = image_vectors


class ColPali(LateInteraction):
    """ColPali in transformers' layout."""

    scheme = "colpali"
    family = "ColPali"


class ColQwen2(LateInteraction):
    """ColQwen2 in transformers' layout."""

    scheme = "colqwen2"
    family = "ColQwen2"

    @property
    def recipe(self) -> str:
        """The limit, and how positions are counted."""
        return f"{super().recipe} positions on the grid"

    @cached_property
    def model(self) -> Any:
        """The model, whole, reading pictures on Qwen2-VL's grid."""
        return on_the_grid(super().model)
