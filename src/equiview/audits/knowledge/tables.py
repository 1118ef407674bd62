"""Numbers of a run as tables of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from equiview.audits.knowledge.consistency import CONSISTENCY
from equiview.audits.knowledge.measure import ACCURACY
from equiview.data.estimates import Estimates
from equiview.errors import InputError

SETTINGS = ("EN", "LOC", "GLO")


def table_1(estimates: Estimates) -> pl.DataFrame:
    """Accuracy and consistency as in T's Table 1, in percent.

    Columns EN, LOC, GLO and Consistency. InputError for a quiz without English or without regions.
    """
    accuracies = [estimates.maybe(ACCURACY, setting=name) for name in SETTINGS]
    overall = estimates.maybe(CONSISTENCY)
    if overall is None or None in accuracies:
        raise InputError(
            "the run lacks EN, LOC, GLO or consistency: its quiz has no English or no regions, or nothing "
            "was answered correctly"
        )
    numbers = [entry.value for entry in (*accuracies, overall) if entry is not None]
    columns = (*SETTINGS, "Consistency")
    return pl.DataFrame(
        {name: [round(100 * number, 1)] for name, number in zip(columns, numbers, strict=True)}
    )


def table_3(estimates: Estimates) -> pl.DataFrame:
    """The same columns for runs with a chain of thought (setting `prompt`), as in T's Table 3."""
    return table_1(estimates)


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {"table-1": table_1, "table-3": table_3}
