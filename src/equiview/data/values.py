"""Values: one number for each query and each quantity an audit reports; what intervals are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError

COLUMN_BASE = {"metric": pl.String, "k": pl.Int32, "chance": pl.Float64}


@dataclass(frozen=True)
class ValueColumn:
    """The values of one quantity, `(n_queries,)`, and what a blind system would score on average."""

    quantity: Quantity
    values: NDArray[np.float64]
    chance: float | None = None


def column(
    metric: str, values: ArrayLike, *, k: int | None = None, chance: float | None = None, **keys: str
) -> ValueColumn:
    """A column of `Values`: `values` is `(n_queries,)`, nan where the quantity was not asked of a query."""
    return ValueColumn(quantity(metric, k, **keys), np.asarray(values, dtype=np.float64), chance)


@dataclass(frozen=True)
class Values:
    """A table of numbers with its margins: rows are queries, columns are quantities.

    `rows` has `query_id` and `cluster`; rows that share a cluster are not independent. `columns` has
    `metric`, `k`, `chance` and a column for each key. `matrix` is `(len(rows), len(columns))` float64, nan
    where a quantity was not asked of a query.

    `shared` has the same means, of some of the quantities, over what queries share (the captions or images
    that lists show, classes): where a few decide all queries, resampling queries alone shows too little
    error. A row says what the mean would be if all rows were as this one, to first order.

    >>> values = Values.of(["a", "b"], [column("R", [1.0, 0.0], k=1, chance=0.1, language="sw")])
    >>> values.mean("R", k=1, language="sw")
    0.5
    """

    rows: pl.DataFrame
    columns: pl.DataFrame
    matrix: NDArray[np.float64]
    shared: tuple[Values, ...] = ()

    @classmethod
    def of(
        cls,
        query_ids: Iterable[Any],
        columns: Iterable[ValueColumn],
        clusters: Iterable[Any] | None = None,
    ) -> Values:
        """Make it of columns over the same queries; without `clusters` every query is one of its own."""
        listed = list(columns)
        names = pl.Series("query_id", query_ids, dtype=pl.String)
        labels = names if clusters is None else pl.Series(values=clusters)
        rows = pl.DataFrame({"query_id": names, "cluster": labels})
        records: list[dict[str, Any]] = [
            {"metric": entry.quantity.metric, "k": entry.quantity.k, "chance": entry.chance}
            | entry.quantity.keys
            for entry in listed
        ]
        margins = pl.DataFrame(records, schema_overrides=COLUMN_BASE, infer_schema_length=None)
        if not listed:
            return cls(rows, pl.DataFrame(schema=COLUMN_BASE), np.empty((len(rows), 0)))
        return cls(rows, margins, np.stack([entry.values for entry in listed], axis=1))

    def __post_init__(self) -> None:
        if self.matrix.shape != (len(self.rows), len(self.columns)):
            raise InputError(
                f"values have shape {self.matrix.shape} for {len(self.rows)} queries and "
                f"{len(self.columns)} columns"
            )
        if len(self._places) < len(self.columns):
            raise InputError("values name a quantity twice; keys must tell columns apart")

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """What each column is about, in order."""
        keys = [name for name in self.columns.columns if name not in COLUMN_BASE]
        return tuple(
            quantity(row["metric"], row["k"], **{key: row[key] for key in keys if row[key] is not None})
            for row in self.columns.iter_rows(named=True)
        )

    @cached_property
    def _places(self) -> dict[Quantity, int]:
        return {entry: place for place, entry in enumerate(self.quantities)}

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """An integer for each row; rows of one cluster share it."""
        return self.rows["cluster"].rank("dense").to_numpy().astype(np.int64) - 1

    def __contains__(self, wanted: Quantity) -> bool:
        return wanted in self._places

    def at(self, *wanted: Quantity) -> NDArray[np.float64]:
        """The columns of these quantities, `(n_queries, len(wanted))`; InputError for one that is missing."""
        missing = [entry.label() for entry in wanted if entry not in self._places]
        if missing:
            raise InputError(f"values have no column {missing[0]!r}")
        return self.matrix[:, [self._places[entry] for entry in wanted]]

    def mean(self, metric: str, k: int | None = None, **keys: str) -> float:
        """Mean of one column over the queries it was asked of."""
        return float(np.nanmean(self.at(quantity(metric, k, **keys))))

    def select(self, keep: Callable[[Quantity], Any]) -> Values:
        """The columns whose quantity `keep` says yes to."""
        places = [place for place, entry in enumerate(self.quantities) if keep(entry)]
        return Values(self.rows, self.columns[places], self.matrix[:, places])

    def with_chance(self, floor: Callable[[Quantity], float | None]) -> Values:
        """The same values with the chance floor that `floor` gives for each quantity."""
        chances = pl.Series("chance", [floor(entry) for entry in self.quantities], dtype=pl.Float64)
        return replace(self, columns=self.columns.with_columns(chances))
