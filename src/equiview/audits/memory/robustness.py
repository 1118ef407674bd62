"""How much the numbers depend on the translator and the scorer: second less first, on the same texts."""

from __future__ import annotations

import numpy as np

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.memory.cells import Cells
from equiview.audits.memory.consistency import CONSISTENCY, cells_of, columns_of_parts, mean_consistency
from equiview.audits.memory.settings import MemorySettings
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.observations import Observations

VARIANTS = {"second translator": ("second", "first"), "second scorer": ("first", "second")}
"""The (translator, scorer) of each variant."""


def robustness(observations: Observations, settings: MemorySettings) -> Estimates | None:
    """EN, LOC, GLO and consistency with a second model, and its changes, where both models have scores."""
    rows = Rows()
    present = set(observations["scores"].select("translator", "scorer").unique().iter_rows())
    first = Cells.of(observations)
    for variant, models in VARIANTS.items():
        if models not in present:
            continue
        second = Cells.of(observations, *models)
        common = ~np.isnan(first.scores) & ~np.isnan(second.scores)
        if common.any():
            _add(rows, variant, [first, second], common, settings)
    return rows.estimates()


def _add(rows: Rows, variant: str, both: list[Cells], common: np.ndarray, settings: MemorySettings) -> None:
    first = both[0]
    clusters = np.repeat(np.arange(len(first.landmarks)), len(first.languages))
    n_landmarks = np.asarray(common.any(axis=1).sum())
    for setting, where in first.settings.items():
        if not (where & common).any():
            continue
        matrix = np.stack([cells.column(cells.scores, where & common) for cells in both], axis=1)
        old, new = Replicates.of(matrix, settings, clusters=clusters).split()
        n = int((where & common).sum())
        rows.add(quantity("score", setting=setting, variant=variant), new, n)
        rows.add(quantity("score change", setting=setting, variant=variant), new.gap(old), n)
    defined = []
    for cells in both:
        parts = cells_of(first, np.where(common, cells.scores, np.nan), diagonal=settings.include_diagonal)
        defined.append({(cell.region, cell.language): cell for cell in parts})
    shared = [key for key in defined[0] if key in defined[1]]
    if not shared:
        return
    measured = []
    for part in defined:
        columns = [entry.values for key in shared for entry in columns_of_parts(first, part[key])]
        of = Replicates.of(np.stack(columns, axis=1), settings, clusters=clusters)
        measured.append(Replicates(mean_consistency(of.value), mean_consistency(of.draws), n_landmarks))
    old, new = measured
    rows.add(quantity(CONSISTENCY, variant=variant), new, int(n_landmarks))
    rows.add(quantity("consistency change", variant=variant), new.gap(old), int(n_landmarks))
