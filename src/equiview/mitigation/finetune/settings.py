"""Settings of fine-tuning: the paper's, from `defaults.toml`, and what a user's file changes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from equiview.errors import InputError
from equiview.mitigation.settings import Strict, TrainingSettings


class Recipe(Strict):
    """How a kind of model is fine-tuned: pairs a step, the rate of learning and its decay, and how long."""

    batch: int = Field(ge=2)
    rate: float = Field(gt=0)
    epochs: float = Field(gt=0)
    steps: int = Field(ge=0)
    decay: float = Field(gt=0, le=1)
    every: float = Field(gt=0)
    """Epochs after which the rate is multiplied by `decay`."""
    weight_decay: float = Field(ge=0)
    clip: float = Field(ge=0)
    frozen: tuple[str, ...]
    """Parameters that stay as they are, by how their names begin."""


class BlipRecipe(Recipe):
    """BLIP's, with the temperature of its contrastive loss."""

    temperature: float = Field(gt=0)


class VseppRecipe(Recipe):
    """VSE++'s, with the margin of its triplet loss."""

    margin: float = Field(gt=0)


class AdapterRecipe(Recipe):
    """That of small networks over an encoder that stays as it is; `hidden` 0 makes them linear."""

    temperature: float = Field(gt=0)
    hidden: int = Field(ge=0, le=65_536)


class FineTuneSettings(TrainingSettings):
    """How models are fine-tuned; `defaults.toml` says what each is and whose its default is.

    >>> FineTuneSettings.of({"dual": {"epochs": 2}}).dual.epochs
    2.0
    """

    precision: Literal["auto", "fp32", "bf16", "fp16"]
    dual: Recipe
    blip: BlipRecipe
    vsepp: VseppRecipe
    adapter: AdapterRecipe

    def check(self, source: str) -> None:
        """InputError for a batch that is no multiple of what goes through the model at a time."""
        for kind in ("dual", "blip", "vsepp", "adapter"):
            batch = getattr(self, kind).batch
            if batch % min(batch, self.forward):
                raise InputError(
                    f"{source}, setting '{kind}.batch': {batch} is no multiple of forward, {self.forward}"
                )
