"""Consistency of scores (T, equation 2): of each region's language with every other.

A cell is a region and a language: the landmarks of the region that have a score both in the region's language
and in the other one. A region's consistency is the mean of its cells, the whole that of all cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from equiview.audits.estimating import mean_known
from equiview.audits.memory.cells import Cells, Floats, Mask
from equiview.data.headline import Means
from equiview.data.metric import Quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.metrics import independent_score_consistency

CONSISTENCY = "consistency"
PARTS = ("smaller score", "score in the region's language", "score in the other language")
"""Columns of values of a cell; consistency is computed from their means."""


@dataclass(frozen=True)
class Cell:
    """One region and language: which landmarks it is of, its scores, and what it would be without memory.

    `landmarks` is `(n_landmarks,)` booleans; `local` and `other` are their scores. `chance` is the mean
    consistency when the landmarks of one language are shuffled.
    """

    region: str
    language: str
    landmarks: Mask
    local: Floats
    other: Floats
    chance: float


def cells_of(cells: Cells, scores: Floats, *, diagonal: bool) -> Iterator[Cell]:
    """Every cell in which consistency is defined: both languages have a score above 0 on a common landmark.

    `scores` is `(n_landmarks, n_languages)`, nan without a score; `diagonal` includes the region's
    language with itself.
    """
    for region in dict.fromkeys(cells.regions):
        if region not in cells.languages:
            continue
        own = cells.languages.index(region)
        of_region = np.array(cells.regions) == region
        for place, language in enumerate(cells.languages):
            common = of_region & ~np.isnan(scores[:, own]) & ~np.isnan(scores[:, place])
            local, other = scores[common, own], scores[common, place]
            if (place == own and not diagonal) or not local.sum() > 0 or not other.sum() > 0:
                continue
            pair = np.stack([local, other], axis=1)
            chance = 1.0 if place == own else float(independent_score_consistency(pair)[0, 1])
            yield Cell(region, language, common, local, other, chance)


def possible_cells(cells: Cells, *, diagonal: bool) -> int:
    """How many cells there would be if no score were missing."""
    n_regions = len({region for region in cells.regions if region in cells.languages})
    return n_regions * (len(cells.languages) - (0 if diagonal else 1))


def columns_of_parts(cells: Cells, cell: Cell) -> Iterator[ValueColumn]:
    """The three columns of values that a cell's consistency is computed from."""
    place = cells.languages.index(cell.language)
    for part, numbers in zip(
        PARTS, (np.minimum(cell.local, cell.other), cell.local, cell.other), strict=True
    ):
        table = np.full((len(cells.landmarks), len(cells.languages)), np.nan)
        table[cell.landmarks, place] = numbers
        yield column(part, table.ravel(), region=cell.region, language=cell.language)


def parts_in(values: Values) -> tuple[Quantity, ...]:
    """The columns of all cells, three for each."""
    return tuple(entry for entry in values.quantities if entry.metric in PARTS)


def consistency_by_cell(means: Means) -> Means:
    """(S / S_x + S / S_y) / 2 of each cell from the means of its parts, `(..., 3 n_cells)`: `(..., n_cells)`.

    >>> consistency_by_cell(np.array([0.5, 1.0, 0.5])).tolist()
    [0.75]
    """
    smaller, local, other = (means[..., part::3] for part in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((smaller / local + smaller / other) / 2)


def mean_consistency(means: Means) -> Means:
    """The mean over cells, `(...)`; cells without a landmark in a replicate are left out of it."""
    return mean_known(consistency_by_cell(means), axis=-1)
