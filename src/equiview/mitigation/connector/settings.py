"""Settings of a connector's training. A file of your own needs to hold only what differs.

[TL]   TinyLLaVA Factory's base recipe (scripts/train/pretrain.sh, finetune.sh, train_phi.sh), which S follows
       (section 4.2); S states no number of its own.
[S]    stated by S: encoder and language model frozen in both stages (TinyLLaVA trains the language model too
       in the second).
[ours] neither says, or we differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from equiview.making import Option, Reference, Settings
from equiview.mitigation.settings import DEVICE, Epochs, Rate, Stage, TrainingSettings

QUESTION = "{question}"
TEMPLATE = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
    "detailed, and polite answers to the user's questions. USER: {image}\n{prompt} ASSISTANT:"
)


class CaptionStage(Stage):
    """The first stage."""

    batch: PositiveInt = 256  # [TL]
    learning_rate: Rate = 1e-3  # [TL]
    epochs: Epochs = 1.0  # [TL]


class QuestionStage(Stage):
    """The second stage."""

    batch: PositiveInt = 128  # [TL]
    learning_rate: Rate = 2e-5  # [TL]
    epochs: Epochs = 1.0  # [TL]


class ConnectorSettings(TrainingSettings):
    """How a connector is trained.

    >>> ConnectorSettings.of({"tokens": 4, "captions": {"batch": 32}}).captions.batch
    32
    """

    forward: PositiveInt = 16  # [ours] changes the speed and not the result
    tokens: int = Field(default=8, ge=1, le=4096)
    """Soft tokens an image; see docs/mitigation/connector.md. [ours]"""
    template: str = TEMPLATE  # [TL] its `phi` template
    caption_prompt: str = "Provide a one-sentence caption for the provided image."
    """As LLaVA 1.5 asks; TinyLLaVA's first stage shows the image alone. [ours]"""
    question_prompt: str = "{question}\nAnswer the question using a single word or phrase."
    """As TinyLLaVA's data ask of VQA. [TL]"""
    max_length: int = Field(default=2048, ge=8)
    """Tokens of an example; what is longer is cut. [TL]"""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"  # [TL]
    warmup: float = Field(default=0.03, ge=0, lt=1)
    """Share of the steps. [TL]"""
    weight_decay: NonNegativeFloat = 0.0  # [TL]
    max_grad_norm: PositiveFloat = 1.0  # [TL] the trainer's default
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """bf16 where the accelerator has it, else fp32; TinyLLaVA's is fp16. [ours]"""
    captions: CaptionStage = Field(default_factory=CaptionStage)
    questions: QuestionStage = Field(default_factory=QuestionStage)

    @property
    def stages(self) -> Mapping[str, Stage]:
        """The two stages, in their order."""
        return {"captions": self.captions, "questions": self.questions}

    @field_validator("template")
    @classmethod
    def _has_places(cls, template: str) -> str:
        from equiview.subjects.chat.soft_tokens import check_template

        return check_template(template)

    @field_validator("question_prompt")
    @classmethod
    def _asks(cls, prompt: str) -> str:
        if prompt.count(QUESTION) != 1:
            raise ValueError(f"must hold {QUESTION} once")
        return prompt


class ConnectorMaking(Settings):
    """What a connector is made of, and how."""

    encoder: Reference = Field(description="The encoder, which stays as it is, e.g. hf:ID_OR_PATH.")
    language_model: Reference = Field(
        description="A causal language model of transformers by id or path; it stays as it is."
    )
    captions: Reference = Field(
        default="", description="Captions of the first stage: a benchmark, or a file .jsonl."
    )
    questions: Reference = Field(
        default="", description="Questions and answers of the second stage: a benchmark, or a file .jsonl."
    )
    recipe: Annotated[ConnectorSettings, Option("--config", file=True)] = Field(
        default_factory=ConnectorSettings,
        description="TOML file with what differs from the recipe's settings.",
    )
    device: DEVICE = ""
