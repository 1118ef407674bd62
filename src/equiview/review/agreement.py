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
"""Items below which no interval is given: too often it would not hold the truth (docs/coverage.md)."""


@dataclass(frozen=True)
class Agreement:
    """Alpha of one question over the `n` items that two people or more answered, of `judgements` answers.

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
    n, judgements = len(counts), int(counts.sum())
    used = np.flatnonzero(counts.sum(axis=0))
    if n == 0:
        return Agreement(question.id, None, None, None, 0, 0, "undefined: no item has two answers yet")
    if len(used) == 1:
        note = f"undefined: every answer is {question.choices[used[0]]!r}"
        return Agreement(question.id, None, None, None, n, judgements, note)
    krippendorff = require("krippendorff", "review")
    alpha = float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))
    if n < FEWEST:
        note = f"no interval: fewer than {FEWEST} items"
        return Agreement(question.id, alpha, None, None, n, judgements, note)
    if (np.count_nonzero(counts, axis=1) == 1).all():
        note = "no interval: nobody disagrees, so how often somebody would is not known"
        return Agreement(question.id, alpha, None, None, n, judgements, note)
    low, high = interval(alphas(counts, seed))
    return Agreement(question.id, alpha, float(low), float(high), n, judgements, "")


def alphas(counts: NDArray[np.int64], seed: int, replicates: int = REPLICATES) -> NDArray[np.float64]:
    """Alpha of `(replicates,)` samples of items; nan where every answer in a sample is the same."""
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
    return np.where(by_chance > 0.5, alpha, np.nan)  # whole numbers, rounded by the bootstrap's sums


def _counts(question: Question, opinions: Sequence[Sequence[Opinion]]) -> NDArray[np.int64]:
    counts = np.zeros((len(opinions), len(question.choices)), dtype=np.int64)
    places = {choice: place for place, choice in enumerate(question.choices)}
    for row, said in enumerate(opinions):
        for opinion in said:
            if opinion.role == "reviewer" and question.id in opinion.answers:
                counts[row, places[opinion.answers[question.id]]] += 1
    return counts
