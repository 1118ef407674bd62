"""Masks in each of COCO's ways of writing them, and areas of masks against those of boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.build.removal.areas import area, grown, joined, mask_of, shared_area
from equiview.build.removal.masks import mask_from, runs_of
from equiview.errors import InputError

MASKS = arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9)))
EDGES = st.tuples(*[st.integers(0, 8)] * 4).map(
    lambda e: [min(e[0], e[2]), min(e[1], e[3]), max(e[0], e[2]), max(e[1], e[3])]
)
BOXES = st.lists(EDGES, min_size=1, max_size=4).map(lambda boxes: np.array(boxes, dtype=float))


def text_of(counts: list[int]) -> str:
    """COCO's text of lengths of runs, as its own library writes it (maskApi.c, rleToString)."""
    letters = []
    for place, count in enumerate(counts):
        number = count - counts[place - 2] if place > 2 else count
        more = True
        while more:
            bits = number & 31
            number >>= 5
            more = number != -1 if bits & 16 else number != 0
            letters.append(chr(48 + bits + (32 if more else 0)))
    return "".join(letters)


@given(MASKS)
def test_runs_and_their_text_give_the_mask_back(mask: np.ndarray) -> None:
    height, width = mask.shape
    runs = runs_of(mask)
    assert (mask_from(runs, width, height, "x") == mask).all()
    written = {"size": [height, width], "counts": text_of(runs["counts"])}
    assert (mask_from(written, width, height, "x") == mask).all()


def test_the_text_of_a_mask_that_can_be_written_by_hand() -> None:
    """3 x 2 pixels at (1, 1) of 5 x 4: runs 5, 2, 2, 2, 2, 2, 5, from the fourth on less the last but one."""
    mask = mask_from({"size": [4, 5], "counts": "5220003"}, 5, 4, "x")
    assert np.argwhere(mask).tolist() == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]


def test_polygons_are_filled_and_joined() -> None:
    square, corner = [1, 1, 4, 1, 4, 4, 1, 4], [8, 8, 9, 8, 9, 9]
    mask = mask_from([square, corner], 10, 10, "x")
    assert mask[1:5, 1:5].all()
    assert mask[8, 8]
    assert 16 < mask.sum() < 21


@pytest.mark.parametrize(
    ("segmentation", "message"),
    [
        ([[1, 2, 3, 4]], "a polygon of 4 numbers"),
        ([["a"] * 6], "could not convert"),
        ([5], "segmentation cannot be read"),
        ({"size": [3, 3], "counts": [9]}, r"it is of an image of \[3, 3\], but the picture is of \[2, 3\]"),
        ({"size": [2, 3], "counts": [5]}, "its runs are of 5 pixels; expected 6"),
        ({"size": [2, 3], "counts": [-1, 7]}, "its runs are of 6 pixels"),
        ({"size": [2, 3], "counts": "\n"}, "is no letter of a mask"),
        ({"size": [2, 3], "counts": "P"}, "is cut off"),
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
