"""Consistency of languages: of every two over all questions, and of each region's language as T's Figure 2.

Intervals are of bootstrap replicates. Shares of questions right in one language and in two are means of
columns, so all replicates of all pairs come from one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.knowledge.answers import Answered, Floats, Integers
from equiview.audits.knowledge.lost import add_lost
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.sharing import both_if_independent, consistency
from equiview.data.headline import Headline, Means
from equiview.data.metric import Quantity, quantity
from equiview.data.values import ValueColumn, Values, column

CONSISTENCY = "consistency"
UNDEFINED = "undefined cells"
BOTH = "both right"
OVER = "all-questions"
"""Key `over` of numbers over all questions; those of T are over the questions of each region."""


def pair_columns(answered: Answered) -> Iterator[ValueColumn]:
    """Of each question: right in both of every two languages."""
    for x, y in answered.pairs():
        both = answered.correct[:, x] * answered.correct[:, y]
        yield column(BOTH, both, language=answered.languages[x], other=answered.languages[y])


def _alone_then_pairs(per_question: Values) -> tuple[Quantity, ...]:
    pairs = [entry for entry in per_question.quantities if entry.metric == BOTH]
    names = dict.fromkeys(entry.keys[key] for entry in pairs for key in ("language", "other"))
    return (*(quantity("accuracy", language=name) for name in sorted(names)), *pairs)


def mean_over_pairs(means: Means) -> Means:
    """Mean consistency from means of languages, then of all pairs of them in order."""
    n = int((np.sqrt(1 + 8 * means.shape[-1]) - 1) / 2)
    x, y = np.triu_indices(n, 1)
    both = means[..., n:]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((both / means[..., x] + both / means[..., y]) / 2).mean(axis=-1))


OVER_PAIRS = Headline(quantity(CONSISTENCY, over=OVER), combine=mean_over_pairs, pick=_alone_then_pairs)


@dataclass(frozen=True)
class Cells:
    """Consistency of some pairs of columns over the same questions.

    `x` and `y` are the columns, `(n_cells,)`. `value` is as measured, `floor` if languages were independent;
    `draws`, `(replicates, n_cells)`, are bootstrap replicates. nan where nothing is right in one of the two.
    All are of `n` questions about `images` images.
    """

    x: Integers
    y: Integers
    value: Floats
    floor: Floats
    draws: Floats
    n: int
    images: int

    @classmethod
    def of(
        cls,
        answered: Answered,
        rows: NDArray[np.bool_],
        x: Integers,
        y: Integers,
        settings: KnowledgeSettings,
    ) -> Cells:
        """The cells of columns `x` and `y` over the questions `rows`."""
        correct = answered.correct[rows]
        purpose = "bootstrap of " + answered.languages[x[0]] if len(set(x.tolist())) == 1 else "bootstrap"
        shares = Replicates.of(
            np.concatenate([correct, correct[:, x] * correct[:, y]], axis=1),
            settings,
            purpose,
            clusters=answered.image[rows],
        )

        def computed(means: Floats) -> Floats:
            return consistency(means[..., correct.shape[1] :], means[..., x], means[..., y])

        value, draws = computed(shares.value), computed(shares.draws)
        alone = shares.value[x], shares.value[y]
        floor = np.where(x == y, 1.0, consistency(both_if_independent(*alone), *alone))
        images = len(np.unique(answered.image[rows]))
        return cls(x, y, value, floor, draws, len(correct), images)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The columns of each cell."""
        return list(zip(self.x.tolist(), self.y.tolist(), strict=True))

    def at(self, cell: int) -> Replicates:
        """The consistency of one cell."""
        return Replicates(self.value[cell], self.draws[:, cell], np.asarray(self.images))

    def mean(self, counted: NDArray[np.bool_]) -> Replicates:
        """The mean over the cells `counted` that are defined."""
        value, draws = self.value, self.draws
        kept = counted & ~np.isnan(value)
        with np.errstate(invalid="ignore"):
            of_draws = np.nansum(draws[:, kept], axis=1) / (~np.isnan(draws[:, kept])).sum(axis=1)
        return Replicates(np.asarray(value[kept].mean()), of_draws, np.asarray(self.images))


def add_consistency(rows: Rows, answered: Answered, settings: KnowledgeSettings, *, family: str) -> None:
    """T's consistency, that of every two languages, and what is lost of what the same knowledge would give.

    A quiz without regions has T's overall consistency over all pairs of languages.
    """
    by_region = [_of_region(answered, int(region), settings) for region in answered.regions]
    x, y = np.triu_indices(len(answered.languages), 1)
    pairs = Cells.of(answered, np.ones(len(answered.correct), dtype=bool), x, y, settings)
    _add_overall(rows, by_region, answered, settings)
    names = answered.languages
    for region in by_region:
        _add_cells(rows, region, [{"region": names[a], "language": names[b]} for a, b in region.places])
    _add_cells(rows, pairs, [{"language": names[a], "other": names[b]} for a, b in pairs.places])
    if (defined := ~np.isnan(pairs.value)).any():
        measured = pairs.mean(defined)
        rows.add(quantity(CONSISTENCY, over=OVER), measured, pairs.n, float(pairs.floor[defined].mean()))
        add_lost(rows, answered, settings, measured, family)


def _of_region(answered: Answered, region: int, settings: KnowledgeSettings) -> Cells:
    """The region's language against every language, itself included, over the region's questions."""
    y = np.arange(len(answered.languages))
    return Cells.of(answered, answered.region == region, np.full(len(y), region), y, settings)


def _add_cells(rows: Rows, cells: Cells, keys: Sequence[dict[str, str]]) -> None:
    for cell, about in enumerate(keys):
        if cells.x[cell] != cells.y[cell] and not np.isnan(cells.value[cell]):
            floor = float(cells.floor[cell])
            rows.add(quantity(CONSISTENCY, None, **about), cells.at(cell), cells.n, floor)


def _add_overall(
    rows: Rows, by_region: Sequence[Cells], answered: Answered, settings: KnowledgeSettings
) -> None:
    """The mean of T over regions and languages, that of each region, and how many cells are not defined."""
    means, floors, n_cells, undefined = [], [], [], 0
    for cells in by_region:
        counted = (cells.x != cells.y) | settings.include_diagonal
        defined = counted & ~np.isnan(cells.value)
        undefined += int((counted & ~defined).sum())
        if defined.any():
            means.append(cells.mean(counted))
            floors.append(float(cells.floor[defined].mean()))
            n_cells.append(int(defined.sum()))
            about = quantity(CONSISTENCY, region=answered.languages[cells.x[0]])
            rows.add(about, means[-1], cells.n, floors[-1])
    if undefined:
        counted_cells = np.asarray(float(undefined))
        ends = (float(counted_cells),) * 3
        rows.add_known(quantity(UNDEFINED), ends, sum(n_cells) + undefined)
    if means:
        weights = np.asarray(n_cells) / sum(n_cells)
        draws = np.stack([mean.draws for mean in means], axis=1) @ weights
        value = np.asarray([mean.value for mean in means]) @ weights
        images = np.asarray(sum(int(cells.images) for cells in by_region))
        rows.add(
            quantity(CONSISTENCY),
            Replicates(np.asarray(value), draws, images),
            sum(cells.n for cells in by_region),
            float(np.asarray(floors) @ weights),
        )
