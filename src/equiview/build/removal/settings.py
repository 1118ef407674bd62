"""Settings of the removal of objects; the defaults are O's where it states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equiview.making import AskingSettings, Option, Reference, Settings


class RemovalRules(Settings):
    """The limits of the rules, as published.

    O compares every other class with the boxes of the chosen class alone. With `strict`, kept classes are
    compared with everything that is removed: a class removed along may cover them.
    """

    keep_below: float = Field(
        default=0.4, ge=0, le=1, description="A class that loses less is kept (alpha 1 of O)."
    )
    along_above: float = Field(
        default=0.8, ge=0, le=1, description="A class that loses more is removed too (alpha 2 of O)."
    )
    largest: float = Field(
        default=0.7, gt=0, le=1, description="Share of the image that may be removed (alpha 3 of O)."
    )
    strict: bool = Field(default=False, description="Compare kept classes with everything removed.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.keep_below > self.along_above:
            raise ValueError("keep_below must not be above along_above")
        return self


class RemovalSettings(Settings):
    """How each image is processed."""

    rules: RemovalRules = Field(default_factory=RemovalRules)
    classes: tuple[str, ...] = Field(
        default=(), description="Classes to remove, between commas; all by default."
    )
    grow: int = Field(default=0, ge=0, description="Pixels around objects that are filled as well.")
    per_image: int = Field(default=1, ge=1, description="Most pictures made from an image; O makes one.")
    captions: Literal["phrases", "nouns", "prompts", "model"] = Field(
        default="phrases",
        description="Phrases (dropped whole), nouns (dropped as O does), prompts or model.",
    )
    per_picture: int = Field(
        default=1, ge=1, description="Most captions of a picture; O's default is one of five."
    )
    quality: int = Field(default=95, ge=1, le=100, description="Quality of the JPEG files.")
    seed: int = Field(default=0, ge=0, description="Seed of random choices.")


class RemovalMakingSettings(RemovalSettings, AskingSettings):
    """The images, the filling, and the model that writes captions."""

    benchmark: Annotated[str, Option(argument=True, recorded=False)] = Field(
        description="Images with objects and captions, as coco:DIR."
    )
    boxes: Annotated[Literal["", "xywh", "xyxy", "relative"], Option(recorded=False)] = Field(
        default="", description="How boxes are written: xywh (checked, by default), xyxy or relative."
    )
    fill: Reference = Field(
        default="inpaint", description="Filling of the removed area: inpaint, zero, mean or blur."
    )
    model: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="ONNX inpainting model; without it OpenCV's Telea inpainting."
    )
    words: Annotated[Path | None, Option(recorded=False)] = Field(
        default=None, description="TOML file of words that name classes; COCO's by default."
    )
    spacy: str = Field(default="", description="Pipeline of spaCy that finds phrases.")
    captioner: Reference = Field(default="", description="Model that writes captions, as chat:MODEL.")
    check: Reference = Field(
        default="", description="Encoder that looks whether what was removed is still seen; none by default."
    )
    jobs: Annotated[int, Option(recorded=False)] = Field(default=1, ge=1, description="Processes.")

    @model_validator(mode="after")
    def _captioner_where_it_is_asked(self) -> Self:
        if (self.captions == "model") != bool(self.captioner):
            raise ValueError(
                "captions by a model need a captioner, and a captioner needs captions by a model"
            )
        return self
