"""How unequal languages are as a whole: range, standard deviation and Gini coefficient of accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.parity.answers import Correct, Floats, applied
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import metric_of
from equiview.data.metric import quantity
from equiview.data.values import Values
from equiview.errors import InputError
from equiview.metrics import gini, gini_of_rows
from equiview.stats import column_permutations, permutation_p, swap_test

BLIND_DRAWS = 200
"""Shuffles of languages within images behind the floor and the p value of a spread."""


def range_of(accuracy: Floats) -> Floats:
    """Highest less lowest along the last axis."""
    return np.asarray(accuracy.max(axis=-1) - accuracy.min(axis=-1))


def _sd(accuracy: Floats) -> Floats:
    return np.asarray(accuracy.std(axis=-1))


def _gini(accuracy: Floats) -> Floats:
    return np.asarray(gini(accuracy)) if accuracy.ndim == 1 else gini_of_rows(accuracy)


SPREADS: dict[str, Callable[[Floats], Floats]] = {"range": range_of, "sd": _sd, "Gini": _gini}


def add_spread(
    rows: Rows, task: str, correct: Correct, accuracy: Replicates, settings: ParitySettings
) -> None:
    """The spreads, beside what languages that are alike would show, and the p value of their being alike.

    Under that null hypothesis the languages of one image are exchangeable, so that the worst and the best of
    many languages are picked in the null distribution as well. It is over images asked about in all
    languages; floor and p are missing where there are none.
    """
    n, whole = len(correct.matrix), correct.matrix[correct.asked_in_all]
    seed = settings.seed_of(f"blind.{task}")
    blind = column_permutations(whole, replicates=BLIND_DRAWS, seed=seed) if len(whole) else None
    for name, function in SPREADS.items():
        if name == "Gini" and not accuracy.value.any():
            continue  # nothing correct in any language: the range says so
        floor = p = None
        if blind is not None and (name != "Gini" or whole.any()):
            null = function(blind)
            floor, p = float(np.nanmean(null)), permutation_p(float(function(whole.mean(axis=0))), null)
        spread = applied(function, accuracy)
        rows.add(quantity(f"{name} over languages", task=task), spread, n, floor, p=p, family="spread")
    for name, place in (("lowest", accuracy.value.argmin()), ("highest", accuracy.value.argmax())):
        wanted = quantity(f"{name} language", task=task, language=correct.names[place])
        rows.add(wanted, accuracy[place], n)


class SpreadDifference(NamedTuple):
    """Spreads of two systems over the same images, and the p value of their being the same."""

    value_a: float
    value_b: float
    p: float
    n: int


def compare_spread(
    first: Values, second: Values, task: str, spread: str = "range", *, replicates: int = 10_000, seed: int
) -> SpreadDifference:
    """Whether languages are equally unequal in two systems: a test by swapping systems image by image.

    `first` and `second` are what `values` gives for each; `spread` is "range", "sd" or "Gini". A range has no
    bootstrap test, being no smooth function of means and above 0 even where all languages are alike. Images
    and languages that both have are compared. InputError when they share fewer than two languages, or no
    image that was asked about in all of them.
    """
    metric, k = metric_of(task)
    columns = [
        entry
        for entry in first.quantities
        if (entry.metric, entry.k) == (metric, k)
        and set(entry.keys) == {"task", "language"}
        and entry.keys["task"] == task
        and entry in second
    ]
    places = {image: place for place, image in enumerate(second.rows["query_id"])}
    both = [(at, places[image]) for at, image in enumerate(first.rows["query_id"]) if image in places]
    if len(columns) < 2 or not both:
        raise InputError(
            f"parity: the systems share {len(columns)} languages and {len(both)} images of {task}"
        )
    at, other = np.asarray(both).T
    tables = first.at(*columns)[at], second.at(*columns)[other]
    whole = ~(np.isnan(tables[0]) | np.isnan(tables[1])).any(axis=1)
    if not whole.any():
        raise InputError(f"parity: no image was asked about in all languages of {task} by both systems")
    a, b = (table[whole] for table in tables)
    function = SPREADS[spread]
    p = swap_test(a, b, function, replicates=replicates, seed=seed)
    return SpreadDifference(
        float(function(a.mean(axis=0))), float(function(b.mean(axis=0))), p, int(whole.sum())
    )
