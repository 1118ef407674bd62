"""Estimates: numbers that carry their interval, their n, their chance floor and what they are about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError
from equiview.io.tables import Column, Schema

SCHEMA = Schema(
    "estimates",
    (
        Column("audit", pl.String, "the audit that measured it"),
        Column("metric", pl.String, "the field's name of the metric, e.g. DLBKL"),
        Column("k", pl.Int32, "rank at which lists are cut, where the metric has a cutoff", nullable=True),
        Column("value", pl.Float64, "the estimate"),
        Column("low", pl.Float64, "lower end of the 95% interval; null: n is too small", nullable=True),
        Column("high", pl.Float64, "upper end of the 95% interval", nullable=True),
        Column("n", pl.Int64, "how many queries, trials or pairs it is over"),
        Column("chance", pl.Float64, "what a system blind to the question would score", nullable=True),
        Column("excess", pl.Float64, "value minus chance", nullable=True),
        Column("p", pl.Float64, "p value of the test of no effect, where there is one", nullable=True),
        Column("p_holm", pl.Float64, "p corrected over the family of tests (Holm)", nullable=True),
        Column(
            "judged", pl.Boolean, "whether there is enough to judge by; null: none is asked", nullable=True
        ),
        Column("low_all", pl.Float64, "lower end of an interval that holds for all its like", nullable=True),
        Column("high_all", pl.Float64, "upper end of that simultaneous interval (max-t)", nullable=True),
    ),
)
BASE = tuple(column.name for column in SCHEMA.columns)
ENDS = ("low", "high", "low_all", "high_all")
TOO_SMALL = "n too small for an interval"


@dataclass(frozen=True)
class Estimate:
    """One estimate. Formatted, it prints its value and its interval.

    `low` and `high` are nan where n is too small for an interval: then no comparison with them holds, so that
    nothing is shown or excluded by it.

    >>> f"{Estimate(quantity('R', k=1), value=0.5, low=0.4, high=0.6, n=10):.0%}"
    '50% [40%, 60%]'
    >>> f"{Estimate(quantity('R', k=1), value=0.5, low=math.nan, high=math.nan, n=2):.0%}"
    '50% [n too small for an interval]'
    """

    quantity: Quantity
    value: float
    low: float
    high: float
    n: int
    chance: float | None = None
    excess: float | None = None
    p: float | None = None
    p_holm: float | None = None
    judged: bool | None = None
    low_all: float | None = None
    high_all: float | None = None

    def __format__(self, spec: str) -> str:
        ends = f"{self.low:{spec}}, {self.high:{spec}}" if self.has_interval else TOO_SMALL
        return f"{self.value:{spec}} [{ends}]"

    @property
    def keys(self) -> dict[str, str]:
        """What the number is about, beside its metric and cutoff."""
        return self.quantity.keys

    @property
    def has_interval(self) -> bool:
        """Whether n is large enough for an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def of_many(self) -> Estimate:
        """The same with the interval that holds for all its like at once, due where it was picked among them.

        Itself where there is no such interval.

        >>> gap = Estimate(quantity("gap"), 0.5, 0.4, 0.6, n=10, low_all=0.3, high_all=0.7)
        >>> f"{gap.of_many():.1f}"
        '0.5 [0.3, 0.7]'
        """
        if self.low_all is None or self.high_all is None:
            return self
        return replace(self, low=self.low_all, high=self.high_all)

    def moved(self, change: Callable[[float], float]) -> Estimate:
        """The same with `change`, which must grow with its argument, done to its value and all ends."""
        low_all, high_all = (None if end is None else change(end) for end in (self.low_all, self.high_all))
        return replace(
            self,
            value=change(self.value),
            low=change(self.low),
            high=change(self.high),
            low_all=low_all,
            high_all=high_all,
        )

    def above_chance(self) -> Estimate:
        """The same estimate as an effect: its value and intervals less the chance floor."""
        floor = self.chance or 0.0
        return replace(self.moved(lambda end: end - floor), chance=0.0)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Estimate:
        """Make it of a row of the table."""
        keys = {name: value for name, value in row.items() if name not in BASE and value is not None}
        numbers = {name: row[name] for name in BASE[3:]}
        numbers |= {end: math.nan for end in ("low", "high") if row[end] is None}
        return cls(quantity(row["metric"], row["k"], **keys), **numbers)


@dataclass(frozen=True)
class Estimates:
    """A long table of estimates; columns past the schema's are the keys that say what a row is about.

    Columns of the schema that may be null need not be given; `excess` is value minus chance.

    >>> frame = pl.DataFrame({"metric": "R", "k": 1, "value": 0.5, "low": 0.4, "high": 0.6, "n": 10,
    ...                       "chance": 0.1, "language": ["sw"]})
    >>> Estimates(frame).one("R", k=1, language="sw").excess
    0.4
    """

    table: pl.DataFrame
    source: str = "estimates"

    def __post_init__(self) -> None:
        table = self.table
        added = {
            column.name: pl.lit(None, dtype=column.dtype)
            for column in SCHEMA.columns
            if column.nullable and column.name not in table.columns
        }
        if "audit" not in table.columns:
            added["audit"] = pl.lit("")
        table = table.with_columns(**added)
        added = {} if "excess" in self.table.columns else {"excess": pl.col("value") - pl.col("chance")}
        if "low" in self.table.columns and "high" in self.table.columns:
            added |= {end: pl.col(end).cast(pl.Float64).fill_nan(None) for end in ENDS}
        table = table.with_columns(**added)
        table = SCHEMA.check(table, self.source)
        for name, dtype in table.drop(BASE).schema.items():
            if dtype not in (pl.String, pl.Null):
                raise InputError(f"{self.source}: column {name!r} holds no text; what a row is about is text")
        object.__setattr__(self, "table", table)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Estimate]:
        return (Estimate.of(row) for row in self.table.iter_rows(named=True))

    @property
    def keys(self) -> list[str]:
        """The key columns, those past the schema's own."""
        return [name for name in self.table.columns if name not in BASE]

    def by(
        self, key: str | tuple[str, ...], metric: str, k: int | None = None, **keys: str | None
    ) -> Estimates:
        """The rows of one quantity for every value of `key` (or of several keys).

        Keys that are named in neither place must be null; no row where the table lacks the key.
        """
        return self._part(self.table[self._rows((key,) if isinstance(key, str) else key, metric, k, keys)])

    def one(self, metric: str, k: int | None = None, **keys: str | None) -> Estimate:
        """The single row of one quantity; InputError when there is none or more than one."""
        rows = self._rows((), metric, k, keys)
        if len(rows) != 1:
            wanted = quantity(metric, k, **{name: value for name, value in keys.items() if value}).label()
            raise InputError(f"{self.source}: {len(rows)} estimates of {wanted!r}; expected one")
        return Estimate.of(self.table.row(rows[0], named=True))

    def maybe(self, metric: str, k: int | None = None, **keys: str | None) -> Estimate | None:
        """The single row of one quantity, or None when there is none."""
        return self.one(metric, k, **keys) if self._rows((), metric, k, keys) else None

    def at(self, wanted: Quantity) -> Estimate | None:
        """The row of a quantity, or None."""
        return self.maybe(wanted.metric, wanted.k, **wanted.keys)

    def of(self, audit: str) -> Estimates:
        """What one audit measured, without the keys that only others have."""
        if audit not in self._by_audit:
            rows = self.table.filter(pl.col("audit") == audit)
            unused = [name for name in self.keys if rows[name].null_count() == len(rows)]
            self._by_audit[audit] = self._part(rows.drop(unused))
        return self._by_audit[audit]

    @cached_property
    def _by_audit(self) -> dict[str, Estimates]:
        """Parts that were asked for already, so that each finds its rows once."""
        return {}

    def stamped(self, audit: str) -> Estimates:
        """The same estimates as those of `audit`."""
        return self._part(self.table.with_columns(audit=pl.lit(audit)))

    def _part(self, table: pl.DataFrame) -> Estimates:
        """Some of the rows: what was checked is not checked again."""
        part = object.__new__(Estimates)
        object.__setattr__(part, "table", table)
        object.__setattr__(part, "source", self.source)
        return part

    def _rows(
        self, broken_down: tuple[str, ...], metric: str, k: int | None, keys: Mapping[str, str | None]
    ) -> list[int]:
        """Places of the rows of one quantity for every value of the keys `broken_down`."""
        named = {name: value for name, value in keys.items() if value is not None and name not in broken_down}
        wanted = named.keys() | set(broken_down)
        return [
            place
            for place, about in self._about(metric, k)
            if about.keys() == wanted and named.items() <= about.items()
        ]

    def _about(self, metric: str, k: int | None) -> list[tuple[int, dict[str, str]]]:
        """The rows of a metric and cutoff, with their keys; found when they are first asked for."""
        if (metric, k) not in self._abouts:
            rows, names = self._rows_of_keys, self.keys
            self._abouts[metric, k] = [
                (
                    place,
                    {
                        name: value
                        for name, value in zip(names, rows[place][1:], strict=True)
                        if value is not None
                    },
                )
                for place in self._places.get((metric, k), [])
            ]
        return self._abouts[metric, k]

    @cached_property
    def _rows_of_keys(self) -> list[tuple[str | None, ...]]:
        """The keys of each row, None where it has none."""
        return self.table.select("metric", *self.keys).rows()

    @cached_property
    def _abouts(self) -> dict[tuple[str, int | None], list[tuple[int, dict[str, str]]]]:
        return {}

    @cached_property
    def _places(self) -> dict[tuple[str, int | None], list[int]]:
        """The rows of each metric and cutoff."""
        places: dict[tuple[str, int | None], list[int]] = {}
        for place, about in enumerate(self.table.select("metric", "k").rows()):
            places.setdefault(about, []).append(place)
        return places

    @classmethod
    def concat(cls, parts: list[Estimates]) -> Estimates:
        """Put several tables in one; keys that a part lacks are null in its rows."""
        return cls(pl.concat([part.table for part in parts], how="diagonal_relaxed"))

    @classmethod
    def of_rows(cls, rows: list[dict[str, Any]]) -> Estimates:
        """Make it of rows as dictionaries; keys that a row lacks are null."""
        nullable = {column.name: column.dtype for column in SCHEMA.columns if column.nullable}
        return cls(pl.from_dicts(rows, infer_schema_length=None, schema_overrides=nullable))
