"""Fillings of removed areas: zero, mean, blur, or inpainting.

A filling takes a picture, `(height, width, 3)` uint8, and a mask, `(height, width)` bool, true where
something is to be removed; it returns a picture of the same shape with all other pixels unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equiview.build.removal.areas import Mask
from equiview.build.removal.inpaint import OnnxInpainter
from equiview.errors import InputError, unknown_name
from equiview.extras import require

Picture = NDArray[np.uint8]
Fill = Callable[[Picture, Mask], Picture]
KINDS = ("inpaint", "zero", "mean", "blur")
BLUR = 0.1
"""Standard deviation of the blur, as a share of the longer side of what is removed."""
TELEA_RADIUS = 5
"""Radius of OpenCV's Telea inpainting, in pixels."""


@dataclass(frozen=True)
class Filling:
    """A filling, with its name in the output."""

    name: str
    fill: Fill

    def __call__(self, picture: Picture, mask: Mask) -> Picture:
        """The picture with its masked pixels filled, and no other pixel changed."""
        if not mask.any():
            return picture
        filled = picture.copy()
        filled[mask] = self.fill(picture, mask)[mask]
        return filled


def filling(kind: str = "inpaint", model: Path | None = None) -> Filling:
    """The filling of a kind: `inpaint` by an ONNX model, or without one by OpenCV's Telea; zero, mean, blur.

    InputError for another kind, for a model of a kind that takes none, and for a model that cannot be used.

    >>> white = np.full((2, 2, 3), 255, dtype=np.uint8)
    >>> filling("zero")(white, np.array([[True, False], [False, False]]))[:, :, 0].tolist()
    [[0, 255], [255, 255]]
    """
    if kind not in KINDS:
        raise unknown_name("filling", kind, KINDS)
    if model is not None and kind != "inpaint":
        raise InputError(f"filling {kind!r} takes no model; leave it out, or choose inpaint")
    if kind != "inpaint":
        return Filling(kind, {"zero": _zero, "mean": _mean, "blur": _blur}[kind])
    if model is None:
        return Filling("inpaint by OpenCV's Telea", _telea)
    inpainter = OnnxInpainter(model)
    return Filling(f"inpaint by {inpainter.name}", inpainter)


def _zero(picture: Picture, _: Mask) -> Picture:
    return np.zeros_like(picture)


def _mean(picture: Picture, mask: Mask) -> Picture:
    """The average of what is removed, as in O's table 3."""
    return np.broadcast_to(np.rint(picture[mask].mean(axis=0)), picture.shape).astype(np.uint8)


def _blur(picture: Picture, mask: Mask) -> Picture:
    from PIL import Image, ImageFilter

    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    side = max(rows[-1] - rows[0], columns[-1] - columns[0]) + 1
    return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(BLUR * float(side))))


def _telea(picture: Picture, mask: Mask) -> Picture:
    cv2 = require("cv2", "removal")
    filled: Picture = cv2.inpaint(picture, mask.astype(np.uint8), TELEA_RADIUS, cv2.INPAINT_TELEA)
    return filled
