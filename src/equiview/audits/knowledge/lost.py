"""Consistency that is lost: what is missing to the same knowledge, less what sampling takes.

With the same knowledge the language that knows less knows nothing that the other does not. Which of two that
is must not be read from the numbers that it is then used on: the smaller of two noisy numbers is too small.
So questions are split in two halves by image, and each half is told by the other which language knows less.

A model that samples its answers loses consistency without any language: asked twice in one language it does
not answer alike. Repeats show how much that is, and it is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows, Test
from equiview.audits.knowledge.answers import Answered
from equiview.audits.knowledge.guessing import Floats, Integers, Letters
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.data.metric import quantity
from equiview.stats import beyond_p, interval
from equiview.stats.means import LEAST

LOST, SAMPLING, SAME = "lost consistency", "lost to sampling", "same-knowledge consistency"
DRAWS = 2000
"""Bootstrap replicates of all pairs of languages at most; that bounds memory."""


@dataclass(frozen=True)
class Shares:
    """Shares of questions with their replicates, of columns and of pairs of them.

    `right` and `guessed` are `(..., n_columns)`, `lucky` too; `both`, `both_guessed` and `both_lucky` are
    `(..., n_pairs)`, for pairs of the columns `x` and `y`.
    """

    x: Integers
    y: Integers
    right: Floats
    guessed: Floats
    lucky: Floats
    both: Floats
    both_guessed: Floats
    both_lucky: Floats

    def same(self, other: Shares | None) -> Floats:
        """The share right in both with the same knowledge; `other` says which knows less, None: neither."""
        first, second = self.guessed[..., self.x], self.guessed[..., self.y]
        if other is None:
            more = less = (first + second) / 2
            luck = np.zeros_like(more)
        else:
            swap = other.guessed[..., other.x] > other.guessed[..., other.y]  # x guesses more: it knows less
            more, less = np.where(swap, second, first), np.where(swap, first, second)
            column = np.where(swap, self.x, self.y)
            luck = _over(
                np.take_along_axis(self.lucky, _shaped(column, self.lucky), axis=-1),
                np.take_along_axis(self.guessed, _shaped(column, self.guessed), axis=-1),
            )
        return np.asarray(1 - less + (less - more) * luck + more * _over(self.both_lucky, self.both_guessed))

    def lost(self, other: Shares | None) -> Floats:
        """Consistency missing to that of the same knowledge."""
        with np.errstate(divide="ignore", invalid="ignore"):
            over = (1 / self.right[..., self.x] + 1 / self.right[..., self.y]) / 2
            return np.where(np.isfinite(over), (self.same(other) - self.both) * over, np.nan)


def _over(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def _shaped(column: Integers, table: Floats) -> Integers:
    """Indices for the last axis of `table`, whatever its other axes."""
    return np.broadcast_to(column, (*table.shape[:-1], column.shape[-1]))


def shares_of(
    letters: Letters,
    rows: NDArray[np.bool_],
    x: Integers,
    y: Integers,
    clusters: Integers,
    settings: KnowledgeSettings,
    purpose: str,
) -> tuple[Shares, Shares]:
    """The shares over the questions `rows`, and their replicates."""
    both = (letters.correct[:, x] & letters.correct[:, y]).astype(np.float64)
    parts = [letters.correct.astype(np.float64), letters.guessed, letters.lucky]
    parts += [both, *letters.guessed_in(x, y)]
    matrix = np.concatenate(parts, axis=1)[rows]
    measured = Replicates.of(matrix, settings, purpose, clusters[rows], DRAWS)
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    value, draws = (np.split(table, ends, axis=-1) for table in (measured.value, measured.draws))
    return Shares(x, y, *value), Shares(x, y, *draws)


def _halves(images: Integers, seed: int) -> NDArray[np.bool_]:
    """Which questions are in the first half: images are dealt at random."""
    n = int(images.max()) + 1
    first = np.zeros(n, dtype=bool)
    first[np.random.default_rng(seed).permutation(n)[: n // 2]] = True
    return first[images]


def lost_of_pairs(
    answered: Answered, settings: KnowledgeSettings
) -> tuple[Integers, Integers, Floats, Floats]:
    """Columns of all pairs of languages, what each loses, `(n_pairs,)`, `(draws, n_pairs)`."""
    x, y = np.triu_indices(len(answered.languages), 1)
    first = _halves(answered.image, settings.seed_of("halves"))
    if not first.any() or first.all():
        return x, y, np.full(len(x), np.nan), np.full((DRAWS, len(x)), np.nan)
    halves = [
        shares_of(answered.letters, rows, x, y, answered.image, settings, f"lost, half {place}")
        for place, rows in enumerate((first, ~first))
    ]
    weights = (first.mean(), 1 - first.mean())
    value, draws = (
        sum(
            weight * half[kind].lost(other[kind])
            for weight, half, other in zip(weights, halves, reversed(halves), strict=True)
        )
        for kind in (0, 1)
    )
    return x, y, np.asarray(value), np.asarray(draws)


def lost_to_sampling(answered: Answered, settings: KnowledgeSettings) -> Replicates | None:
    """What is lost between repeats in one language: 0 where answers are not sampled, None where unknown."""
    images = np.asarray(len(np.unique(answered.image)))
    draws = min(settings.replicates, DRAWS)
    if answered.repeats is not None:
        x, y = np.triu_indices(answered.repeats.chosen.shape[1], 1)
        everything = np.ones(len(answered.image), dtype=bool)
        both = shares_of(answered.repeats, everything, x, y, answered.image, settings, "repeats")
        value, drawn = (shares.lost(None).mean(axis=-1) for shares in both)
        return Replicates(np.asarray(value), drawn, images)
    if answered.sampled is False:
        return Replicates(np.asarray(0.0), np.zeros(draws), images)
    return None


def add_lost(
    rows: Rows, answered: Answered, settings: KnowledgeSettings, consistency: Replicates, family: str
) -> None:
    """What is lost overall and in each language, tested at its tolerance, less what sampling takes."""
    x, y, value, draws = lost_of_pairs(answered, settings)
    defined = ~np.isnan(value)
    if not defined.any():
        return
    n, images = len(answered.image), np.asarray(len(np.unique(answered.image)))
    sampling = lost_to_sampling(answered, settings)
    if sampling is not None:
        rows.add_known(quantity(SAMPLING), _ends(sampling), n)
    else:
        family = "lost"  # the verdict cannot read these tests, so they take no share of its errors
    taken = sampling or Replicates(np.asarray(0.0), np.zeros(len(draws)), images)
    rows.add_known(quantity(SAME, over="all-questions"), float(consistency.value + value[defined].mean()), n)
    for place, language in [(-1, ""), *enumerate(answered.languages)]:
        kept = defined & ((place < 0) | (x == place) | (y == place))
        if not kept.any():
            continue
        with np.errstate(invalid="ignore"):
            drawn = np.nansum(draws[:, kept], axis=1) / (~np.isnan(draws[:, kept])).sum(axis=1)
        lost = Replicates(value[kept].mean() - taken.value, drawn - taken.draws, images)
        judged = n >= settings.least
        p = beyond_p(float(lost.value), lost.draws, settings.lost_tolerance, int(images)) if judged else None
        about = quantity(LOST, None, **({"language": language} if language else {}))
        among = "lost" if judged and language else ""
        test: Test = {"p": p, "judged": judged, "family": family, "among": among}
        rows.add_known(about, _ends(lost), n, draws=lost.draws, **test)


def _ends(measured: Replicates) -> tuple[float, float, float]:
    """A value with the percentiles of its replicates; without where there are too few images."""
    value = float(measured.value)
    if measured.clusters is None or measured.clusters < LEAST:
        return value, np.nan, np.nan
    low, high = (float(end) for end in interval(measured.draws))
    return value, min(low, value), max(high, value)
