"""Settings of fine-tuning: what all kinds have, a recipe for each kind, and what is fine-tuned on what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PositiveInt,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from equiview.errors import InputError
from equiview.making import Option, Reference, Settings
from equiview.mitigation.finetune.recipes import Recipe
from equiview.mitigation.settings import DEVICE, Stage, TrainingSettings


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

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        from equiview.mitigation.finetune.kinds import KINDS

        kinds = KINDS.all()
        recipes = {}
        for name, kind in kinds.items():
            try:
                recipes[name] = kind.value.recipe.of(content.get(name, {}))
            except InputError as error:
                raise ValueError(f"table [{name}], {error}") from None
        return {name: value for name, value in content.items() if name not in kinds} | {"recipes": recipes}

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = write(self)
        recipes = content.pop("recipes", {})
        return {**content, **recipes}


class FineTuneMaking(Settings):
    """What is fine-tuned on what, and how."""

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="The encoder to fine-tune, e.g. hf:ID_OR_PATH."
    )
    data: Reference = Field(description="D: a benchmark with images and captions.")
    synthetic: Reference = Field(
        default="",
        description="D': a folder of `equiview build removal`, or a benchmark with synthetic images.",
    )
    ratio: Annotated[float | None, Option(recorded=False)] = Field(
        default=None, description="|D'| / |D|, as in the paper from 0 to 0.4; all of D' by default."
    )
    recipe: Annotated[FineTuneSettings, Option("--config", file=True)] = Field(
        default_factory=FineTuneSettings,
        description="TOML file with what differs from the paper's settings.",
    )
    device: DEVICE = ""
