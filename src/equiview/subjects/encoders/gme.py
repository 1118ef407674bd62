"""`gme:ID_OR_PATH`: GME, universal multimodal embedders on Qwen2-VL (2B and 7B).

A text or a picture stands in a chat turn after an instruction, and the vector is the last layer's at the
closing token (Zhang et al., "GME: Improving Universal Multimodal Retrieval by Multimodal LLMs", 2024). The
models were trained with positions counted 0, 1, 2, ... through picture and text, not on Qwen2-VL's grid. A
picture is resized twice, as by the published `gme_inference.py`: to sides that are multiples of 28, then to
as many pixels as the model takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equiview.subjects.encoders._qwen import PLACE, THINNEST, QwenEncoder

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

    from equiview.subjects.encoders.torch_encoder import Inputs

SIDE, LEAST, MOST = 28, 4 * 28 * 28, 16384 * 28 * 28
"""The first resizing: sides become multiples of `SIDE`, the number of pixels is from `LEAST` to `MOST`."""
INSTRUCTION = "You are a helpful assistant."
TURN = (
    "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<|endoftext|>"
)


class Gme(QwenEncoder):
    """GME on Qwen2-VL; `instruction=...` replaces the system prompt of texts."""

    scheme = "gme"
    backbone = "Qwen2VLModel"
    extra_options = ("instruction",)
    longest = 1800
    image_prompt = TURN.format(INSTRUCTION, f"<|vision_start|>{PLACE}<|vision_end|>")
    pixels = {"min_pixels": 256 * 28 * 28, "max_pixels": 1280 * 28 * 28}  # noqa: RUF012 - never written to

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.text_prompt = TURN.format(self.options.get("instruction", INSTRUCTION), "{}")

    @property
    def recipe(self) -> str:
        """The prompts, the limits, and the first resizing."""
        return f"{super().recipe} {SIDE}"

    def resized(self, image: Image) -> Image:
        """The picture with sides that are multiples of 28."""
        return image.resize(first_size(*image.size))

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The closing token of each picture's turn."""
        embedded = self.model.get_input_embeddings()(inputs["input_ids"])
        features = self.model.visual(
            inputs["pixel_values"], grid_thw=inputs["image_grid_thw"], return_dict=True
        ).pooler_output
        places = (inputs["mm_token_type_ids"] == 1).unsqueeze(-1)
        filled = embedded.masked_scatter(places, features.to(embedded.dtype))
        return self._closing(filled, inputs["attention_mask"])

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The closing token of each text's turn."""
        embedded = self.model.get_input_embeddings()(inputs["input_ids"])
        return self._closing(embedded, inputs["attention_mask"])

    def _closing(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        import torch

        count, length = mask.shape
        positions = torch.arange(length, device=mask.device).expand(3, count, length)
        hidden = self.model(
            inputs_embeds=embedded, attention_mask=mask, position_ids=positions, use_cache=False
        ).last_hidden_state
        return hidden[torch.arange(count, device=mask.device), mask.sum(dim=1) - 1]


def first_size(width: int, height: int) -> tuple[int, int]:
    """The size, in pixels, to which a picture is resized before the model's own preprocessing.

    >>> first_size(500, 375), first_size(20, 3000)
    ((504, 364), (28, 2996))
    """
    wide, high = (max(SIDE, round(side / SIDE) * SIDE) for side in (width, height))
    if wide * high > MOST:
        scale = math.sqrt(width * height / MOST)
        wide, high = (max(SIDE, math.floor(side / scale / SIDE) * SIDE) for side in (width, height))
    elif wide * high < LEAST:
        scale = math.sqrt(LEAST / (width * height))
        wide, high = (math.ceil(side * scale / SIDE) * SIDE for side in (width, height))
    return min(wide, high * THINNEST), min(high, wide * THINNEST)
