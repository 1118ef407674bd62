"""What described landmarks say: one number for each landmark and language, then intervals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from equiview.audits.base import View, once
from equiview.audits.estimating import Replicates, Rows, joined, mean_known, summarise
from equiview.audits.margin import effects_over_margin
from equiview.audits.memory.cells import Cells, matched_shifts, shifts_of
from equiview.audits.memory.consistency import (
    CONSISTENCY,
    PARTS,
    Cell,
    cells_of,
    columns_of_parts,
    mean_consistency,
    parts_in,
    possible_cells,
)
from equiview.audits.memory.replies import adherence_columns, of_replies
from equiview.audits.memory.robustness import robustness
from equiview.audits.memory.settings import MemorySettings
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values, column

SCORE, MARGIN, SHIFT, LOCAL, ENGLISH = "score", "margin", "shift", "local advantage", "English advantage"
MATCHED = "matched shift"
TESTED = {SHIFT: "relative shift", LOCAL: "relative local advantage"}
"""Metrics that are 0 where languages are exchangeable, and these over the margin."""
CONSISTENT = Headline(quantity(CONSISTENCY), combine=mean_consistency, pick=parts_in)


class Described(View[MemorySettings]):
    """What was observed, with the scores of the first translator and scorer as a table."""

    @cached_property
    def cells(self) -> Cells:
        """The scores, a landmark a row, a language a column."""
        return Cells.of(self.observations)

    @cached_property
    def compared(self) -> list[Cell]:
        """Each region's language with every other, where consistency is defined."""
        return list(cells_of(self.cells, self.cells.scores, diagonal=self.settings.include_diagonal))


@once
def values(view: Described, settings: MemorySettings) -> Values:
    """Of each landmark and language: scores, margin, shifts, the parts of consistency, adherence.

    Landmarks are clusters: the descriptions of a landmark in all languages are resampled together.
    """
    cells = view.cells
    columns = [
        *_score_columns(cells),
        *_effect_columns(cells),
        *adherence_columns(view.observations, cells),
        *(part for cell in view.compared for part in columns_of_parts(cells, cell)),
    ]
    names = [f"{landmark}:{language}" for landmark in cells.landmarks for language in cells.languages]
    clusters = [landmark for landmark in cells.landmarks for _ in cells.languages]
    # Quantities without any value, such as those of English where it is not asked in, have no column.
    asked = [entry for entry in columns if not np.isnan(entry.values).all()]
    return Values.of(names, asked, clusters)


def _score_columns(cells: Cells) -> Iterator[ValueColumn]:
    scores, floors = cells.scores, cells.floors

    def scored(where: Any, **keys: str) -> ValueColumn:
        floor = floors[where & ~np.isnan(floors)]
        chance = float(floor.mean()) if len(floor) else None
        return ValueColumn(quantity(SCORE, None, **keys), cells.column(scores, where), chance)

    for setting, where in cells.settings.items():
        yield scored(where, setting=setting)
    for place, language in enumerate(cells.languages):
        yield scored(np.arange(len(cells.languages))[None, :] == place, language=language)
    for region in dict.fromkeys(cells.regions):
        yield scored(np.array(cells.regions)[:, None] == region, region=region)
    for setting, where in cells.settings.items():
        for prompt, table in enumerate(cells.by_prompt):
            yield column(SCORE, cells.column(table, where), setting=setting, prompt=str(prompt))


def _effect_columns(cells: Cells) -> Iterator[ValueColumn]:
    scores = cells.scores
    yield column(MARGIN, cells.column(scores - cells.floors))
    settings = cells.settings
    abroad = mean_known(np.where(settings["GLO"], scores, np.nan), axis=1)[:, None]
    # Where the local language is English, the two cannot be distinguished.
    yield column(LOCAL, cells.column(scores - abroad, settings["LOC"] & ~settings["EN"]))
    yield column(ENGLISH, cells.column(scores - abroad, settings["EN"] & ~settings["LOC"]))
    matched, share = matched_shifts(cells.by_prompt, cells.words)
    tables = {
        SHIFT: shifts_of(scores),
        MATCHED: matched,
        "matched": share,
        "words": mean_known(cells.words, axis=0),
        "missing": np.where(cells.asked, np.isnan(scores), np.nan),
    }
    for place, language in enumerate(cells.languages):
        where = np.arange(len(cells.languages))[None, :] == place
        for metric, table in tables.items():
            yield column(metric, cells.column(table, where), language=language)


def measure(view: Described, settings: MemorySettings) -> Estimates:
    """Means with intervals, tests of shifts and local advantage, consistency, what replies were, robustness.

    Raises InputError where no description has a score.
    """
    per_cell = values(view, settings)
    internal = {*PARTS, "language adherence", LOCAL, SHIFT, MARGIN}
    several = quantity(MARGIN) in per_cell  # false for a single landmark, or without any score
    plain = per_cell.select(lambda entry: entry.metric not in internal)
    return joined(
        [
            effects_over_margin(per_cell, TESTED, settings, settings.least, settings.tolerance)
            if several
            else None,
            summarise(plain, settings),
            _consistency(per_cell, view, settings),
            of_replies(view.observations),
            robustness(view.observations, settings),
        ]
    )


def _consistency(per_cell: Values, view: Described, settings: MemorySettings) -> Estimates | None:
    """By region and language, by region, and over all, each with that of shuffled landmarks."""
    rows, defined = Rows(), view.compared
    possible = possible_cells(view.cells, diagonal=settings.include_diagonal)
    if possible:
        rows.add_known(quantity("undefined cells"), 1 - len(defined) / possible, possible)
    if not defined:
        return rows.estimates()
    parts = Replicates.of(per_cell.at(*parts_in(per_cell)), settings, clusters=per_cell.clusters)

    def add(chosen: list[int], **keys: str) -> None:
        of = [part for place in chosen for part in range(3 * place, 3 * place + 3)]
        n = np.any([defined[place].landmarks for place in chosen], axis=0).sum()
        mean = Replicates(mean_consistency(parts.value[of]), mean_consistency(parts.draws[:, of]), n)
        chance = float(np.mean([defined[place].chance for place in chosen]))
        rows.add(quantity(CONSISTENCY, None, **keys), mean, int(n), chance)

    add(list(range(len(defined))))
    for region in dict.fromkeys(cell.region for cell in defined):
        add([place for place, cell in enumerate(defined) if cell.region == region], region=region)
    for place, cell in enumerate(defined):
        add([place], region=cell.region, language=cell.language)
    return rows.estimates()
