"""Settings of distillation: what teaches whom by which captions, and a recipe for each kind of student.

[M-CLIP] what its authors say of the training of their released models (larger_mclip.md of their repository).
[ours]   they do not say, or we differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from equiview.making import Option, Reference
from equiview.mitigation.settings import DEVICE, Epochs, Parts, Rate, Stage, TrainingSettings

MODEL, TOWER, ADAPTER, NGRAMS = ("model", "tower", "adapter", "ngrams")
"""Kinds of students: a text model of transformers, the encoder's own tower, a network after it, n-grams."""


class ModelStage(Stage):
    """A text model of transformers, its tokens averaged, and a linear layer."""

    batch: PositiveInt = 2048  # [M-CLIP]
    learning_rate: Rate = 1e-5  # [M-CLIP]
    epochs: Epochs = 10.0  # [ours]


class TowerStage(Stage):
    """The encoder's own text tower."""

    batch: PositiveInt = 256  # [ours]
    learning_rate: Rate = 1e-5  # [ours]
    epochs: Epochs = 10.0  # [ours]


class AdapterStage(Stage):
    """A small network after the encoder's own text tower, which stays as it is."""

    batch: PositiveInt = 256  # [ours]
    learning_rate: Rate = 1e-3  # [ours]
    epochs: Epochs = 10.0  # [ours]
    hidden: int = Field(default=256, ge=0, le=65_536)
    """Width of the hidden layer; 0: one linear layer. [ours]"""


class NgramStage(Stage):
    """A table of hashed n-grams and words, and two layers, from nothing."""

    batch: PositiveInt = 2048  # [ours]
    learning_rate: Rate = 1e-2  # [ours]
    epochs: Epochs = 100.0  # [ours]


class DistillSettings(TrainingSettings):
    """How a student is taught; the table `[KIND]` of a file is the recipe of that kind.

    >>> DistillSettings.of({"ngrams": {"epochs": 2}}).ngrams.epochs
    2.0
    """

    forward: PositiveInt = 64
    """Texts in one pass through a model of transformers; changes the result by rounding alone. [ours]"""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Of the passes: bf16 where the accelerator has it, else fp16 on CUDA, else fp32; weights stay fp32."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"  # [ours]
    warmup: float = Field(default=0.1, ge=0, lt=1)
    """Share of the steps over which the learning rate rises. [ours] M-CLIP: the first thousand"""
    weight_decay: NonNegativeFloat = 0.0  # [M-CLIP] Adam
    max_grad_norm: NonNegativeFloat = 0.0  # [ours] none
    max_length: int = Field(default=128, ge=8)
    """Tokens of a text that a text model reads; what is longer is cut. [ours]"""
    model: ModelStage = Field(default_factory=ModelStage)
    tower: TowerStage = Field(default_factory=TowerStage)
    adapter: AdapterStage = Field(default_factory=AdapterStage)
    ngrams: NgramStage = Field(default_factory=NgramStage)

    @property
    def stages(self) -> Mapping[str, Stage]:
        """The recipes of students whose batches are made of several passes; small ones take them whole."""
        return {MODEL: self.model, TOWER: self.tower}

    @property
    def recipes(self) -> Mapping[str, Stage]:
        """The recipe of each kind of student."""
        return {**self.stages, ADAPTER: self.adapter, NGRAMS: self.ngrams}


class DistillMaking(Parts):
    """What teaches whom, and by which captions."""

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="The encoder whose text tower teaches and whose images stay, e.g. hf:ID_OR_PATH."
    )
    benchmark: Reference = Field(
        default="",
        description="Images with texts in several languages; one part teaches, the other is kept.",
    )
    parallel: Annotated[tuple[str, ...], Option(repeated=True, recorded=False)] = Field(
        default=(),
        description="Files with a text a line, line by line of one meaning: en=FILE,de=FILE; repeatable.",
    )
    source: str = Field(default="en", description="The language that the encoder's text tower teaches from.")
    student: Reference = Field(
        default="",
        description="A text model of transformers by id or path, 'ngrams' (a small new one) or 'adapter'; by "
        "default the encoder's own text tower, or an adapter where that cannot be trained.",
    )
    recipe: Annotated[DistillSettings, Option("--config", file=True)] = Field(
        default_factory=DistillSettings,
        description="TOML file with what differs from the usual settings.",
    )
    device: DEVICE = ""
