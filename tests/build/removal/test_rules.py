"""The rules of removal on boxes one can draw on paper, and areas against a grid of pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from equiview.build.removal.areas import clipped, shared_area, union_area
from equiview.build.removal.rules import (
    ALONE,
    BETWEEN,
    NOTHING_LEFT,
    TOO_LARGE,
    Rejected,
    Removal,
    RemovalRules,
    candidates,
)

BOTH = ("person", "bag")
CORNERS = arrays(np.int64, st.tuples(st.integers(0, 6), st.just(4)), elements=st.integers(0, 12))


def boxes(*edges: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(edges, dtype=float).reshape(-1, 4)


def outcome(target: str, rules: RemovalRules | None = None, **objects: np.ndarray) -> Removal | Rejected:
    """What becomes of one class of an image of 100 x 100 pixels."""
    return next(found for found in candidates(objects, 100, 100, rules) if found.target == target)


def covered(corners: np.ndarray) -> np.ndarray:
    """The pixels that boxes cover."""
    grid = np.zeros((12, 12), dtype=bool)
    for left, upper, right, lower in corners:
        grid[left:right, upper:lower] = True
    return grid


def sorted_corners(corners: np.ndarray) -> np.ndarray:
    x, y = np.sort(corners[:, [0, 2]], axis=1), np.sort(corners[:, [1, 3]], axis=1)
    return np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)


@given(CORNERS, CORNERS)
def test_areas_are_those_of_pixels(first: np.ndarray, second: np.ndarray) -> None:
    first, second = sorted_corners(first), sorted_corners(second)
    assert union_area(first.astype(float)) == covered(first).sum()
    assert shared_area(first.astype(float), second.astype(float)) == (covered(first) & covered(second)).sum()


@given(CORNERS)
def test_a_union_is_never_larger_than_the_sum(corners: np.ndarray) -> None:
    corners = sorted_corners(corners).astype(float)
    assert union_area(corners) <= sum(union_area(box[None]) for box in corners)


def test_a_class_beside_another_is_removed_alone() -> None:
    found = outcome("person", person=boxes((0, 0, 30, 100)), horse=boxes((50, 0, 100, 100)))
    assert isinstance(found, Removal)
    assert (found.removed, found.kept, found.share) == (("person",), ("horse",), 0.3)


@pytest.mark.parametrize(
    ("covered", "expected"),
    [(3.9, ("person",)), (4, BETWEEN), (6, BETWEEN), (8, BETWEEN), (8.1, BOTH), (10, BOTH)],
)
def test_what_is_lost_of_another_class_decides(covered: float, expected: object) -> None:
    """A bag of 10 x 10 pixels, of which the person covers `covered` columns; a dog far off stays."""
    found = outcome(
        "person",
        person=boxes((0, 0, 20 + covered, 30)),
        bag=boxes((20, 0, 30, 10)),
        dog=boxes((70, 70, 90, 90)),
    )
    assert (found.removed if isinstance(found, Removal) else found.reason) == expected


def test_a_large_class_is_not_removed() -> None:
    dog = boxes((90, 90, 100, 100))
    assert outcome("bed", bed=boxes((0, 0, 100, 70)), dog=dog) == Rejected("bed", TOO_LARGE, "0.70")
    assert isinstance(outcome("bed", bed=boxes((0, 0, 100, 69)), dog=dog), Removal)


def test_overlapping_boxes_of_a_class_count_once() -> None:
    found = outcome("cup", cup=boxes((0, 0, 60, 60), (0, 0, 60, 60)), dog=boxes((90, 90, 100, 100)))
    assert isinstance(found, Removal)
    assert found.share == 0.36


def test_without_another_class_nothing_is_removed() -> None:
    assert outcome("cat", cat=boxes((0, 0, 10, 10))) == Rejected("cat", ALONE)
    inside = {"sofa": boxes((0, 0, 60, 60)), "cat": boxes((10, 10, 20, 20))}
    assert outcome("sofa", **inside) == Rejected("sofa", NOTHING_LEFT)
    assert isinstance(outcome("cat", **inside), Removal)


def test_strict_rules_look_at_what_is_removed_along() -> None:
    """The vase goes with the table, and would take most of the flower with it."""
    objects = {
        "table": boxes((0, 50, 100, 100)),
        "vase": boxes((40, 30, 60, 190 - 90)),
        "flower": boxes((45, 20, 55, 45)),
        "lamp": boxes((80, 0, 90, 20)),
    }
    rules = RemovalRules(along_above=0.7)
    loose = outcome("table", rules, **objects)
    assert isinstance(loose, Removal)
    assert (loose.removed, loose.kept) == (("table", "vase"), ("flower", "lamp"))
    strict = outcome("table", rules.model_copy(update={"strict": True}), **objects)
    assert strict == Rejected("table", BETWEEN, "flower 0.60")


def test_boxes_are_cut_at_the_edges_of_the_image() -> None:
    assert clipped(boxes((-5, -5, 5, 5), (8, 8, 20, 20), (3, 3, 3, 9), (11, 0, 15, 5)), 10, 10).tolist() == [
        [0, 0, 5, 5],
        [8, 8, 10, 10],
    ]


def test_limits_that_contradict_each_other_are_an_error() -> None:
    with pytest.raises(ValidationError, match="keep_below must not be above along_above"):
        RemovalRules(keep_below=0.9)
