"""Settings of a benchmark of questions; the defaults are T's where it states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from equiview.data.fields import LanguageLabels
from equiview.making import AskingSettings, Option, Reference

LANGUAGES = ("ar", "zh", "en", "fr", "de", "el", "he", "it", "ja", "ko", "pt", "ru", "sr", "es", "th")


class KnowRecallSettings(AskingSettings):
    """Models, numbers of questions, and languages.

    A checker and a back translator of another family than the writer catch more.
    """

    places: Annotated[Path, Option(argument=True, recorded=False)] = Field(
        description="Folder with landmarks.csv, images/ID/ and articles/ID.txt."
    )
    writer: Reference = Field(description="Model that writes questions from articles, as chat:MODEL.")
    checker: Reference = Field(default="", description="Model that checks them; the writer by default.")
    translator: Reference = Field(default="", description="Model that translates; the writer by default.")
    back_translator: Reference = Field(
        default="", description="Model that translates back; the checker by default."
    )
    languages: LanguageLabels = Field(
        default=LANGUAGES,
        description="Languages of the questions, codes between commas; English is one.",
    )
    candidates: int = Field(default=5, ge=1, le=20, description="Questions written about a place.")
    keep: int = Field(default=2, ge=1, description="Questions kept about a place.")
    turns: int = Field(
        default=3, ge=1, description="Orders of the options in which a question is asked unseen."
    )
    attempts: int = Field(default=2, ge=1, description="Times a translation is asked for.")
    reviewed: int = Field(
        default=100, ge=0, description="Questions a language that people review; 0 for none."
    )
    decisions: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="Decisions of a review; what people rejected is left out."
    )
    seed: int = Field(default=0, ge=0, description="Seed of the order of options.")

    @field_validator("languages")
    @classmethod
    def _with_english(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if "en" not in languages:
            raise ValueError("the languages must hold en: questions are written in English first")
        return languages
