"""Pictures: from the bytes of a file to RGB as a person would see it, and what kind of file they are."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

LARGE = 50_000_000
"""Pixels above which a picture is reduced while it is decoded; no encoder uses so many."""
ORIENTATION = 0x0112
"""The tag of EXIF that says how a picture is turned, from 1, not at all, to 8."""
LARGE_SIDE = 4096
"""Longer side of the reduced picture, in pixels."""
KINDS = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF87a": "gif",
    b"GIF89a": "gif",
}
"""The kinds of picture that pages show, by the first bytes. SVG is not among them: it may hold scripts."""


def picture_kind(start: bytes) -> str | None:
    r"""The kind of a picture by its first 12 bytes; None for what is not shown.

    >>> picture_kind(b"\xff\xd8\xff\xe0" + bytes(8)), picture_kind(b"<svg onload=")
    ('jpeg', None)
    """
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((kind for magic, kind in KINDS.items() if start.startswith(magic)), None)


def encoded(image: Image, kind: str, **options: int) -> bytes:
    """A picture as the bytes of a file of this kind, such as `PNG`, with the options of that kind."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def data_uri(content: bytes) -> str:
    r"""An encoded picture as a data URI.

    >>> data_uri(b"GIF89a")
    'data:image/gif;base64,R0lGODlh'
    """
    kind = picture_kind(content[:12])
    media = f"image/{kind}" if kind else "application/octet-stream"
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


def decoded(content: bytes) -> Image:
    """The picture as RGB: upright, first frame, on white, 16 bits scaled to 8. ValueError says what is wrong.

    A picture of more than 50 million pixels is reduced to 4096 pixels on its longer side. Pillow refuses one
    of more than twice its `MAX_IMAGE_PIXELS`, because a small file may claim any size.
    """
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with Pillow.open(io.BytesIO(content)) as image:
            if image.width * image.height > LARGE:
                image.draft("RGB", (LARGE_SIDE, LARGE_SIDE))  # a JPEG is never decoded in full
                image.thumbnail((LARGE_SIDE, LARGE_SIDE), reducing_gap=2.0)
            return on_white(_upright(image))
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ValueError(f"{error}; make the picture smaller") from None
    except UnidentifiedImageError:
        reason = "the file is empty" if not content else "not a picture in any known format"
        raise ValueError(reason) from None
    except Exception as error:  # decoders of damaged files raise errors of many types
        raise ValueError(str(error) or type(error).__name__) from None


def stated_size(path: Path) -> tuple[int, int, bool] | None:
    """Width and height of a picture as `decoded` shows it, and whether its EXIF turns it with both the same.

    Only the beginning of the file is read; None where that cannot be done.
    """
    from PIL import Image as Pillow

    try:
        with Pillow.open(path) as image:
            width, height = image.size
            turn = image.getexif().get(ORIENTATION, 1)
    except Exception:  # who decodes the picture says what is wrong with it
        return None
    sides = (height, width) if turn in range(5, 9) else (width, height)
    return *sides, turn in range(2, 9) and sides == (width, height)


def on_white(image: Image) -> Image:
    """Return `image` as RGB, transparent parts on white, as a web page shows them."""
    from PIL import Image as Pillow

    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image).convert("RGB")
    if image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info:
        with_alpha = (image.convert("LA") if image.mode == "La" else image).convert("RGBA")
        background = Pillow.new("RGBA", with_alpha.size, "white")
        return Pillow.alpha_composite(background, with_alpha).convert("RGB")
    return image.convert("RGB")


def _upright(image: Image) -> Image:
    """`image` rotated as its EXIF says, or unchanged if the EXIF is damaged."""
    from PIL import ImageOps

    image.load()
    try:
        turned = image.getexif().get(ORIENTATION, 1) in range(2, 9)
        return ImageOps.exif_transpose(image) if turned else image  # which would copy it
    except Exception:  # a damaged tag is no reason to reject the picture
        return image


def _eight_bits(image: Image) -> Image:
    """Grey levels of 16 or 32 bits, or floats, as 8 bits; Pillow alone would clip them at 255.

    White is the smallest of 1 (floats only), 255, 65,535 and the picture's maximum that no level exceeds.
    """
    from PIL import Image as Pillow

    levels = np.nan_to_num(np.asarray(image, dtype=np.float64))
    brightest = float(levels.max(initial=0.0))
    if image.mode.startswith("I;16"):
        white = 65_535.0
    else:
        whites = (1.0, 255.0, 65_535.0) if image.mode == "F" else (255.0, 65_535.0)
        white = next((level for level in whites if brightest <= level), brightest)
    scaled = np.clip(levels / white * 255, 0, 255)
    return Pillow.fromarray(np.rint(scaled).astype(np.uint8))
