"""Settings of the knowledge audit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from equiview.audits.base import Settings
from equiview.data.fields import FileName, LanguageLabels

Kind = Literal["direct", "paper", "cot-local", "cot-english"]
MAX_TOKENS: dict[Kind, int] = {"direct": 64, "paper": 16, "cot-local": 2048, "cot-english": 2048}
"""Tokens that a reply may have, by kind of prompt."""


class KnowledgeSettings(Settings):
    """How is asked, in which languages, and what counts as a difference."""

    prompt: Kind = Field(
        default="direct",
        description="answer at once; at once, asked in English as in T; or reason first in the language of "
        "what is shown, or in English",
    )
    prompts: FileName = Field(default="", description="file of prompts of your own (.toml)")
    languages: LanguageLabels = Field(default=(), description="languages asked in; none means all")
    max_tokens: int | None = Field(
        default=None, ge=1, description="tokens that a reply may have; none: enough for the kind of prompt"
    )
    repeats: int = Field(
        default=1,
        ge=1,
        description="how often each question is asked in one language, to tell lost knowledge from sampling; "
        "3 or more where answers are sampled",
    )
    include_diagonal: bool = Field(
        default=False,
        description="average the consistency of a language with itself too, as T's code does",
    )
    least: int = Field(default=100, ge=2, description="questions below which nothing is judged")
    tolerance: float = Field(
        default=0.05, gt=0, lt=1, description="gap up to which accuracies count as equal, as a share"
    )
    lost_tolerance: float = Field(
        default=0.05, gt=0, lt=1, description="consistency that may be lost, as a share"
    )

    @field_validator("repeats")
    @classmethod
    def _enough(cls, repeats: int) -> int:
        if repeats == 2:
            raise ValueError("2 repeats tell too little; ask at least 3 times, or once")
        return repeats

    @property
    def tokens(self) -> int:
        """Tokens that a reply may have."""
        return self.max_tokens or MAX_TOKENS[self.prompt]
