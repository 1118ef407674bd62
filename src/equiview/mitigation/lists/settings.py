"""The methods that re-rank lists, by name, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field, PositiveInt, model_validator

from equiview.making import Option, Reference, Settings
from equiview.mitigation.settings import Parts


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


@dataclass(frozen=True)
class Method:
    """A method: what it does in a line, and its settings."""

    about: str
    settings: type[ListMaking]


def _method(name: str, about: str, base: type[ListMaking] = ListMaking) -> Method:
    kind = "".join(map(str.title, name.split("-")))
    return Method(about, type(f"{kind}Making", (base,), {"method": name, "__doc__": about}))


METHODS = {
    name: _method(name, about, base)
    for name, about, base in (
        ("interleave", "Merge lists by the rank of each result within its group.", ListMaking),
        ("fair-topk", "Give each group its share of every first k results (DetCons).", ListMaking),
        ("rrf", "Fuse each list with those of its groups by reciprocal rank (RRF).", FusionMaking),
        ("detgreedy", "Give groups their shares, the best of who may be next (DetGreedy).", ListMaking),
        ("detcons", "Give groups their shares, whoever is due soonest (DetCons, as fair-topk).", ListMaking),
        ("detrelaxed", "Give groups their shares, whoever is due at one rank by score (DetRelaxed).",
         ListMaking),
        ("detconstsort", "Give each of many groups its least share, and sort within that (DetConstSort).",
         ListMaking),
        ("fa-ir", "Give one group its share of every first k results where chance would (FA*IR).",
         ProtectedMaking),
        ("exposure", "Show each group for its share over all lists, at the least cost (linear program).",
         ExposureMaking),
    )
}  # fmt: skip
"""The methods by name."""
