"""`hf-vqa:ID_OR_PATH`: models of transformers that answer questions about pictures: ViLT, BLIP, BLIP-2, GIT.

ViLT chooses among the answers that it knows, BLIP generates one, BLIP-2 completes "Question: ... Answer:" as
in its paper, GIT continues the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.base import register
from equiview.subjects.chat._generating import LocalModel
from equiview.subjects.encoders.torch_encoder import Inputs

if TYPE_CHECKING:
    from PIL.Image import Image

COMPLETED = "Question: {question} Answer:"


@register(
    "hf-vqa",
    usage=("hf-vqa:ID_OR_PATH",),
    about="a model of transformers that answers: ViLT, BLIP, BLIP-2, GIT",
)
class QuestionAnswerer(LocalModel):
    """A model of the transformers library that answers questions about pictures."""

    scheme = "hf-vqa"

    @property
    def auto_class(self) -> str:  # type: ignore[override]
        """GIT's is that of captioners."""
        return (
            "AutoModelForImageTextToText"
            if self.model_type == "git"
            else "AutoModelForVisualQuestionAnswering"
        )

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
        torch = require("torch", "hf")
        tokenizer: Any = self.processor.tokenizer
        rows = tokenizer(list(texts), add_special_tokens=False).input_ids
        return super().inputs_of(pictures, []) | {
            "input_ids": torch.tensor([[tokenizer.cls_token_id, *row] for row in rows])
        }

    def said(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """Its answers."""
        if not self.labels:
            return self.generated(inputs, max_tokens)
        return [self.labels[place] for place in self.model(**inputs).logits.argmax(-1).tolist()]
