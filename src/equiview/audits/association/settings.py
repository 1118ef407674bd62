"""Settings of the association audit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from equiview.audits.base import Settings

Direction = Literal["text-to-image", "image-to-image"]
DIRECTIONS: tuple[Direction, ...] = ("text-to-image", "image-to-image")
LEAST_LANGUAGES = 6
"""With fewer languages no pattern of signs has a probability of 5% or less, so no test could reject."""
Silhouette = Literal["euclidean", "sqeuclidean", "cosine"]


class AssociationSettings(Settings):
    """Settings of the association audit; the first of `directions` is the one that is judged."""

    ties: Literal["first", "all", "split"] = Field(
        default="first",
        description="who is given a tie: the first of the three, all of them, or each a share",
    )
    strict: bool = Field(default=False, description="exclude trials with candidates of the query's language")
    directions: tuple[Direction, ...] = Field(
        default=DIRECTIONS, min_length=1, description="what is asked for what; the first is judged"
    )
    silhouette: Silhouette = Field(default="euclidean", description="distance of the silhouette")
    tolerance: float = Field(
        default=0.02,
        gt=0,
        lt=1,
        description="mean pull of languages that is still fair, as a share of trials",
    )
