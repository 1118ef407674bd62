"""How far reviewers agree beyond chance: Krippendorff's alpha with an interval, for each question.

Krippendorff, "Content Analysis" (4th edition, 2018), chapter 12; nominal. Chance is 0 and full agreement 1.
The interval is ours: items are drawn with replacement, each with all its judgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.data.seeds import seed_for
from equiview.extras import require
from equiview.review.decisions import Opinion
from equiview.review.layout import Question, ReviewSettings
from equiview.stats import bootstrap_means, interval

REPLICATES = 2_000
FEWEST = 10
"""Fewest items for an interval: with fewer, its coverage is too low (docs/coverage.md)."""


@dataclass(frozen=True)
class Agreement:
    """Alpha of one question over the `n` items with two answers or more, from `judgements` answers.

    `alpha`, or `low` and `high`, are None where they are undefined; `note` then says why.
    """

    question: str
    alpha: float | None
    low: float | None
    high: float | None
    n: int
    judgements: int
    note: str


def agreement(opinions: Sequence[Sequence[Opinion]], settings: ReviewSettings) -> list[Agreement]:
    """The agreement of the reviewers on each question; `opinions` has the latest judgements of each item."""
    return [
        agreement_of(question, _counts(question, opinions), seed_for(settings.seed, f"review.{question.id}"))
        for question in settings.questions
    ]


def agreement_of(question: Question, counts: NDArray[np.int64], seed: int) -> Agreement:
    """Alpha of one question; `counts`, `(n_items, n_choices)`, is how many people made each choice.

    >>> asked = Question(id="right", text="Is it right?")
    >>> found = agreement_of(asked, np.array([[3, 0]] * 20 + [[0, 3]] * 20 + [[2, 1]] * 10), seed=0)
    >>> round(found.alpha, 3), found.n, found.low < found.alpha < found.high
    (0.734, 50, True)
    >>> agreement_of(asked, np.array([[3, 0], [3, 0]]), seed=0).note
    "undefined: every answer is 'yes'"
    """
    counts = counts[counts.sum(axis=1) >= 2]
    used = np.flatnonzero(counts.sum(axis=0))
    alpha, low, high, note = None, None, None, ""
    if not len(counts):
        note = "undefined: no item has two answers yet"
    elif len(used) == 1:
        note = f"undefined: every answer is {question.choices[used[0]]!r}"
    else:
        krippendorff = require("krippendorff", "review")
        alpha = float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))
        if len(counts) < FEWEST:
            note = f"no interval: fewer than {FEWEST} items"
        elif (np.count_nonzero(counts, axis=1) == 1).all():
            note = "no interval: nobody disagrees, so how often somebody would is not known"
        else:
            low, high = map(float, interval(alphas(counts, seed)))
    return Agreement(question.id, alpha, low, high, len(counts), int(counts.sum()), note)


def alphas(counts: NDArray[np.int64], seed: int, replicates: int = REPLICATES) -> NDArray[np.float64]:
    """Alpha of each replicate, `(replicates,)`; NaN where all its answers are equal."""
    means = bootstrap_means(_parts(counts), replicates=replicates, seed=seed)
    return _alpha(means * len(counts))


def _parts(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """`(n_items, 1 + n_choices)`: observed disagreements of each item, and how often each choice was made."""
    people = counts.sum(axis=1)
    unlike = (people**2 - (counts**2).sum(axis=1)) / (people - 1)
    return np.column_stack([unlike, counts]).astype(np.float64)


def _alpha(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Alpha of the sums of `_parts` over items, `(..., 1 + n_choices)`."""
    unlike, choices = sums[..., 0], sums[..., 1:]
    total = choices.sum(axis=-1)
    by_chance = total**2 - (choices**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: NDArray[np.float64] = 1 - (total - 1) * unlike / by_chance
    return np.where(by_chance > 0.5, alpha, np.nan)  # an integer up to rounding errors


def _counts(question: Question, opinions: Sequence[Sequence[Opinion]]) -> NDArray[np.int64]:
    counts = np.zeros((len(opinions), len(question.choices)), dtype=np.int64)
    for row, said in enumerate(opinions):
        for opinion in said:
            if opinion.role == "reviewer" and question.id in opinion.answers:
                counts[row, question.choices.index(opinion.answers[question.id])] += 1
    return counts
