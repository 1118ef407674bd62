"""Settings of the parity audit."""

from __future__ import annotations

from pydantic import Field, field_validator

from equiview.audits.base import Settings
from equiview.benchmarks.parallel import CHOICE_ABOUT, Choice
from equiview.data.fields import FileNames, LanguageLabel, LanguageLabels
from equiview.data.labels import UNKNOWN


class ParitySettings(Settings):
    """Captions, languages, pivot, prompts, groups, and what counts as a gap."""

    captions: Choice = Field(default="each", description=CHOICE_ABOUT)
    languages: LanguageLabels = Field(default=(), description="languages compared; default: all")
    common: bool = Field(default=True, description="only images that are captioned in every language")
    pivot: LanguageLabel = Field(
        default="", description="language the others are compared with; default: the most written on the web"
    )
    cutoffs: tuple[int, ...] = Field(
        default=(1, 5, 10), min_length=1, description="cutoffs at which numbers are given; 1 always is"
    )
    zero_shot: bool = Field(default=True, description="classify images whose labels have prompts")
    prompts: FileNames = Field(default=(), description="files of prompts of your own (.toml)")
    attributes: tuple[str, ...] = Field(default=(), description="attributes to break accuracy down by")
    unknown: tuple[str, ...] = Field(
        default=UNKNOWN, description="labels that do not say of which group an image is"
    )
    least: int = Field(default=30, ge=2, description="images below which nothing is judged")
    tolerance: float = Field(
        default=0.05, gt=0, lt=1, description="gap up to which accuracies count as equal, as a share"
    )

    @field_validator("cutoffs")
    @classmethod
    def _with_one(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if min(cutoffs) < 1:
            raise ValueError("cutoffs must be whole numbers of 1 or more")
        return tuple(sorted({1, *cutoffs}))
