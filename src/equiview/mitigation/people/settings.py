"""Settings of `equiview mitigate project`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from equiview.data.fields import LanguageLabels
from equiview.making import Option
from equiview.mitigation.vectors.settings import VectorMaking

Source = Literal["prompts", "captions", "images"]


class ProjectMaking(VectorMaking):
    """Project out of vectors what tells an attribute of people, such as gender."""

    method: ClassVar[str] = "project"

    by: tuple[str, ...] = Field(
        default=("gender",), min_length=1, description="Attributes of images to project out, between commas."
    )
    directions: tuple[Source, ...] = Field(
        default=("prompts",),
        min_length=1,
        description="What shows where an attribute lies: prompts that name its values, captions or images of "
        "each value; several between commas.",
    )
    prompts: Annotated[tuple[str, ...], Option(recorded=False)] = Field(
        default=(), description="Files of prompts of your own; by default those of gender, race and age."
    )
    languages: LanguageLabels = Field(default=("en",), description="Languages of the prompts; empty: all.")
    alike: tuple[str, ...] = Field(
        default=("role",),
        description="Attributes of images of which captions that are compared have one value, where there "
        "are any.",
    )
    weight: float = Field(
        default=1000.0,
        ge=0,
        le=1e6,
        description="How much texts that differ in the attribute alone are drawn together; 0: plain "
        "orthogonal projection.",
    )
    weight_by: Literal["given", "ndkl"] = Field(
        default="given",
        description="given: --weight; ndkl: the one of --weights by which neutral prompts show people most "
        "evenly, on the part that is fitted on.",
    )
    weights: tuple[float, ...] = Field(
        default=(0.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0),
        min_length=1,
        description="Weights that --weight-by ndkl tries.",
    )
    price: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="How much R@5 of captions such a weight may cost at most, such as from 0.60 to 0.55.",
    )
    side: Literal["texts", "images", "both"] = Field(default="texts", description="What is projected.")
    apart: tuple[str, ...] = Field(
        default=("role", "concept", "family"),
        description="Attributes of images of which one value is never in both parts, where there are any.",
    )

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if twice := [name for name in self.by if self.by.count(name) > 1]:
            raise ValueError(f"by: names {twice[0]!r} twice")
        if both := [name for name in self.alike if name in self.by]:
            raise ValueError(f"alike: {both[0]!r} is projected out; a pair differs in it")
        if self.prompts and "prompts" not in self.directions:
            raise ValueError("prompts: are not asked; name prompts among the directions as well")
        if odd := [weight for weight in self.weights if not 0 <= weight <= 1e6]:
            raise ValueError(f"weights: {odd[0]:g} is not between 0 and 1e6")
        if self.weight_by == "ndkl" and self.directions == ("images",):
            raise ValueError(
                "weight_by: directions of images have no pairs to draw together, so that no weight changes "
                "anything; name prompts or captions among the directions"
            )
        return self
