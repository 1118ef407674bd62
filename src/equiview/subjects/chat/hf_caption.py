"""`hf-caption:ID_OR_PATH`: models of transformers that caption pictures: BLIP, BLIP-2, GIT, ..."""

from __future__ import annotations

from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects.base import register
from equiview.subjects.chat._generating import LocalModel
from equiview.subjects.encoders.torch_encoder import Inputs


@register(
    "hf-caption",
    usage=("hf-caption:ID_OR_PATH",),
    about="a captioner of transformers: BLIP, BLIP-2, GIT, ...",
)
class Captioner(LocalModel):
    """A captioner of the transformers library; it reads no prompt."""

    scheme = "hf-caption"
    auto_class = "AutoModelForImageTextToText"

    def text_of(self, request: Request) -> str | None:
        """Nothing; InputError for a question."""
        if request.question:
            raise InputError(f"hf-caption writes captions alone; {request.id!r} is a question: use hf-vqa")
        return None

    def said(self, inputs: Inputs, max_tokens: int) -> list[str]:
        """Its captions."""
        return self.generated(inputs, max_tokens)
