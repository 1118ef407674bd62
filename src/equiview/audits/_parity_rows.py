"""Rows of estimates from bootstrap replicates, and their p values corrected together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.estimates import Estimates
from equiview.stats import holm, interval

AT_ONCE = 128
"""Columns of replicates whose ends are found together, so that memory does not grow with the table."""


class Rows:
    """Estimates in the making: a value and its replicates at a time."""

    def __init__(self, audit: str) -> None:
        self.audit = audit
        self.rows: list[dict[str, Any]] = []
        self.waiting: list[tuple[dict[str, Any], NDArray[np.float64]]] = []

    def add(
        self,
        metric: str,
        value: float,
        replicates: NDArray[np.float64],
        n: int,
        chance: float | None,
        **keys: str,
    ) -> None:
        """One estimate; its interval is made of the percentiles of `replicates`."""
        row = {
            "audit": self.audit,
            "metric": metric,
            "value": float(value),
            "n": int(n),
            "chance": chance,
            "excess": None if chance is None else float(value) - chance,
            **keys,
        }
        self.waiting.append((row, replicates))
        if len(self.waiting) == AT_ONCE:
            self._finish()

    def _finish(self) -> None:
        if not self.waiting:
            return
        low, high = interval(np.stack([replicates for _, replicates in self.waiting], axis=1))
        for (row, _), below, above in zip(self.waiting, low.tolist(), high.tolist(), strict=True):
            # A percentile interval may miss a value that is a maximum or a range of several means.
            ends = {"low": min(below, row["value"]), "high": max(above, row["value"])}
            self.rows.append(row | ends)
        self.waiting = []

    def estimates(self) -> Estimates | None:
        """The table, or None when nothing was added."""
        self._finish()
        return Estimates(pl.from_dicts(self.rows, infer_schema_length=None)) if self.rows else None


def holm_rows(audit: str, metric: str, tests: list[tuple[dict[str, Any], float]]) -> Estimates | None:
    """Holm's p of each of `tests`, given as (keys with `n`, p), over all of them together.

    A p value has no interval: both its ends are the value.
    """
    if not tests:
        return None
    adjusted = holm([p for _, p in tests])
    rows = [
        {"audit": audit, "metric": f"Holm p of {metric}", "value": p, "low": p, "high": p}
        | {"chance": None, "excess": None}
        | keys
        for (keys, _), p in zip(tests, adjusted.tolist(), strict=True)
    ]
    return Estimates(pl.from_dicts(rows, infer_schema_length=None))


def wald_p(value: float, replicates: NDArray[np.float64]) -> float:
    """Two-sided p value of 0 from a mean and its bootstrap standard error, both being near normal.

    Counting replicates beyond 0 cannot tell less than one in as many as there are, which Holm's correction
    for a table of hundreds of groups would never let pass. Without any spread it is counted all the same.

    >>> round(wald_p(0.2, np.array([0.1, 0.2, 0.3])), 4)
    0.0455
    """
    known = replicates[~np.isnan(replicates)]
    error = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    if error == 0:
        return 1.0 if value == 0 else min(1.0, 2 / (1 + len(known)))
    return math.erfc(abs(value) / error / math.sqrt(2))
