"""What described landmarks say: one number for each landmark and language, then intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.audits.memory.cells import Cells, matched_shifts, mean_of, shifts_of
from equiview.audits.memory.consistency import (
    CONSISTENCY,
    PARTS,
    cells_of,
    columns_of_parts,
    consistency_by_cell,
    mean_consistency,
    parts_in,
    possible_cells,
)
from equiview.audits.memory.replies import adherence_columns, of_replies
from equiview.audits.memory.robustness import robustness
from equiview.audits.memory.settings import MemorySettings
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline, Means
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, Values, column
from equiview.stats import interval, sign_flip_test, wald_p

SCORE, MARGIN, SHIFT, LOCAL, ENGLISH = "score", "margin", "shift", "local advantage", "English advantage"
MATCHED = "matched shift"
TESTED = {SHIFT: "relative shift", LOCAL: "relative local advantage"}
"""Metrics that are 0 where languages are exchangeable, and these over the margin."""
DRAWS_A_TEST = 200
"""Random signs for each test of a family at least: fewer could not reject after Holm's correction."""


def over_margin(means: Means) -> Means:
    """The first mean over the second, the margin; infinite where that is not above 0."""
    margin = means[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.real(margin) > 0, means[..., 0] / margin, np.inf)


CONSISTENT = Headline(quantity(CONSISTENCY), combine=mean_consistency, pick=parts_in)


def values(observations: Observations, settings: MemorySettings) -> Values:
    """Of each landmark and language: scores, margin, shifts, the parts of consistency, adherence.

    Landmarks are clusters: what is said of one landmark in several languages is drawn together.
    """
    cells = Cells.of(observations)
    columns = [
        *_score_columns(cells),
        *_effect_columns(cells),
        *adherence_columns(observations, cells),
        *(
            part
            for cell in cells_of(cells, cells.scores, diagonal=settings.include_diagonal)
            for part in columns_of_parts(cells, cell)
        ),
    ]
    names = [f"{landmark}:{language}" for landmark in cells.landmarks for language in cells.languages]
    clusters = [landmark for landmark in cells.landmarks for _ in cells.languages]
    # What nobody was asked, such as English where it is left out, has no column.
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
    abroad = mean_of(np.where(settings["GLO"], scores, np.nan), axis=1)[:, None]
    # Where the local language is English, one cannot tell the two apart.
    yield column(LOCAL, cells.column(scores - abroad, settings["LOC"] & ~settings["EN"]))
    yield column(ENGLISH, cells.column(scores - abroad, settings["EN"] & ~settings["LOC"]))
    matched, share = matched_shifts(cells.by_prompt, cells.words)
    tables = {
        SHIFT: shifts_of(scores),
        MATCHED: matched,
        "matched": share,
        "words": mean_of(cells.words),
        "missing": np.where(cells.asked, np.isnan(scores), np.nan),
    }
    for place, language in enumerate(cells.languages):
        where = np.arange(len(cells.languages))[None, :] == place
        for metric, table in tables.items():
            yield column(metric, cells.column(table, where), language=language)


def measure(observations: Observations, settings: MemorySettings) -> Estimates:
    """Means with intervals, tests of shifts and local advantage, consistency, what replies were, robustness.

    Raises InputError where no description has a score.
    """
    per_cell = values(observations, settings)
    internal = {*PARTS, "language adherence", LOCAL, SHIFT, MARGIN}
    plain = per_cell.select(lambda entry: entry.metric not in internal)
    return joined(
        [
            _tested(per_cell, settings),
            summarise(plain, settings),
            _consistency(per_cell, observations, settings),
            of_replies(observations),
            robustness(observations, settings),
        ]
    )


def _tested(per_cell: Values, settings: MemorySettings) -> Estimates | None:
    """The margin, then shifts and the local advantage with their tests, alone and over the margin.

    Where the languages of a landmark are exchangeable, each of these may as well have the other sign, so
    signs are flipped landmark by landmark; all are of one family.
    """
    margin_wanted = quantity(MARGIN)
    if margin_wanted not in per_cell:  # a single landmark, or no score at all
        return None
    rows, clusters = Rows(), per_cell.clusters
    tested = [entry for entry in per_cell.quantities if entry.metric in TESTED]
    matrix = per_cell.at(margin_wanted, *tested)
    margin, *measured = Replicates.of(matrix, settings, clusters=clusters).split()
    counts = [len(np.unique(clusters[~np.isnan(entry)])) for entry in matrix.T]
    rows.add(margin_wanted, margin, counts[0], p=float(wald_p(margin.value, margin.draws)))
    related = float(interval(margin.draws)[0]) > 0
    if not tested:
        return rows.estimates()
    p_values = sign_flip_test(
        matrix[:, 1:],
        clusters=clusters,
        replicates=max(settings.replicates, DRAWS_A_TEST * len(tested)),
        seed=settings.seed_of("signs"),
    )
    for wanted, effect, n, p in zip(tested, measured, counts[1:], p_values, strict=True):
        judged = bool(n >= settings.least)
        tests: dict[str, Any] = {"p": float(p) if judged else None, "judged": judged}
        rows.add(wanted, effect, n, **tests, family="as it is")
        if related:
            over = quantity(TESTED[wanted.metric], None, **wanted.keys)
            rows.add(over, _over(effect, margin), n, **tests, family="over the margin")
    return rows.estimates()


def _over(effect: Replicates, margin: Replicates) -> Replicates:
    """An effect over the margin, replicate by replicate."""
    value, draws = (
        over_margin(np.stack(numbers, axis=-1))
        for numbers in ((effect.value, margin.value), (effect.draws, margin.draws))
    )
    return Replicates(value, draws, effect.clusters)


def _consistency(per_cell: Values, observations: Observations, settings: MemorySettings) -> Estimates | None:
    """By region and language, by region, and over all, each beside what shuffled landmarks would have."""
    cells = Cells.of(observations)
    defined = list(cells_of(cells, cells.scores, diagonal=settings.include_diagonal))
    rows = Rows()
    possible = possible_cells(cells, diagonal=settings.include_diagonal)
    if possible:
        share = 1 - len(defined) / possible
        rows.add_known(quantity("undefined cells"), (share, share, share), possible)
    if not defined:
        return rows.estimates()
    parts = Replicates.of(per_cell.at(*parts_in(per_cell)), settings, clusters=per_cell.clusters)
    value, draws = consistency_by_cell(parts.value), consistency_by_cell(parts.draws)

    def add(chosen: list[int], **keys: str) -> None:
        of = [part for place in chosen for part in range(3 * place, 3 * place + 3)]
        landmarks = np.any([defined[place].landmarks for place in chosen], axis=0).sum()
        mean = Replicates(
            mean_consistency(parts.value[of]), mean_consistency(parts.draws[:, of]), np.asarray(landmarks)
        )
        chance = float(np.mean([defined[place].chance for place in chosen]))
        rows.add(quantity(CONSISTENCY, None, **keys), mean, int(landmarks), chance)

    add(list(range(len(defined))))
    for region in dict.fromkeys(cell.region for cell in defined):
        add([place for place, cell in enumerate(defined) if cell.region == region], region=region)
    for place, cell in enumerate(defined):
        n = int(cell.landmarks.sum())
        rows.add(
            quantity(CONSISTENCY, region=cell.region, language=cell.language),
            Replicates(value[place], draws[:, place], np.asarray(n)),
            n,
            cell.chance,
        )
    return rows.estimates()
