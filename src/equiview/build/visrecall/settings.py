"""Settings of a benchmark of places; the defaults are T's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from equiview.data.fields import LanguageLabels
from equiview.making import AskingSettings, Option, Reference

LANGUAGES = ("ar", "zh", "en", "fr", "de", "it", "ja", "pt", "es")


class VisRecallSettings(AskingSettings):
    """Which places and pictures are kept."""

    places: Annotated[Path, Option(argument=True, recorded=False)] = Field(
        description="Folder with landmarks.csv and images/ID/."
    )
    checker: Reference = Field(default="", description="Model that looks at every picture, as chat:MODEL.")
    languages: LanguageLabels = Field(
        default=LANGUAGES, description="Languages that need a title, codes between commas."
    )
    per_language: int = Field(default=50, ge=1, description="Places of each language, the best known first.")
    fewest: int = Field(default=5, ge=1, description="Pictures that a place needs.")
    most: int = Field(default=20, ge=1, description="Pictures kept of a place.")
