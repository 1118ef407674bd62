"""Which objects can be taken out of an image (O, section 3.1, equations 1 to 3).

A class is removed from an image of several classes. Every other class stays if less than `keep_below` of its
area is removed with it, and is removed along if more than `along_above` is; between the two the candidate is
rejected, and so it is where most of the image would go. Areas are of unions of boxes, or of masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from equiview.build.removal.areas import Region, area, joined, shared_area
from equiview.build.removal.settings import RemovalRules

ALONE = "it is the only class of its image"
BETWEEN = "another class would be lost in part"
NOTHING_LEFT = "every other class would be removed along"
TOO_LARGE = "too much of the image would be removed"


@dataclass(frozen=True)
class Removal:
    """What is removed from one image for the class `target`, and what stays.

    `region` is of everything removed, `share` is how much of the image it covers.
    """

    target: str
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    region: Region
    share: float


@dataclass(frozen=True)
class Rejected:
    """A class that cannot be removed from an image, and why; `detail` says what was seen."""

    target: str
    reason: str
    detail: str = ""


def candidates(
    objects: Mapping[str, Region], width: int, height: int, rules: RemovalRules | None = None
) -> Iterator[Removal | Rejected]:
    """What becomes of each class of an image, in their order; `objects` are regions by class, of one kind.

    They must lie inside the image and cover some of it.

    >>> import numpy as np
    >>> horse, rider = np.array([[0.0, 50, 100, 100]]), np.array([[40.0, 0, 60, 60]])
    >>> [found.removed for found in candidates({"horse": horse, "rider": rider}, 100, 100)]
    [('horse',), ('rider',)]
    """
    rules = rules or RemovalRules()
    areas = {name: area(region) for name, region in objects.items()}
    shared = {
        (one, other): shared_area(objects[one], objects[other]) for one, other in combinations(objects, 2)
    }
    for target in objects:
        lost = {
            name: shared.get((target, name), shared.get((name, target), 0.0)) / areas[name]
            for name in objects
            if name != target
        }
        yield _candidate(target, lost, objects, float(width * height), rules)


def _candidate(
    target: str, lost: Mapping[str, float], objects: Mapping[str, Region], whole: float, rules: RemovalRules
) -> Removal | Rejected:
    """What becomes of a class; `lost` is how much of every other class lies in what it covers."""
    if not lost:
        return Rejected(target, ALONE)
    along = [name for name in lost if lost[name] > rules.along_above]
    kept = [name for name in lost if name not in along]
    region = joined([objects[target], *(objects[name] for name in along)])
    if rules.strict and along:
        lost = {name: shared_area(objects[name], region) / area(objects[name]) for name in kept}
    unclear = [f"{name} {lost[name]:.2f}" for name in kept if lost[name] >= rules.keep_below]
    if unclear:
        return Rejected(target, BETWEEN, ", ".join(unclear))
    if not kept:
        return Rejected(target, NOTHING_LEFT)
    share = area(region) / whole
    if share >= rules.largest:
        return Rejected(target, TOO_LARGE, f"{share:.2f}")
    return Removal(target, (target, *along), tuple(kept), region, share)
