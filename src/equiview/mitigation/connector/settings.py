"""Settings of a training: ours and the recipe's, from `defaults.toml`, and what a user's file changes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from equiview.errors import InputError
from equiview.mitigation.settings import Strict, TrainingSettings
from equiview.subjects.chat.soft_tokens import check_template

QUESTION = "{question}"


class StageSettings(Strict):
    """One stage: examples a step, the highest rate of learning, and how long."""

    batch: int = Field(ge=1)
    rate: float = Field(gt=0)
    epochs: float = Field(gt=0)
    steps: int = Field(ge=0)


class ConnectorSettings(TrainingSettings):
    """How a connector is trained; `defaults.toml` says what each is and whose its default is.

    >>> ConnectorSettings.of({"tokens": 4, "captions": {"batch": 32}}).captions.batch
    32
    """

    tokens: int = Field(ge=1, le=4096)
    template: str
    caption_prompt: str
    question_prompt: str
    max_length: int = Field(ge=8)
    schedule: Literal["cosine", "linear", "constant"]
    warmup: float = Field(ge=0, lt=1)
    weight_decay: float = Field(ge=0)
    clip: float = Field(gt=0)
    precision: Literal["auto", "fp32", "bf16"]
    captions: StageSettings
    questions: StageSettings

    def check(self, source: str) -> None:
        """InputError for a template or a prompt without its place, or a batch that cannot be divided."""
        check_template(self.template)
        if self.question_prompt.count(QUESTION) != 1:
            raise InputError(f"{source}, setting 'question_prompt' must hold {QUESTION} once")
        for name in ("captions", "questions"):
            stage = getattr(self, name)
            if stage.batch % min(stage.batch, self.forward):
                raise InputError(
                    f"{source}, setting '{name}.batch': {stage.batch} is no multiple of forward, "
                    f"{self.forward}"
                )
