"""Settings of a pool of captions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from equiview.data.fields import LanguageLabel, LanguageLabels
from equiview.making import AskingSettings, Option, Reference


class PoolSettings(AskingSettings):
    """Models, languages, and how much is translated and reviewed.

    A checker of another family than the translator catches more.
    """

    pool: Annotated[Path, Option(argument=True, recorded=False)] = Field(
        description="Folder with images.csv and texts.csv, captions with image_id."
    )
    translator: Reference = Field(description="Model that translates captions, as chat:MODEL.")
    checker: Reference = Field(
        default="", description="Model that compares them with the originals; the translator by default."
    )
    languages: LanguageLabels = Field(
        min_length=2,
        description="Languages in which every image shall have a caption, codes of the 36 between commas.",
    )
    source: LanguageLabel = Field(
        default="",
        description="Language that is translated where an image has it; else the most written on the web.",
    )
    captions: int = Field(
        default=1, ge=1, description="Captions of an image translated into each language that it lacks."
    )
    attempts: int = Field(default=2, ge=1, description="Times a translation is asked for.")
    reviewed: int = Field(
        default=100, ge=0, description="Translations a language that people review; 0 for none."
    )
    decisions: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="Decisions of a review; what people rejected is left out."
    )
    licence: str = Field(default="", description="Licence of the images and captions.")

    @field_validator("languages")
    @classmethod
    def _of_the_layout(cls, chosen: tuple[str, ...]) -> tuple[str, ...]:
        from equiview.data.languages import languages  # with tables, which help does not need

        known = languages()["code"].to_list()
        if others := [code for code in chosen if code not in known]:
            raise ValueError(
                f"{', '.join(others)} is none of the 36 of the layout: {', '.join(sorted(known))}"
            )
        return chosen
