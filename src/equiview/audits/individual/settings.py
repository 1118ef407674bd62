"""Settings of the individual audit."""

from __future__ import annotations

from pydantic import Field

from equiview.audits.base import Settings
from equiview.benchmarks.parallel import CHOICE_ABOUT, Choice
from equiview.data.fields import LanguageLabels


class IndividualSettings(Settings):
    """Which captions and languages are compared, how many pairs are kept, what counts as unequal."""

    captions: Choice = Field(default="each", description=CHOICE_ABOUT)
    languages: LanguageLabels = Field(default=(), description="languages compared; none means all")
    sample: int = Field(
        default=20_000, ge=100, description="pairs of captions kept one by one, drawn by seed"
    )
    tolerance: float = Field(
        default=0.1, gt=0, lt=1, description="share of the margin up to which an effect counts as small"
    )
    least: int = Field(default=30, ge=2, description="images below which nothing is judged")
