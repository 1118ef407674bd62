"""Masks as COCO writes them: outlines of polygons, or lengths of runs, plain or as a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from equiview.build.removal.areas import Mask
from equiview.errors import InputError
from equiview.extras import require

Segmentation = Sequence[Sequence[float]] | Mapping[str, Any]
"""Polygons as x and y in turn, or `{"size": [height, width], "counts": ...}`."""
FARTHEST = 10
"""Farthest coordinates of polygons, in sides of the picture: the library's time grows with edges' length."""


def mask_from(segmentation: Segmentation, width: int, height: int, where: str) -> Mask:
    """The pixels of a mask, `(height, width)`; InputError, beginning with `where`, for an invalid one.

    Outlines are filled as COCO's own library fills them.

    >>> mask_from({"size": [2, 3], "counts": [1, 2, 3]}, 3, 2, "a.json").astype(int).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    library = _library()
    try:
        if not isinstance(segmentation, Mapping):
            outlines = [_outline(polygon, FARTHEST * max(width, height)) for polygon in segmentation]
            runs = library.merge(library.frPyObjects(outlines, height, width))
        elif list(segmentation["size"]) != [height, width]:
            size = segmentation["size"]
            raise ValueError(f"it is of an image of {size}, but the picture is of {[height, width]}")
        elif isinstance(counts := segmentation["counts"], str):
            runs = {"size": [height, width], "counts": counts}
        else:
            lengths = np.asarray(counts, dtype=np.uint32).tolist()
            runs = library.frPyObjects({"size": [height, width], "counts": lengths}, height, width)
        return np.asarray(library.decode(runs), dtype=bool)
    except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        said = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{where}: segmentation cannot be read ({said})") from None


def runs_of(mask: Mask) -> dict[str, Any]:
    """A mask as COCO's lengths of runs in a text, column by column, the first outside the mask.

    >>> runs_of(np.array([[False, True], [True, True]]))
    {'size': [2, 2], 'counts': '13'}
    """
    runs = _library().encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": list(mask.shape), "counts": runs["counts"].decode()}


@cache
def _library() -> Any:
    # COCO's own pycocotools reads past the end of runs that are too short, and returns what it finds there.
    return require("faster_coco_eval.core.mask", "removal")


def _outline(polygon: Sequence[float], farthest: float) -> list[float]:
    if len(polygon) < 6 or len(polygon) % 2:
        raise ValueError(f"a polygon of {len(polygon)} numbers; it takes six or more, x and y in turn")
    points = np.asarray(polygon, dtype=float)
    if not (np.abs(points) <= farthest).all():
        raise ValueError("a polygon reaches far outside of the picture")
    return list(map(float, points))
