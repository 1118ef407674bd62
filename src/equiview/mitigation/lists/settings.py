"""The methods that re-rank lists, by name, and their settings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, PositiveInt, model_validator

from equiview.making import Option, Reference, Settings
from equiview.mitigation.settings import Parts
from equiview.ours.makers import ABOUT


class ListMaking(Settings):
    """Whose lists are ordered, and how."""

    method: ClassVar[str]

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="An encoder, or a system of result lists, e.g. hf:ID_OR_PATH or run:FILE."
    )
    by: str = Field(
        default="language", description="What groups are: language, tier, or an attribute of texts."
    )
    depth: PositiveInt = Field(
        default=200, le=10_000, description="First results that are put in another order."
    )
    shares: tuple[str, ...] = Field(
        default=(),
        description="Share that each group is to hold, as en=0.5,sw=0.5; by default its share of the texts.",
    )

    @property
    def share_of(self) -> dict[str, float]:
        """The shares by group."""
        return {group: float(share) for group, _, share in (text.rpartition("=") for text in self.shares)}

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        for text in self.shares:
            group, _, share = text.rpartition("=")
            try:
                right = bool(group) and 0 < float(share) <= 1
            except ValueError:
                right = False
            if not right:
                raise ValueError(f"shares: {text!r} is not GROUP=SHARE with a share above 0 and at most 1")
        total = sum(self.share_of.values())
        if self.shares and (len(self.share_of) < len(self.shares) or abs(total - 1) > 0.001):
            raise ValueError(f"shares: must name each group once and add up to 1, not to {total:g}")
        return self


class FusionMaking(ListMaking):
    """Settings of rank fusion."""

    constant: float = Field(
        default=60.0, gt=0, le=1e6, description="Added to ranks: the less, the more first places count."
    )


class ProtectedMaking(ListMaking):
    """Settings of FA*IR, which protects one group."""

    protected: str = Field(description="The group that is held to its share, such as low.")
    alpha: float = Field(
        default=0.1, gt=0, lt=0.5, description="How often a fair list may be put in another order."
    )


class ExposureMaking(ListMaking, Parts):
    """Settings of the linear program, which is solved on the lists of one part of a benchmark."""

    benchmark: Reference = Field(description="Images whose lists are read; no right answer is.")
    cutoff: PositiveInt = Field(
        default=10, le=10_000, description="First ranks that count as seen, each by 1 / log2(rank + 1)."
    )

    @model_validator(mode="after")
    def _check_cutoff(self) -> Self:
        if self.cutoff > self.depth:
            raise ValueError(f"cutoff: {self.cutoff} is deeper than depth {self.depth}; raise --depth")
        return self


METHODS: dict[str, type[ListMaking]] = {
    name: type(f"{name.title().replace('-', '')}Making", (base,), {"method": name, "__doc__": ABOUT[name]})
    for name, base in (
        ("interleave", ListMaking),
        ("fair-topk", ListMaking),
        ("rrf", FusionMaking),
        ("detgreedy", ListMaking),
        ("detcons", ListMaking),
        ("detrelaxed", ListMaking),
        ("detconstsort", ListMaking),
        ("fa-ir", ProtectedMaking),
        ("exposure", ExposureMaking),
    )
}
"""The settings of each method, by its name."""
