"""What embedders on Qwen2-VL and Qwen2.5-VL share: a picture becomes tokens in the middle of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders._adapters import backbone, linear, tensors_of
from equiview.subjects.encoders.loading import preprocessing_of, tokenizer_of
from equiview.subjects.encoders.torch_encoder import Inputs, Tokens, TorchEncoder, pad, with_masks

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

PLACE = "<|image_pad|>"
LONGEST = 2048
"""Tokens of a text that are read; what is beyond is cut off."""
THINNEST = 200
"""The largest ratio of a picture's sides that the model's resizing accepts."""


class QwenEncoder(TorchEncoder):
    """An embedder that reads pictures and texts in one transformer."""

    half = "bfloat16"
    usual_batch = 4
    longest = LONGEST
    backbone = "Qwen2_5_VLModel"
    """The class of transformers that it is loaded as."""
    image_prompt: str
    text_prompt = "{}"
    """The prompt of each text; a text that is too long is cut before the end of the prompt."""
    pixels: dict[str, int] = {}  # noqa: RUF012 - never written to

    @property
    def recipe(self) -> str:
        """The prompts and limits."""
        return repr((self.image_prompt, self.text_prompt, self.longest, self.pixels))

    @cached_property
    def tokenizer(self) -> Any:
        """Qwen's tokenizer."""
        return tokenizer_of(self.checkpoint, require("transformers", self.extra).Qwen2Tokenizer)

    @cached_property
    def processor(self) -> Any:
        """Qwen's image preprocessing: sides become multiples of 28, within a number of pixels."""
        kind = require("transformers", self.extra).Qwen2VLImageProcessorPil
        return preprocessing_of(self.checkpoint, kind, **self.pixels)

    @cached_property
    def tensors(self) -> dict[str, Any]:
        """Every weight by its common name."""
        return tensors_of(self.checkpoint)

    @cached_property
    def model(self) -> Any:
        """The transformer without its language-model head."""
        model = backbone(self.backbone, self.checkpoint, self.tensors, self.dtype)
        return model.to(self.device).eval()

    def hidden(self, inputs: Inputs) -> torch.Tensor:
        """The last layer, `(n, longest, width)`."""
        return self.model(**inputs, use_cache=False).last_hidden_state

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Patches, their grid, and the prompt with as many places as a picture has tokens."""
        import torch

        pictures = self.processor(images=[self.resized(image) for image in images], return_tensors="pt")
        prompt = self.tokenizer(self.image_prompt)["input_ids"]
        place = self.tokenizer.convert_tokens_to_ids(PLACE)
        at = prompt.index(place)
        counts = pictures["image_grid_thw"].prod(dim=1) // self.processor.merge_size**2
        ids = [prompt[:at] + [place] * count + prompt[at + 1 :] for count in counts.tolist()]
        inputs = self.padded(with_masks(ids))
        kinds = (inputs["input_ids"] == place).to(torch.int32)
        return {**inputs, "mm_token_type_ids": kinds, **pictures}

    def resized(self, image: Image) -> Image:
        """A picture that the model's own preprocessing can read."""
        return widened(image)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids of texts in their prompt; the end of a long text is cut, the prompt stays whole."""
        tail = len(self.tokenizer(self.text_prompt.partition("{}")[2])["input_ids"])
        return with_masks(self._prompted(texts), self.longest, tail)

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text in its prompt has more tokens than are read."""
        return [len(row) > self.longest for row in self._prompted(texts)]

    def _prompted(self, texts: Sequence[str]) -> list[list[int]]:
        prompts = [self.text_prompt.replace("{}", text) for text in texts]
        return list(self.tokenizer(prompts, verbose=False)["input_ids"])

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Rows padded on the right: attention is causal, so padding is never seen."""
        filler = self.tokenizer.pad_token_id
        return pad(rows, {"input_ids": 0 if filler is None else filler, "attention_mask": 0})


class QwenTokens(QwenEncoder):
    """An embedder of one vector a token, the projection of the last layer, compared by MaxSim."""

    similarity = "maxsim"
    projected_by: str
    """The name of the layer that makes the vectors."""

    @cached_property
    def projection(self) -> Any:
        """The layer that makes a token's vector."""
        layer = linear(self.projected_by, self.tensors, self.checkpoint.folder)
        return layer.to(self.device, self.dtype).eval()

    def image_vectors(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """The projection of every token of prompt and picture."""
        return self.projection(self.hidden(inputs)), inputs["attention_mask"].bool()

    text_vectors = image_vectors


def widened(image: Image) -> Image:
    """`image`, with its shorter side enlarged where the ratio of sides is above `THINNEST`."""
    long, short = max(image.size), min(image.size)
    if long <= THINNEST * short:
        return image
    least = -(-long // THINNEST)
    return image.resize((max(image.width, least), max(image.height, least)))


def on_the_grid(model: Any) -> Any:
    """Return `model`, transformers' ColQwen2, which from now on reads pictures at Qwen2-VL's 3-D positions.

    In training each token of a picture had a position of time, row and column. Transformers' class embeds the
    tokens before its backbone can see where pictures are, and so counts 0, 1, 2, ... instead.
    """
    forward = model.forward

    @wraps(forward)
    def forward_on_the_grid(*, input_ids: Any, attention_mask: Any, **inputs: Any) -> Any:
        if inputs.get("image_grid_thw") is not None:
            inputs["position_ids"], _ = model.vlm.get_rope_index(
                input_ids=input_ids,
                mm_token_type_ids=(input_ids == model.config.vlm_config.image_token_id).int(),
                image_grid_thw=inputs["image_grid_thw"],
                attention_mask=attention_mask,
            )
        return forward(input_ids=input_ids, attention_mask=attention_mask, **inputs)

    # Not a hook: sentence-transformers calls `forward` itself, past the hooks.
    model.forward = forward_on_the_grid
    return model


def checked_choice(scheme: str, name: str, value: str, known: Sequence[str]) -> str:
    """Return `value` if it is one of `known`; InputError otherwise."""
    if value not in known:
        raise InputError(f"{scheme}: {name} is {value!r}; expected one of {', '.join(known)}")
    return value
