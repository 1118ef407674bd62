"""Masks in each of COCO's ways of writing them, and areas of masks against those of boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as coco

from equiview.build.removal.areas import area, grown, joined, mask_of, shared_area
from equiview.build.removal.masks import mask_from, runs_of
from equiview.errors import InputError

# pycocotools gives NumPy an array whose way of being copied is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
MASKS = arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9)))
EDGES = st.tuples(*[st.integers(0, 8)] * 4).map(
    lambda e: [min(e[0], e[2]), min(e[1], e[3]), max(e[0], e[2]), max(e[1], e[3])]
)
BOXES = st.lists(EDGES, min_size=1, max_size=4).map(lambda boxes: np.array(boxes, dtype=float))
OUTLINES = st.lists(
    st.tuples(*[st.floats(-3, 15, allow_nan=False, width=32)] * 2), min_size=3, max_size=6
).map(lambda points: [number for point in points for number in point])


@given(MASKS)
def test_runs_give_the_mask_back(mask: np.ndarray) -> None:
    height, width = mask.shape
    runs = runs_of(mask)
    assert (mask_from(runs, width, height, "x") == mask).all()
    assert (coco.decode(runs) == mask).all()
    edges = np.flatnonzero(np.diff(mask.ravel(order="F"), prepend=False))
    counts = np.diff([0, *edges, mask.size]).tolist()
    assert (mask_from({"size": [height, width], "counts": counts}, width, height, "x") == mask).all()


@given(st.lists(OUTLINES, min_size=1, max_size=3), st.integers(2, 12), st.integers(2, 12))
def test_polygons_are_filled_as_coco_fills_them(polygons: list[list[float]], width: int, height: int) -> None:
    expected = coco.decode(coco.merge(coco.frPyObjects(polygons, height, width)))
    assert (mask_from(polygons, width, height, "x") == expected).all()


def test_the_text_of_a_mask_that_can_be_written_by_hand() -> None:
    """3 x 2 pixels at (1, 1) of 5 x 4: runs 5, 2, 2, 2, 2, 2, 5, from the fourth on less the last but one."""
    mask = mask_from({"size": [4, 5], "counts": "5220003"}, 5, 4, "x")
    assert np.argwhere(mask).tolist() == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]


def test_polygons_are_filled_and_joined() -> None:
    square, corner = [1, 1, 4, 1, 4, 4, 1, 4], [8, 8, 10, 8, 10, 10, 8, 10]
    mask = mask_from([square, corner], 10, 10, "x")
    assert mask[1:4, 1:4].all()
    assert mask[8:, 8:].all()
    assert mask.sum() == 9 + 4


@pytest.mark.parametrize(
    ("segmentation", "message"),
    [
        ([[1, 2, 3, 4]], "a polygon of 4 numbers"),
        ([["a"] * 6], "could not convert"),
        ([5], "segmentation cannot be read"),
        ([], "segmentation cannot be read"),
        ([[0, 0, 1e9, 0, 1e9, 1e9]], "a polygon reaches far outside of the picture"),
        ([[float("nan")] * 6], "a polygon reaches far outside of the picture"),
        ({"size": [3, 3], "counts": [9]}, r"it is of an image of \[3, 3\], but the picture is of \[2, 3\]"),
        ({"size": [2, 3], "counts": [5]}, "decoded 5 pixels but expected 6"),
        ({"size": [2, 3], "counts": [7]}, "RLE counts exceed the mask"),
        ({"size": [2, 3], "counts": "1"}, "decoded 1 pixels but expected 6"),
        ({"size": [2, 3], "counts": 6}, "cannot be read"),
        ({"size": [2, 3], "counts": [-1, 7]}, "-1 out of bounds"),
        ({"size": [2, 3], "counts": "\n"}, "cannot be read"),
        ({"size": [2, 3], "counts": "P"}, "early end"),
        ({"counts": [6]}, "has no 'size'"),
    ],
)
def test_a_wrong_mask_is_a_clear_error(segmentation: object, message: str) -> None:
    with pytest.raises(InputError, match=r"image '1', dog: segmentation cannot be read \(.*") as raised:
        mask_from(segmentation, 3, 2, "image '1', dog")
    with pytest.raises(InputError, match=message):
        raise raised.value


@given(BOXES, BOXES)
def test_areas_of_masks_are_those_of_their_boxes(first: np.ndarray, second: np.ndarray) -> None:
    drawn = [mask_of(boxes, 8, 8) for boxes in (first, second)]
    assert area(drawn[0]) == area(first)
    assert shared_area(*drawn) == shared_area(first, second)
    assert area(joined(drawn)) == area(joined([first, second])) <= area(first) + area(second)


@given(MASKS, st.integers(0, 3))
def test_a_grown_mask_holds_the_mask_and_no_pixel_far_from_it(mask: np.ndarray, pixels: int) -> None:
    larger = grown(mask, pixels)
    assert larger[mask].all()
    near = np.argwhere(mask)
    for place in np.argwhere(larger):
        assert np.abs(near - place).max(axis=1).min() <= pixels
