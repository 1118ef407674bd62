"""Settings of the social audit."""

from __future__ import annotations

import math

from pydantic import Field, field_validator

from equiview.audits.base import Settings
from equiview.data.fields import FileNames, LanguageLabel, LanguageLabels
from equiview.data.labels import UNKNOWN

ATTRIBUTES = ("gender", "skin", "age", "race")
INTERSECTIONS = ("gender x skin", "gender x race")
BETWEEN = " x "
"""Between the attributes of an intersection, and between the values of its groups."""


class SocialSettings(Settings):
    """Who is compared, what is asked, where lists are cut, and what counts as unequal."""

    attributes: tuple[str, ...] = Field(
        default=(),
        description="attributes of the images; default: those of gender, skin, age and race that images have",
    )
    intersections: tuple[str, ...] = Field(
        default=INTERSECTIONS, description="such as 'gender x skin'; ignored where images lack an attribute"
    )
    unknown: tuple[str, ...] = Field(
        default=UNKNOWN,
        description="values that do not say which group an image shows; such images stay in the gallery",
    )
    prompts: FileNames = Field(
        default=(),
        description="files of neutral prompts of your own, or berg: those of Berg et al., which S asks",
    )
    languages: LanguageLabels = Field(default=("en",), description="languages of the prompts; empty: all")
    allowed: tuple[str, ...] = Field(
        default=(), description="words allowed in prompts although they name attributes"
    )
    caption_language: LanguageLabel = Field(
        default="",
        description="language of the captions that are matched; default: English, or the first one found",
    )
    k: int = Field(default=1000, ge=1, description="where lists are cut")
    share: float = Field(
        default=0.1, gt=0, le=1, description="share of a gallery beyond which lists never reach"
    )
    cutoffs: tuple[int, ...] = Field(default=(10, 20, 50, 100, 200, 500), description="cutoffs of the curve")
    recall_k: int = Field(default=5, ge=1, description="cutoff of R@k")
    least: int = Field(default=30, ge=2, description="images of a group below which it is not judged")
    tolerance: float = Field(
        default=0.1, gt=0, lt=1, description="how much more a group may be shown, or R@k differ, as a share"
    )
    vectors: bool = Field(default=True, description="keep the images' vectors, for studies over several runs")

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_in_order(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if any(k < 1 for k in cutoffs):
            raise ValueError("cutoffs must be whole numbers of 1 or more")
        return tuple(sorted(set(cutoffs)))

    @field_validator("intersections")
    @classmethod
    def _of_attributes(cls, intersections: tuple[str, ...]) -> tuple[str, ...]:
        for pair in intersections:
            names = pair.split(BETWEEN)
            if len(names) < 2 or not all(names) or len(set(names)) < len(names):
                raise ValueError(f"{pair!r} is not of the form 'gender{BETWEEN}skin'")
        return intersections

    def depth(self, gallery: int) -> int:
        """Where lists of a gallery are cut: at `k`, or at `share` of it where that is less."""
        return max(1, min(self.k, round(self.share * gallery)))

    @property
    def skew_tolerance(self) -> float:
        """Skew of a group that is shown more often than its share by `tolerance`."""
        return math.log1p(self.tolerance)

    @property
    def divergence_tolerance(self) -> float:
        """KL of scores that differ by `tolerance` about their mean: half its square, to second order."""
        return self.tolerance**2 / 2
