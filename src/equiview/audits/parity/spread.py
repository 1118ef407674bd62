"""How unequal languages are as a whole: range, standard deviation and Gini coefficient of accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.parity.answers import Correct, Floats, applied
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import metric_of
from equiview.data.headline import Headline
from equiview.data.metric import Quantity, quantity
from equiview.data.values import Values
from equiview.metrics import gini, gini_of_rows
from equiview.stats import column_permutations, permutation_p

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
    """The spreads, their expectation for languages that are alike, and the p value of that hypothesis.

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


def spread_headline(name: str, task: str) -> Headline:
    """A spread of the languages of a task as a headline: "range", "sd" or "Gini".

    It is no smooth function of means and above 0 even where all languages are alike.
    """
    metric, k = metric_of(task)

    def languages_in(values: Values) -> tuple[Quantity, ...]:
        columns = tuple(
            entry
            for entry in values.quantities
            if (entry.metric, entry.k, entry.keys.get("task")) == (metric, k, task)
            and entry.keys.keys() == {"task", "language"}
        )
        return columns if len(columns) > 1 else ()

    return Headline(
        quantity(f"{name} over languages", task=task), combine=SPREADS[name], smooth=False, pick=languages_in
    )
