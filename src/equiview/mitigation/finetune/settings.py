"""Settings of fine-tuning: what all kinds have, and a recipe for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    Field,
    PositiveInt,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from equiview.mitigation.finetune.kinds import KINDS
from equiview.mitigation.finetune.recipes import Recipe
from equiview.mitigation.settings import Stage, TrainingSettings, checked


class FineTuneSettings(TrainingSettings):
    """How models are fine-tuned; the table `[KIND]` of a file is the recipe of that kind.

    >>> FineTuneSettings.of({"dual": {"epochs": 2}}).recipes["dual"].epochs
    2.0
    """

    forward: PositiveInt = 32  # [ours]
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Of the passes: bf16 where the accelerator has it, else fp16 on CUDA, else fp32; weights stay fp32."""
    kind: str = ""
    """The kind; by default the one that takes the encoder. [ours]"""
    recipes: dict[str, SerializeAsAny[Recipe]] = Field(default_factory=dict)

    @property
    def stages(self) -> Mapping[str, Stage]:
        """The recipe of each kind."""
        return self.recipes

    @classmethod
    def names(cls) -> list[str]:
        """What may be set, the kinds at the end."""
        return [*(name for name in cls.model_fields if name != "recipes"), *KINDS.all()]

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        kinds = KINDS.all()
        recipes = {
            name: checked(kind.value.recipe, content.get(name, {}), name) for name, kind in kinds.items()
        }
        return {name: value for name, value in content.items() if name not in kinds} | {"recipes": recipes}

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = write(self)
        recipes = content.pop("recipes", {})
        return {**content, **recipes}
