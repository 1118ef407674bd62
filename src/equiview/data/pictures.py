"""Pictures: from the bytes of a file to RGB as a person would see it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

LARGE = 50_000_000
"""Pixels beyond which a picture is made smaller while it is decoded; no encoder looks at so many."""
LARGE_SIDE = 4096
"""Longer side, in pixels, of what such a picture becomes."""


def decoded(content: bytes) -> Image:
    """The picture as RGB: upright, first frame, on white, 16 bits scaled to 8. ValueError says what is wrong.

    A picture of more than 50 million pixels becomes 4096 pixels wide or high. Pillow refuses one of more than
    twice its `MAX_IMAGE_PIXELS`, since a small file may claim to be of any size.
    """
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(content)) as image:
            if image.width * image.height > LARGE:
                image.draft("RGB", (LARGE_SIDE, LARGE_SIDE))  # a JPEG is never held in full
                image.thumbnail((LARGE_SIDE, LARGE_SIDE), reducing_gap=2.0)
            return on_white(_upright(image))
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise ValueError(f"{error}; make the picture smaller") from None
    except PIL.UnidentifiedImageError:
        what = "the file is empty" if not content else "not a picture in any known format"
        raise ValueError(what) from None
    except Exception as error:  # decoders of damaged files raise whatever they stumble upon
        raise ValueError(str(error) or type(error).__name__) from None


def on_white(image: Image) -> Image:
    """Return `image` as RGB, transparent parts shown on white as a page would show them."""
    import PIL.Image

    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image).convert("RGB")
    if image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info:
        with_alpha = (image.convert("LA") if image.mode == "La" else image).convert("RGBA")
        ground = PIL.Image.new("RGBA", with_alpha.size, "white")
        return PIL.Image.alpha_composite(ground, with_alpha).convert("RGB")
    return image.convert("RGB")


def _upright(image: Image) -> Image:
    """`image` turned as its EXIF says; as it is where the EXIF is damaged."""
    from PIL import ImageOps

    image.load()
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # a damaged tag is no reason to lose the picture
        return image


def _eight_bits(image: Image) -> Image:
    """Grey levels of 16 or 32 bits, or floats, as 8 bits; Pillow alone would cut them off at 255.

    The white of the picture is taken to be the least of 1 (floats), 255, 65,535 and its own maximum that none
    of its levels exceeds.
    """
    import PIL.Image

    levels = np.nan_to_num(np.asarray(image, dtype=np.float64))
    brightest = float(levels.max(initial=0.0))
    if image.mode.startswith("I;16"):
        white = 65_535.0
    else:
        whites = (1.0, 255.0, 65_535.0) if image.mode == "F" else (255.0, 65_535.0)
        white = next((level for level in whites if brightest <= level), brightest)
    scaled = np.clip(levels / white * 255, 0, 255)
    return PIL.Image.fromarray(np.rint(scaled).astype(np.uint8))
