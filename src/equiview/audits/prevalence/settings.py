"""Settings of the prevalence audit."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from equiview.audits.searching import SearchSettings


class PrevalenceSettings(SearchSettings):
    """Cutoffs, the groups that are compared, the tolerance, and how the pool is searched.

    `by` is "tier", "language" or a column of the texts (a seller, a dialect, a source, a script). `judged_at`
    are the cutoffs that the verdict reads; `tolerance` is how much less than its expected exposure a group
    may get, as a share of the latter; it may get as many times more.
    """

    by: str = Field(default="tier", min_length=1, description="tier, language, or a column of the texts")
    tolerance: float = Field(default=0.1, ge=0, lt=1, description="share of the expected exposure")
    judged_at: tuple[int, ...] = Field(default=(1, 10, 99), description="cutoffs that the verdict reads")
    cutoffs: tuple[int, ...] = Field(
        default=(1, 5, 10, 25, 50, 99), description="cutoffs at which numbers are given"
    )
    prior: Literal["uniform", "pool"] = Field(
        default="uniform", description="shares that LBKL and DLBKL measure from: equal ones, or the pool's"
    )
    eps: float = Field(default=1e-9, gt=0, lt=1, description="what stands for a share of 0 in LBKL and DLBKL")
    depth: int = Field(default=100, ge=1, description="ranks observed, and the reach of NDCG (retrieved)")
    candidates: int | None = Field(
        default=None,
        ge=1,
        description="captions that MaxSim ranks for an image, those of the nearest mean token as in P; "
        "none: all",
    )

    @property
    def key(self) -> str:
        """The key of the groups that are judged: "tier", "language", or "group" for any other column."""
        return self.by if self.by in ("tier", "language") else "group"

    @property
    def log_tolerance(self) -> float:
        """The tolerance as a logarithm of a ratio, the same to both sides."""
        return -math.log1p(-self.tolerance)

    @field_validator("cutoffs", "judged_at")
    @classmethod
    def _cutoffs_in_order(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if not cutoffs or min(cutoffs) < 1:
            raise ValueError("cutoffs must be whole numbers of 1 or more, and at least one")
        return tuple(sorted(set(cutoffs)))

    @model_validator(mode="after")
    def _one_way_to_search(self) -> Self:
        if self.candidates and self.search != "exact":
            raise ValueError(
                f"candidates are MaxSim's, which search={self.search} does not know; leave out one"
            )
        return self
