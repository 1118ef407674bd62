"""What a user may choose of the removal of objects; the defaults are O's where it says them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equiview.making import AskingSettings, Option, Settings


class RemovalRules(BaseModel):
    """The limits of the rules, as published, and whether they hold for all that is removed.

    O compares every other class with the boxes of the chosen class alone. With `strict` what stays is
    compared with all that is removed: a class removed along may cover what should stay.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep_below: float = Field(
        default=0.4, ge=0, le=1, description="A class that loses less stays (alpha 1 of O)."
    )
    along_above: float = Field(
        default=0.8, ge=0, le=1, description="One that loses more goes too (alpha 2 of O)."
    )
    largest: float = Field(
        default=0.7, gt=0, le=1, description="Share of the image that may be removed (alpha 3 of O)."
    )
    strict: bool = Field(default=False, description="Compare what stays with all that is removed.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.keep_below > self.along_above:
            raise ValueError("keep_below must not be above along_above")
        return self


class RemovalSettings(Settings):
    """What is done to each image."""

    rules: RemovalRules = RemovalRules()
    classes: tuple[str, ...] = Field(
        default=(), description="Classes to remove, between commas; all by default."
    )
    grow: int = Field(default=0, ge=0, description="Pixels around objects that are filled as well.")
    per_image: int = Field(default=1, ge=1, description="Pictures made of an image, at most; O makes one.")
    captions: Literal["phrases", "prompts", "model"] = Field(
        default="phrases", description="Phrases (dropped), prompts or model."
    )
    per_picture: int = Field(
        default=1, ge=1, description="Captions of a picture, at most; O's default is one of five."
    )
    quality: int = Field(default=95, ge=1, le=100, description="Quality of the JPEG files.")
    seed: int = Field(default=0, ge=0, description="Seed of what is drawn by lot.")


class RemovalMakingSettings(RemovalSettings, AskingSettings):
    """Of which images objects are removed, what is put in their place, and who writes captions."""

    benchmark: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="Images with objects and captions, as coco:DIR."
    )
    fill: Annotated[str, Option(recorded=False)] = Field(
        default="inpaint", description="Put in place: inpaint, zero, mean or blur."
    )
    model: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="ONNX inpainting model; without it OpenCV's Telea inpainting."
    )
    words: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="TOML file of words that name classes; COCO's by default."
    )
    spacy: str = Field(default="", description="Pipeline of spaCy that finds noun phrases.")
    captioner: Annotated[str, Option(recorded=False)] = Field(
        default="", description="Model that writes captions, as chat:MODEL."
    )
    jobs: Annotated[int, Option(recorded=False)] = Field(default=1, ge=1, description="Processes.")

    @model_validator(mode="after")
    def _captioner_where_it_is_asked(self) -> Self:
        if (self.captions == "model") != bool(self.captioner):
            raise ValueError(
                "captions by a model need a captioner, and a captioner needs captions by a model"
            )
        return self
