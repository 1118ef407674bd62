"""Pictures for requests: the stored file where possible, else upright, reduced and encoded again."""

from __future__ import annotations

import io
from functools import lru_cache

from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.pictures import data_uri, decoded, encoded

SIDE = 1024
"""Longer side, in pixels, to which pictures are made smaller unless a user says otherwise."""
SENT_AS_STORED = {"JPEG", "PNG"}
ORIENTATION = 0x0112
QUALITY = 95
AHEAD = 64


class Pictures:
    """The pictures of images as data URIs, at most `side` pixels long; the last few are remembered."""

    def __init__(self, images: Items | None, side: int = SIDE) -> None:
        self.images = images
        self.side = side
        self.uri = lru_cache(maxsize=AHEAD)(self._uri)

    def _uri(self, row: int) -> str:
        if self.images is None:
            raise InputError("a request has a picture, but no images were given")
        content = self.images.encoded(row)
        try:
            return data_uri(reduced(content, self.side))
        except ValueError as error:
            raise InputError(f"picture of {self.images.ids[row]!r} cannot be read ({error})") from None


def reduced(content: bytes, side: int = SIDE) -> bytes:
    """An encoded picture of at most `side` pixels; ValueError says what is wrong with it.

    The bytes of a JPEG or PNG that is small enough and upright are returned unchanged. A larger JPEG stays a
    JPEG, at quality 95; everything else becomes a PNG.
    """
    from PIL import Image as Pillow

    image = decoded(content)  # wholly, so that a damaged picture is never sent
    with Pillow.open(io.BytesIO(content)) as stored:
        kind = stored.format or ""
        upright = stored.getexif().get(ORIENTATION, 1) == 1
        frames = getattr(stored, "n_frames", 1)
    if kind in SENT_AS_STORED and upright and frames == 1 and max(image.size) <= side:
        return content
    if max(image.size) > side:
        image.thumbnail((side, side))
    return encoded(image, "JPEG", quality=QUALITY) if kind == "JPEG" else encoded(image, "PNG")
