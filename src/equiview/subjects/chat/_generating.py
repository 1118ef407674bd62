"""What local models that answer or caption share: checkpoint, device, batches without padding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from equiview.data.arguments import count_of
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.subjects.chat.base import Answerer
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.torch_encoder import (
    LENGTH_LIMIT,
    Inputs,
    chosen_device,
    chosen_dtype,
    from_files,
    loaded,
)

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

Place = tuple[int, Request]
SPARE = 4
"""Positions that models take for tokens of their own, at the beginning and the end."""


class LocalModel(Answerer):
    """A model of transformers that looks at a picture and says something, greedily.

    Options of every family: `device` (cuda, mps, cpu), `dtype` (float32, float16, bfloat16) and `batch`, the
    number of pictures in one forward pass. Questions are batched with others of as many tokens, so that an
    answer never depends on what is asked beside it. A checkpoint that brings code of its own is refused.
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "pillow")
    scheme: ClassVar[str]
    auto_class: ClassVar[str]

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = Checkpoint.find(argument, self.scheme)
        self.batch = count_of(self.checkpoint.options.get("batch", 16), "batch", self.scheme)

    @cached_property
    def device(self) -> torch.device:
        """Where the model runs: as asked, else the first accelerator there is."""
        return chosen_device(self.checkpoint.options.get("device"), self.scheme, "hf")

    @cached_property
    def dtype(self) -> torch.dtype:
        """Precision of the weights: as asked, else bfloat16 on an accelerator and float32 on a processor."""
        return chosen_dtype(self.checkpoint.options.get("dtype"), self.device, "bfloat16", self.scheme, "hf")

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files of the checkpoint and the precision."""
        return fingerprint(type(self).__qualname__, self.checkpoint.fingerprint, self.dtype)

    @cached_property
    def model_type(self) -> str:
        """The model type that the configuration states."""
        return str(self.checkpoint.json().get("model_type", ""))

    @cached_property
    def model(self) -> Any:
        """The model, whole, on its device and in evaluation mode."""
        kind = getattr(require("transformers", "hf"), self.auto_class)
        settings = {"dtype": self.dtype, "output_loading_info": True, "local_files_only": True}
        model, info = from_files(kind, self.checkpoint.folder, **settings)
        return loaded(model, info, self.checkpoint.folder).to(self.device).eval()

    @cached_property
    def processor(self) -> Any:
        """Its preprocessing of pictures and texts."""
        kind = require("transformers", "hf").AutoProcessor
        return from_files(kind, self.checkpoint.folder, local_files_only=True, backend="pil")

    @abstractmethod
    def text_of(self, request: Request) -> str | None:
        """What the model reads beside the picture, None for nothing; InputError for what it cannot do."""

    @abstractmethod
    def said(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """What it says of each picture of a batch, which is on the device."""

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place, reply); InputError for a request without a picture or of another kind."""
        blind = [request.id for request in requests if request.image is None]
        if images is None or blind:
            name = blind[0] if blind else requests[0].id
            raise InputError(f"{self.scheme}: request {name!r} is about no picture, which this model needs")
        _ = self.model, self.processor
        batches = list(self._batches(requests))
        prepared = ahead(lambda batch: self._inputs(batch, images), batches, depth=2)
        for batch, inputs in zip(batches, prepared, strict=True):
            texts = self._run(inputs, max(request.max_tokens for _, request in batch))
            for (place, _), text in zip(batch, texts, strict=True):
                yield place, Reply(text.strip())

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[Place]]:
        """Requests of as many tokens and one limit together, in parts of at most `batch`."""

        def alike(place: Place) -> tuple[int, int]:
            text = self.text_of(place[1])
            return (0 if text is None else len(self.tokens(text)), place[1].max_tokens)

        for _, group in groupby(sorted(enumerate(requests), key=alike), key=alike):
            rows = list(group)
            yield from (rows[start : start + self.batch] for start in range(0, len(rows), self.batch))

    def tokens(self, text: str) -> list[int]:
        """A text as the model reads it."""
        return list(self.processor.tokenizer(text).input_ids)

    def _inputs(self, batch: Sequence[Place], images: Items) -> Inputs:
        pictures = images.pictures(request.image for _, request in batch if request.image is not None)
        texts = [self.text_of(request) for _, request in batch]
        return self.inputs_of(pictures, [text for text in texts if text is not None])

    def inputs_of(self, pictures: Sequence[Image], texts: Sequence[str]) -> Inputs:
        """Pictures, and texts of as many tokens or none, as tensors."""
        pixels = dict(self.processor.image_processor(images=list(pictures), return_tensors="pt"))
        if not texts:
            return pixels
        read = dict(self.processor.tokenizer(list(texts), return_tensors="pt"))
        if self.model.can_generate():  # BLIP's text model knows no types of tokens, which its tokenizer gives
            read.pop("token_type_ids", None)
        return pixels | read

    def _run(self, inputs: Inputs, max_tokens: int) -> list[str]:
        torch = require("torch", "hf")
        placed = {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in inputs.items()
        }
        with torch.inference_mode():
            return self.said(placed, max_tokens)

    def generated(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """What `generate` says after what was read, without special tokens."""
        read = inputs.get("input_ids")
        config = self.model.config
        used = getattr(config, "num_query_tokens", 0) if read is None else read.shape[1]
        positions = getattr(config.get_text_config(), "max_position_embeddings", LENGTH_LIMIT)
        limit = max(1, min(max_tokens, positions - used - SPARE))
        ids = self.model.generate(**inputs, max_new_tokens=limit, do_sample=False)
        if (
            read is not None
            and ids.shape[1] >= read.shape[1]
            and bool((ids[:, : read.shape[1]] == read).all())
        ):
            ids = ids[:, read.shape[1] :]
        texts: list[str] = self.processor.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return texts
