"""The methods that re-rank lists, by name, and their settings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, PositiveInt, model_validator

from equiview.making import Option, Settings

ABOUT = {
    "interleave": "Merge lists by the rank of each result within its group.",
    "fair-topk": "Give each group its share of every first k results (DetCons).",
}
"""The methods by name, in a line."""


class ListMaking(Settings):
    """Whose lists are ordered, and how."""

    method: ClassVar[str]

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="An encoder, or a system of result lists, e.g. hf:ID_OR_PATH or run:FILE."
    )
    by: str = Field(
        default="language", description="What groups are: language, tier, or an attribute of texts."
    )
    depth: PositiveInt = Field(default=200, description="First results that are put in another order.")
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


def making(name: str) -> type[ListMaking]:
    """The settings of a method."""
    kind = "".join(map(str.title, name.split("-")))
    return type(f"{kind}Making", (ListMaking,), {"method": name, "__doc__": ABOUT[name]})
