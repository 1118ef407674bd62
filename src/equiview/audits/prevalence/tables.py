"""Divergences as tables of the paper: one system is one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from equiview.data.estimates import Estimates
from equiview.data.languages import known_languages
from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError

SHARES = {"name": "language", "commoncrawl_percent": "resources (%)"}
DEPTHS = (5, 25, 50, 99)
"""Ranks of P's table 5."""


def table_1(estimates: Estimates) -> pl.DataFrame:
    """Accuracy@5, and LBKL, DLBKL and NDCG at 10, as in P's Table 1.

    Divergences are between the low tier and the others. NDCG takes its ideal order from what was retrieved,
    as the published one does. A number that the run lacks is null; InputError when it lacks all of them.
    """
    divergences = (quantity(metric, 10, grouping="tier") for metric in ("LBKL", "DLBKL"))
    return _row(estimates, [quantity("Accuracy", 5), *divergences, quantity("NDCG", 10, ideal="retrieved")])


def table_3(estimates: Estimates) -> pl.DataFrame:
    """Languages by tier with their share of the web in percent, as in P's Table 3.

    The languages are those of the run's captions, the most written first, tiers and shares those that ship
    with equiview; a language without either has null. InputError where the run names no language.
    """
    codes = dict.fromkeys(row.keys["language"] for row in estimates.by("language", "R", 1))
    if not codes:
        raise InputError("the run has no R@1 by language, from which its languages are read")
    known = known_languages().rename(SHARES)
    named = pl.DataFrame({"code": list(codes)}).join(known, on="code", how="left", maintain_order="left")
    ordered = named.sort("resources (%)", "code", descending=[True, False], nulls_last=True)
    return ordered.select("tier", "language", "code", "resources (%)")


def table_5(estimates: Estimates) -> pl.DataFrame:
    """LBKL and DLBKL at 5, 25, 50 and 99, as in P's Table 5.

    Divergences are between the low tier and the others. A number that the run lacks is null; InputError when
    it lacks all of them.
    """
    return _row(
        estimates, [quantity(metric, k, grouping="tier") for k in DEPTHS for metric in ("LBKL", "DLBKL")]
    )


def _row(estimates: Estimates, columns: Sequence[Quantity]) -> pl.DataFrame:
    """The values of `columns` in three decimals, as a table of one row."""
    rows = {f"{wanted.metric}@{wanted.k}": estimates.at(wanted) for wanted in columns}
    values = {name: row and round(row.value, 3) for name, row in rows.items()}
    if all(value is None for value in values.values()):
        raise InputError(f"the run has none of {', '.join(values)}; its cutoffs or its lists are too short")
    return pl.DataFrame([values], schema=dict.fromkeys(values, pl.Float64))


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {
    "table-1": table_1,
    "table-3": table_3,
    "table-5": table_5,
}
