"""Replies that no rule reads count as wrong, and may be right: what is shown must hold either way.

A model that answers in the letters of another script knows as much, and it is the reader that fails. So bias
is shown where it remains though all that could not be read in its disfavour were right. Replies that are
empty, or refused by the service, are no answer whoever reads them. Ours; in no paper.
"""

from __future__ import annotations

from equiview.audits.judging import shows_bias
from equiview.audits.knowledge.measure import ACCURACY, ADVANTAGE, SHIFT, UNANSWERED, UNREAD
from equiview.data.estimates import Estimate, Estimates


def doubtful(estimates: Estimates) -> dict[str, float]:
    """The share of replies in each language that no rule read, though there is something to read."""
    silent = {row.keys["language"]: row.value for row in estimates.by("language", UNANSWERED)}
    return {
        row.keys["language"]: row.value - silent.get(row.keys["language"], 0.0)
        for row in estimates.by("language", UNREAD)
    }


def parted(rows: list[Estimate], tolerance: float, estimates: Estimates) -> tuple[list[Estimate], list[str]]:
    """The effects that can be judged, and labels of those that show bias by the doubtful replies alone."""
    firm, of_reading = [], []
    for row in rows:
        less = _lessened(row, _at_most(row, estimates))
        if shows_bias(row, tolerance) and not shows_bias(less, tolerance):
            of_reading.append(row.quantity.label())
        else:
            firm.append(row)
    return firm, of_reading


def _at_most(row: Estimate, estimates: Estimates) -> float:
    """By how much at most an effect is smaller if the doubtful replies were right."""
    doubt = doubtful(estimates)
    most, mean = max(doubt.values()), sum(doubt.values()) / len(doubt)
    if row.quantity.metric == ADVANTAGE.metric or not most:
        return most
    own = doubt[row.keys["language"]] if row.keys else mean
    others = (mean * len(doubt) - own) / (len(doubt) - 1)
    if row.quantity.metric == SHIFT:
        return own if row.value < 0 else others
    # Consistency is what two languages share, over what is right in either.
    accuracies = [level.value for level in estimates.by("language", ACCURACY) if level.value]
    return (own + others) / min(accuracies)


def _lessened(row: Estimate, by: float) -> Estimate:
    """The effect nearer to 0 by so much, and not beyond it."""
    if row.value < 0:
        return row.moved(lambda end: min(end + by, 0.0))
    return row.moved(lambda end: max(end - by, 0.0))
