"""Settings that several makers share: the parts of a benchmark, and the numbers of a training's recipe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from equiview.making import Option, Settings, Task

DEVICE = Annotated[
    str,
    Option(recorded=False),
    Field(description="cuda, mps or cpu; the first accelerator by default."),
]
"""The setting `device` of a maker that trains."""
RENAMED = {"rate": "learning_rate", "every": "decay_epochs", "clip": "max_grad_norm"}
"""Settings by the names they once had, and their names."""


class Parts(Settings):
    """How a benchmark is divided into what is fitted on and what is held out."""

    share: float = Field(
        default=0.5, gt=0, lt=1, description="Share of the images to fit on; the others judge what was made."
    )
    apart: tuple[str, ...] = Field(
        default=("concept", "family"),
        description="Attributes of images of which one value is never in both parts, where there are any.",
    )
    seed: NonNegativeInt = Field(default=0, description="Of the two parts.")


class Strict(Settings):
    """Settings that know their former names."""

    @model_validator(mode="before")
    @classmethod
    def _by_its_name(cls, content: Any) -> Any:
        for old, new in RENAMED.items():
            if isinstance(content, Mapping) and old in content:
                raise ValueError(f"{old!r} is named {new!r} now")
        return content


Rate = Annotated[float, Field(gt=0, le=10)]
"""A learning rate. Above 10 nothing is learnt: vectors become zero, or not finite."""
Epochs = Annotated[float, Field(gt=0, le=1_000_000)]


class Stage(Strict):
    """One stretch of training: examples a step, the highest learning rate, and how long."""

    batch: PositiveInt
    learning_rate: Rate
    epochs: Epochs
    steps: int = Field(default=0, ge=0, le=10**9)
    """If above 0, the number of steps instead of epochs."""

    def planned(self, name: str, examples: int, *, whole: bool = False) -> Task:
        """The steps over so many examples; with `whole` a batch that is not whole is left out."""
        batches = examples // self.batch if whole else math.ceil(examples / self.batch)
        steps = self.steps or math.ceil(self.epochs * batches)
        return Task(f"{name}, {steps / batches:g} epochs in batches of {self.batch}", steps, "steps")


class TrainingSettings(Strict):
    """What every training has."""

    forward: PositiveInt
    """Examples in one pass through the model; a batch is made of several."""
    save_every: PositiveInt = 500
    """Steps between two checkpoints, at most."""
    save_minutes: float = Field(default=5.0, gt=0)
    """Minutes of work between two checkpoints, at most: what a kill costs."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """Below 2**32, which is as many as NumPy's generator takes."""

    @property
    def stages(self) -> Mapping[str, Stage]:
        """The stages by name."""
        return {}

    @model_validator(mode="after")
    def _divides(self) -> Self:
        for name, stage in self.stages.items():
            if stage.batch % min(stage.batch, self.forward):
                raise ValueError(
                    f"setting {name}.batch: {stage.batch} is no multiple of forward, {self.forward}"
                )
        return self
