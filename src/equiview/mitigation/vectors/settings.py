"""The methods that correct vectors, by name, and their settings."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt

from equiview.making import Option, Reference
from equiview.mitigation.settings import Parts
from equiview.ours.makers import ABOUT


class VectorMaking(Parts):
    """What is corrected, by which data, and how far."""

    method: ClassVar[str]

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="The encoder, e.g. hf:ID_OR_PATH or embeddings:DIR."
    )
    benchmark: Reference = Field(
        description="Images with texts in several languages; one part is fitted on, the other is kept."
    )
    strength: float = Field(
        default=1.0, ge=0, le=1, description="How far to correct: 0 changes nothing, 1 is the whole method."
    )


class GroupMaking(VectorMaking):
    """Settings of methods that treat groups alike in the space of vectors."""

    by: str = Field(
        default="language",
        description="language, of texts; or an attribute of images, such as country, to correct images.",
    )


class NullMaking(GroupMaking):
    """Settings of a method that takes away what classifiers read, one after another."""

    rounds: PositiveInt = Field(
        default=10,
        le=1_000,
        description="Most classifiers; it ends before when one tells held-out items no better than by naming "
        "the largest group.",
    )
    most: PositiveInt = Field(
        default=20_000, description="Most texts or images that classifiers are fitted on, drawn by --seed."
    )


class HubMaking(VectorMaking):
    """Settings of methods that lower texts which are near to many images."""

    nearest: PositiveInt = Field(default=10, description="Images nearest to a text, by which it is a hub.")
    keep: PositiveInt = Field(default=5_000, description="Most images to fit on, all of which are kept.")


METHODS: dict[str, type[VectorMaking]] = {
    name: type(f"{name.title()}Making", (base,), {"method": name, "__doc__": ABOUT[name]})
    for name, base in (
        ("center", GroupMaking),
        ("whiten", GroupMaking),
        ("leace", GroupMaking),
        ("inlp", NullMaking),
        ("standardize", VectorMaking),
        ("normalize", VectorMaking),
        ("csls", HubMaking),
        ("level", HubMaking),
    )
}
"""The settings of each method, by its name."""
