"""Records: what was made of one image, in a file of its own, so that a build that was stopped can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from equiview.errors import InputError
from equiview.io.files import is_file, read_json
from equiview.io.fingerprint import fingerprint
from equiview.io.refusals import refused

LONGEST = 65_535
"""Pixels of a side that a JPEG file may have."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, defer_build=True)


class _Made(_Strict):
    file: str
    target: str
    removed: list[str] = Field(min_length=1)
    kept: list[str]
    share: float = Field(ge=0, le=1)
    region: list[Annotated[list[float], Field(min_length=4, max_length=4)]] | dict[str, Any]
    captions: list[dict[Literal["caption", "original"], str]]


class _Rejected(_Strict):
    target: str
    reason: str


class _Record(_Strict):
    image_id: str
    width: int = Field(ge=1, le=LONGEST)
    height: int = Field(ge=1, le=LONGEST)
    boxes_outside: int = Field(ge=0)
    crowds: int = Field(ge=0)
    made: list[_Made]
    rejected: list[_Rejected]
    captions_refused: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)


def picture_of(image: str, target: str) -> str:
    """The name of the picture of an image without a class."""
    return f"{fingerprint(image, target)}.jpg"


def read_record(path: Path, image: str, pictures: Path) -> dict[str, Any]:
    """The record of an image; InputError where it is damaged, of another image, or its pictures are gone."""
    content: dict[str, Any] = read_json(path)
    again = "delete it and build again"
    with refused(lambda first: f"{path}: is damaged ({first}); {again}"):
        record = _Record.model_validate(content)
    names = [picture_of(image, made.target) for made in record.made]
    if record.image_id != image or names != [made.file for made in record.made]:
        raise InputError(f"{path}: is not of image {image!r}; {again}")
    if lost := [name for name in names if not is_file(pictures / name)]:
        raise InputError(f"{path}: its picture {lost[0]} is gone; {again}")
    return content
