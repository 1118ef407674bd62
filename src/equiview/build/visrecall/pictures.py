"""The usable pictures of a place: readable, large enough, distinct, and of the place itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from PIL.Image import Image, Resampling

from equiview.build.history import History
from equiview.build.landmarks import Landmark
from equiview.build.step import Step, fault_in
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.pictures import decoded

SMALLEST = 200
"""Least length of the shorter side, in pixels."""
REPLY = 20
"""Tokens that a reply usually has."""
ALIKE = 5
"""Two pictures are the same if their hashes differ in fewer of 64 bits."""

FLAGS = {
    "shows_the_place": (True, "it does not show the place"),
    "from_outside": (True, "it shows the inside or a detail"),
}


@dataclass(frozen=True)
class Picture:
    """A picture of a place, by its file."""

    landmark: Landmark
    path: Path

    @property
    def id(self) -> str:
        """What it is called in the history."""
        return f"{self.landmark.id}/{self.path.name}"


def usable_pictures(landmark: Landmark, history: History) -> list[Picture]:
    """The pictures of a place that can be read, are large enough, and are unlike all earlier ones."""
    usable: list[Picture] = []
    hashes: list[int] = []
    for picture in (Picture(landmark, path) for path in landmark.pictures):
        try:
            image = decoded(content_of(picture.path))
        except (InputError, ValueError) as error:
            history.note(picture.id, "pictures", "it cannot be read", str(error))
            continue
        if min(image.size) < SMALLEST:
            size = f"{image.width} x {image.height} pixels"
            history.note(picture.id, "pictures", "it is too small", size)
            continue
        own = difference_hash(image)
        near = next(
            (p for p, other in zip(usable, hashes, strict=True) if (own ^ other).bit_count() < ALIKE), None
        )
        if near is not None:
            history.note(picture.id, "pictures", "it repeats another picture", near.id)
            continue
        history.note(picture.id, "pictures")
        usable.append(picture)
        hashes.append(own)
    return usable


def difference_hash(image: Image) -> int:
    """64 bits that change little with size and compression: which of 8 x 8 parts is darker than the next.

    >>> from PIL import Image as pil
    >>> ramp = pil.linear_gradient("L").rotate(90)
    >>> difference_hash(ramp) == difference_hash(ramp.resize((90, 80)))
    True
    """
    small = np.asarray(image.convert("L").resize((9, 8), Resampling.BOX), dtype=np.int16)
    bits = (small[:, 1:] > small[:, :-1]).ravel()
    return int("".join("1" if bit else "0" for bit in bits), 2)


def of_the_place(step: Step, pictures: Sequence[Picture]) -> list[Picture]:
    """The pictures that show the place from outside, as judged by a model."""
    if not pictures:
        return []
    table = {"id": [picture.id for picture in pictures], "path": [str(picture.path) for picture in pictures]}
    left = []
    replies = step.ask(requests_for(pictures), Items("image", pl.DataFrame(table), "pictures"))
    for picture, reply in zip(pictures, replies, strict=True):
        fault = fault_in(reply, FLAGS)
        if step.note(picture.id, fault, reply if fault else None):
            left.append(picture)
    return left


def requests_for(pictures: Sequence[Picture]) -> list[Request]:
    """A request for each picture, by its row."""
    return [
        Request(f"{picture.id}:shows", _prompt(picture.landmark), "en", row, max_tokens=64)
        for row, picture in enumerate(pictures)
    ]


def _prompt(landmark: Landmark) -> str:
    return f"""Is this a picture of {landmark.name}? Reply with JSON alone:
{{"shows_the_place": true or false, "from_outside": true or false}}
- shows_the_place: what can be seen is {landmark.name}, or may well be.
- from_outside: it shows how the place looks as a whole, neither a room inside nor a detail or a sign."""
