"""Settings of the memory audit."""

from __future__ import annotations

from pydantic import Field

from equiview.audits.base import Settings
from equiview.audits.memory.languages import Detecting
from equiview.data.fields import FileName, LanguageLabels

AS_IT_IS = "none"
"""The translator that leaves descriptions as they are."""


class MemorySettings(Settings):
    """What is asked, who translates and scores, and what counts as unequal."""

    languages: LanguageLabels = Field(default=(), description="languages asked in; default: all")
    prompts: FileName = Field(
        default="", description="a folder or .toml file of prompts; default: the shipped ones"
    )
    max_tokens: int = Field(default=1024, ge=16, description="maximum tokens of a description")
    translator: str = Field(
        default="",
        description="the model that translates into English, such as chat:openai/gpt-4o; 'none' scores "
        "descriptions as they are",
    )
    second_translator: str = Field(
        default="", description="a second one, to see how much results depend on the first"
    )
    scorer: str = Field(
        default="hf:openai/clip-vit-base-patch32", description="the encoder that compares with pictures"
    )
    second_scorer: str = Field(
        default="", description="a second one, to see how much results depend on the first"
    )
    scorer_run: str = Field(
        default="", description="a finished run of another audit of the scorer; its verdicts are shown"
    )
    detector: Detecting = Field(
        default="lingua",
        description="who tells in which language a reply is: lingua, or names for those of describe:",
    )
    include_diagonal: bool = Field(
        default=False, description="count a language's consistency with itself, 1, as the released code does"
    )
    tolerance: float = Field(
        default=0.1, gt=0, lt=1, description="share of the margin up to which an effect counts as small"
    )
    least: int = Field(default=30, ge=2, description="landmarks below which nothing is judged")
