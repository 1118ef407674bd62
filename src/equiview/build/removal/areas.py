"""Areas of what objects cover: unions of boxes, exactly, however they overlap, or pixels of masks.

Not by shapely: of eight boxes that overlap it takes four to seven times as long, and rounds the area.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.float64]
"""Boxes `(n, 4)`: left, upper, right and lower edge, in pixels."""
Mask = NDArray[np.bool_]
"""Pixels of an image, `(height, width)`."""
Region = NDArray[Any]
"""What the objects of a class cover: `Boxes` or a `Mask`, all of an image of one kind."""


def area(region: Region) -> float:
    """How many square pixels a region covers.

    >>> area(np.array([[0.0, 0, 2, 2]])), area(np.array([[True, False]]))
    (4.0, 1.0)
    """
    return float(np.count_nonzero(region)) if region.dtype == bool else union_area(region)


def joined(regions: Sequence[Region]) -> Region:
    """What regions cover together."""
    return np.logical_or.reduce(regions) if regions[0].dtype == bool else np.concatenate(regions)


def union_area(boxes: Boxes) -> float:
    """The area that boxes cover together, in square pixels; 0 of none.

    >>> union_area(np.array([[0, 0, 2, 2], [1, 1, 3, 3]], dtype=float))
    7.0
    """
    if not len(boxes):
        return 0.0
    x, y = np.unique(boxes[:, [0, 2]]), np.unique(boxes[:, [1, 3]])
    return float(np.diff(x) @ _covered(boxes, x, y) @ np.diff(y))


def _covered(boxes: Boxes, x: NDArray[np.float64], y: NDArray[np.float64]) -> Mask:
    """Which cells of the grid of edges `x` and `y` the boxes cover, `(len(x) - 1, len(y) - 1)`."""
    columns = (boxes[:, :1] <= x[:-1]) & (x[:-1] < boxes[:, 2:3])
    rows = (boxes[:, 1:2] <= y[:-1]) & (y[:-1] < boxes[:, 3:])
    return np.asarray(columns.T.astype(np.float32) @ rows.astype(np.float32) > 0)


def shared_area(first: Region, second: Region) -> float:
    """The area that both regions cover; 0 where one of them is nothing.

    >>> shared_area(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 1, 3, 3]]))
    1.0
    """
    if first.dtype == bool:
        return float(np.count_nonzero(first & second))
    if not len(first) or not len(second):
        return 0.0
    near = (first[:, :2].min(axis=0) < second[:, 2:].max(axis=0)) & (
        second[:, :2].min(axis=0) < first[:, 2:].max(axis=0)
    )
    if not near.all():
        return 0.0
    edges = np.concatenate([first, second])
    x, y = np.unique(edges[:, [0, 2]]), np.unique(edges[:, [1, 3]])
    return float(np.diff(x) @ (_covered(first, x, y) & _covered(second, x, y)) @ np.diff(y))


def clipped(boxes: Boxes, width: int, height: int) -> Boxes:
    """The parts of boxes inside an image, those without any left out.

    >>> clipped(np.array([[-5.0, 2, 5, 8], [20, 20, 30, 30]]), 10, 10).tolist()
    [[0.0, 2.0, 5.0, 8.0]]
    """
    inside = np.clip(boxes, 0, [width, height, width, height])
    kept = (inside[:, 2] > inside[:, 0]) & (inside[:, 3] > inside[:, 1])
    return np.asarray(inside[kept], dtype=np.float64)


def mask_of(region: Region, width: int, height: int) -> Mask:
    """The pixels that a region touches, `(height, width)`.

    >>> mask_of(np.array([[0.5, 0, 1.5, 1]]), 3, 2).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0]]
    """
    if region.dtype == bool:
        return region
    mask = np.zeros((height, width), dtype=bool)
    for left, upper, right, lower in region:
        mask[int(upper) : int(np.ceil(lower)), int(left) : int(np.ceil(right))] = True
    return mask


def grown(mask: Mask, pixels: int) -> Mask:
    """A mask and all pixels at most `pixels` from it, along rows and columns.

    >>> grown(np.array([[True, False, False]]), 1).astype(int).tolist()
    [[1, 1, 0]]
    """
    if not pixels:
        return mask
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask, 2 * pixels + 1))
