"""The table of a comparison: what two runs differ in, one row for each pair and headline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from equiview.data.metric import Quantity, quantity

BEFORE = {"audit": pl.String, "metric": pl.String, "k": pl.Int32}
AFTER = {
    **dict.fromkeys(("a", "b"), pl.String),
    **dict.fromkeys(("value_a", "value_b", "difference", "low", "high", "p", "p_holm"), pl.Float64),
    "n": pl.Int64,
}
BASE = (*BEFORE, *AFTER)
"""Columns of a comparison; those between `k` and `a` are the keys of what is compared."""


def quantity_of(row: Mapping[str, Any]) -> Quantity:
    """What a row of a comparison is about.

    >>> quantity_of({"audit": "a", "metric": "R", "k": 1, "tier": "low", "a": "x", "b": "y"}).label()
    'R@1, low tier'
    """
    keys = {name: value for name, value in row.items() if name not in BASE and value is not None}
    return quantity(row["metric"], row["k"], **keys)
