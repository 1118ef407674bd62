"""Masks as COCO writes them: outlines of polygons, or lengths of runs, plain or as a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.build.removal.areas import Mask
from equiview.errors import InputError

Segmentation = Sequence[Sequence[float]] | Mapping[str, Any]
"""Polygons as x and y in turn, or `{"size": [height, width], "counts": ...}`."""


def mask_from(segmentation: Segmentation, width: int, height: int, where: str) -> Mask:
    """The pixels of a mask, `(height, width)`; InputError, beginning with `where`, if it is none.

    >>> mask_from({"size": [2, 3], "counts": [1, 2, 3]}, 3, 2, "a.json").astype(int).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    try:
        if isinstance(segmentation, Mapping):
            return _of_runs(segmentation, width, height)
        return _of_polygons(segmentation, width, height)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        said = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{where}: segmentation cannot be read ({said})") from None


def runs_of(mask: Mask) -> dict[str, Any]:
    """A mask as COCO's uncompressed lengths of runs, column by column, the first outside the mask.

    >>> runs_of(np.array([[False, True], [True, True]]))
    {'size': [2, 2], 'counts': [1, 3]}
    """
    pixels = mask.ravel(order="F")
    edges = np.flatnonzero(np.diff(pixels)) + 1
    counts = np.diff([0, *edges, pixels.size]).tolist()
    return {"size": list(mask.shape), "counts": [0, *counts] if pixels[0] else counts}


def _of_polygons(polygons: Sequence[Sequence[float]], width: int, height: int) -> Mask:
    from PIL import Image, ImageDraw

    image = Image.new("1", (width, height))
    draw = ImageDraw.Draw(image)
    for polygon in polygons:
        if len(polygon) < 6 or len(polygon) % 2:
            raise ValueError(f"a polygon of {len(polygon)} numbers; it takes six or more, x and y in turn")
        draw.polygon([float(number) for number in polygon], fill=1)
    return np.asarray(image, dtype=bool)


def _of_runs(runs: Mapping[str, Any], width: int, height: int) -> Mask:
    if list(runs["size"]) != [height, width]:
        raise ValueError(f"it is of an image of {runs['size']}, but the picture is of {[height, width]}")
    counts = runs["counts"]
    lengths = _lengths(counts) if isinstance(counts, str) else np.asarray(counts, dtype=np.int64)
    if (lengths < 0).any() or lengths.sum() != width * height:
        raise ValueError(f"its runs are of {lengths.sum()} pixels; expected {width * height}")
    values = np.arange(len(lengths)) % 2 == 1
    return np.repeat(values, lengths).reshape(width, height).T


def _lengths(text: str) -> NDArray[np.int64]:
    """Lengths of runs from COCO's text: six bits a letter, each number the change from the last but one."""
    lengths: list[int] = []
    number = shift = 0
    for letter in text:
        bits = ord(letter) - 48
        if not 0 <= bits < 64:
            raise ValueError(f"{letter!r} is no letter of a mask")
        number |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            number -= 1 << shift
        lengths.append(number + (lengths[-2] if len(lengths) > 2 else 0))
        number = shift = 0
    if shift:
        raise ValueError("the text of a mask is cut off")
    return np.asarray(lengths, dtype=np.int64)
