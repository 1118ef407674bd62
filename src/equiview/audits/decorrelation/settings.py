"""Settings of the decorrelation audit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from equiview.audits.base import Settings


class DecorrelationSettings(Settings):
    """Where lists are cut, which captions are right, and how often naming what is gone is still fair."""

    cutoffs: tuple[int, ...] = Field(default=(1, 5, 10), description="cutoffs at which numbers are given")
    kept: Literal["any", "all"] = Field(
        default="any", description="a right caption names any object that is still there, or all of them"
    )
    judged_at: int = Field(default=10, ge=1, description="the cutoff that the verdict reads")
    tolerance: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="share of captions by which naming what is gone may exceed its expectation",
    )
    least: int = Field(default=30, ge=2, description="synthetic images below which nothing is judged")

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_in_order(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if not cutoffs or min(cutoffs) < 1:
            raise ValueError("cutoffs must be whole numbers of 1 or more, and at least one")
        return tuple(sorted(set(cutoffs)))

    @model_validator(mode="after")
    def _judged_is_a_cutoff(self) -> DecorrelationSettings:
        if self.judged_at not in self.cutoffs:
            raise ValueError(f"judged_at is {self.judged_at}, which is not one of the cutoffs")
        return self
