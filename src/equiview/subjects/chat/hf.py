"""`hf-vqa:ID_OR_PATH` and `hf-caption:ID_OR_PATH`: models of transformers that answer or caption, here.

ViLT chooses among the answers that it knows, BLIP generates one, BLIP-2 completes "Question: ... Answer:" as
in its paper, GIT continues the question.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from equiview.data.arguments import count_option
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.subjects.chat.base import Answerer
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import from_files, whole_model
from equiview.subjects.encoders.torch_encoder import LENGTH_LIMIT, Inputs, OnTorch

if TYPE_CHECKING:
    from PIL.Image import Image

Place = tuple[int, Request]
SPARE = 4
"""Positions that models take for tokens of their own, at the beginning and the end."""
COMPLETED = "Question: {question} Answer:"


class LocalModel(OnTorch, Answerer):
    """A model of transformers that answers about a picture by greedy decoding.

    Options of every family: `device` (cuda, mps, cpu), `dtype` (float32, float16, bfloat16) and `batch`, the
    number of pictures in one forward pass. A batch holds questions of equal length, so that no answer
    depends on padding. A checkpoint that brings code of its own is refused.
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "pillow")
    auto_class = "AutoModelForImageTextToText"

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = Checkpoint.find(argument, self.scheme)
        self.options = self.checkpoint.options
        self.batch = count_option(self.options, "batch", 16, self.scheme)

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
        model = whole_model(kind, self.checkpoint.folder, dtype=self.dtype, local_files_only=True)
        return model.to(self.device).eval()

    @cached_property
    def processor(self) -> Any:
        """Its preprocessing of pictures and texts."""
        kind = require("transformers", "hf").AutoProcessor
        return from_files(kind, self.checkpoint.folder, local_files_only=True, backend="pil")

    @abstractmethod
    def text_of(self, request: Request) -> str | None:
        """The text that the model reads beside the picture or None; InputError for what it cannot do."""

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
            with require("torch", "hf").inference_mode():
                texts = self.said(self.placed(inputs), batch[0][1].max_tokens)
            for (place, _), text in zip(batch, texts, strict=True):
                yield place, Reply(text.strip())

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[Place]]:
        """Requests of one length and one limit together, in parts of at most `batch`."""

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
        """Pictures, and texts of one length if there are any, as tensors."""
        pixels = dict(self.processor.image_processor(images=list(pictures), return_tensors="pt"))
        if not texts:
            return pixels
        read = dict(self.processor.tokenizer(list(texts), return_tensors="pt"))
        if self.model.can_generate():  # BLIP's text model knows no types of tokens, which its tokenizer gives
            read.pop("token_type_ids", None)
        return pixels | read

    def said(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """The text generated for each picture of a batch on the device, without prompt and special tokens."""
        read = inputs.get("input_ids")
        config = self.model.config
        used = getattr(config, "num_query_tokens", 0) if read is None else read.shape[1]
        positions = getattr(config.get_text_config(), "max_position_embeddings", LENGTH_LIMIT)
        limit = max(1, min(max_tokens, positions - used - SPARE))
        ids = self.model.generate(**inputs, max_new_tokens=limit, do_sample=False)
        if read is not None and read.equal(ids[:, : read.shape[1]]):
            ids = ids[:, read.shape[1] :]
        return list(self.processor.tokenizer.batch_decode(ids, skip_special_tokens=True))


class Captioner(LocalModel):
    """A captioner of the transformers library; it reads no prompt."""

    scheme = "hf-caption"

    def text_of(self, request: Request) -> str | None:
        """Nothing; InputError for a question."""
        if request.question:
            raise InputError(f"hf-caption writes captions alone; {request.id!r} is a question: use hf-vqa")
        return None


class QuestionAnswerer(LocalModel):
    """A model of the transformers library that answers questions about pictures."""

    scheme = "hf-vqa"

    @property
    def auto_class(self) -> str:  # type: ignore[override]
        """GIT's is that of captioners."""
        return LocalModel.auto_class if self.model_type == "git" else "AutoModelForVisualQuestionAnswering"

    @cached_property
    def labels(self) -> dict[int, str]:
        """The answers among which a classifier such as ViLT chooses; empty for one that generates."""
        return {} if self.model.can_generate() else dict(self.model.config.id2label)

    def text_of(self, request: Request) -> str | None:
        """The question; InputError for a request without one."""
        if not request.question:
            raise InputError(f"hf-vqa answers questions alone; {request.id!r} holds none: use hf-caption")
        return (
            COMPLETED.format(question=request.question) if self.model_type == "blip-2" else request.question
        )

    def inputs_of(self, pictures: Sequence[Image], texts: Sequence[str]) -> Inputs:
        """As the library's processor makes them; GIT's questions begin with [CLS] and are not ended."""
        if self.model_type == "blip-2":
            return dict(self.processor(images=list(pictures), text=list(texts), return_tensors="pt"))
        if self.model_type != "git":
            return super().inputs_of(pictures, texts)
        tokenizer = self.processor.tokenizer
        rows = tokenizer(list(texts), add_special_tokens=False).input_ids
        ids = require("torch", "hf").tensor([[tokenizer.cls_token_id, *row] for row in rows])
        return super().inputs_of(pictures, []) | {"input_ids": ids}

    def said(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """Its answers, generated or chosen."""
        if not self.labels:
            return super().said(inputs, max_tokens)
        return [self.labels[place] for place in self.model(**inputs).logits.argmax(-1).tolist()]
