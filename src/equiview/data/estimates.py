"""Estimates: numbers that carry their interval, their n, their chance floor and what they are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from equiview.data.tables import Column, Schema
from equiview.errors import InputError

SCHEMA = Schema(
    "estimates",
    (
        Column("audit", pl.String, "which audit made it"),
        Column("metric", pl.String, "the field's name of the metric, cutoff included, e.g. DLBKL@10"),
        Column("value", pl.Float64, "the estimate"),
        Column("low", pl.Float64, "lower end of the 95% interval"),
        Column("high", pl.Float64, "upper end of the 95% interval"),
        Column("n", pl.Int64, "how many queries, trials or pairs it is over"),
        Column("chance", pl.Float64, "what a system blind to the question would score", nullable=True),
        Column("excess", pl.Float64, "value minus chance", nullable=True),
    ),
)
BASE = tuple(column.name for column in SCHEMA.columns)


@dataclass(frozen=True)
class Estimates:
    """A long table of estimates; columns past the schema's are the keys that say what a row is about.

    >>> frame = pl.DataFrame({"audit": "a", "metric": "R@1", "value": 0.5, "low": 0.4, "high": 0.6,
    ...                       "n": 10, "chance": 0.1, "excess": 0.4, "language": "sw"})
    >>> Estimates(frame).one("R@1", language="sw")["value"]
    0.5
    """

    table: pl.DataFrame
    source: str = "memory"

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", SCHEMA.check(self.table, self.source))

    @property
    def keys(self) -> list[str]:
        """The key columns, those past the schema's own."""
        return [name for name in self.table.columns if name not in BASE]

    def where(self, metric: str | None = None, **keys: str | None) -> pl.DataFrame:
        """Rows of one metric whose key columns have exactly these values; keys not given must be null."""
        rows = self.table if metric is None else self.table.filter(pl.col("metric") == metric)
        for name in self.keys:
            wanted = keys.get(name)
            rows = rows.filter(pl.col(name).is_null() if wanted is None else pl.col(name) == wanted)
        return rows

    def one(self, metric: str, **keys: str | None) -> Mapping[str, float]:
        """The single row of one metric and these keys; InputError when there is none or more than one."""
        rows = self.where(metric, **keys)
        if len(rows) != 1:
            raise InputError(f"{self.source}: {len(rows)} estimates of {metric!r} with {keys}; expected one")
        return rows.row(0, named=True)

    def of(self, audit: str) -> Estimates:
        """What one audit measured, without the keys that only others have."""
        rows = self.table.filter(pl.col("audit") == audit)
        unused = [name for name in self.keys if rows[name].null_count() == len(rows)]
        return Estimates(rows.drop(unused), self.source)

    @classmethod
    def concat(cls, parts: list[Estimates]) -> Estimates:
        """Put the estimates of several audits in one table; keys an audit lacks are null."""
        return cls(pl.concat([part.table for part in parts], how="diagonal_relaxed"))
