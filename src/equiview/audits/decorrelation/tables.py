"""ODmAP and recall as tables of the paper: one system is one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from equiview.audits.decorrelation.measure import ODMAP, RECALL
from equiview.audits.decorrelation.observe import DIRECTIONS
from equiview.data.estimates import Estimates
from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError

CUTOFFS = (1, 5, 10)


def table_1(estimates: Estimates) -> pl.DataFrame:
    """ODmAP at 1, 5 and 10 in percent, as in O's Table 1.

    A number that the run lacks is null; InputError when it lacks all of them.
    """
    return _row(estimates, {f"ODmAP@{k}": quantity(ODMAP, k) for k in CUTOFFS})


def table_2(estimates: Estimates) -> pl.DataFrame:
    """R at 1, 5 and 10 in percent, both directions, as in O's Table 2.

    A number that the run lacks is null; InputError when it lacks all of them.
    """
    return _row(
        estimates,
        {
            f"R@{k}, {direction.replace('-', ' ')}": quantity(RECALL, k, direction=direction)
            for direction in DIRECTIONS
            for k in CUTOFFS
        },
    )


def _row(estimates: Estimates, columns: Mapping[str, Quantity]) -> pl.DataFrame:
    entries = {name: estimates.at(wanted) for name, wanted in columns.items()}
    values = {name: None if row is None else round(100 * row.value, 1) for name, row in entries.items()}
    if all(value is None for value in values.values()):
        raise InputError(f"the run has none of {', '.join(values)}; its cutoffs or its lists are too short")
    return pl.DataFrame([values], schema=dict.fromkeys(values, pl.Float64))


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {"table-1": table_1, "table-2": table_2}
