"""From one number per query to estimates with intervals, for every audit alike.

`summarise` is enough for an audit of means. `Replicates` holds bootstrap draws of chosen columns, so that
gaps, ratios and other functions of several means get sharp intervals; `Rows` collects the estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsFloat, SupportsInt, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import Unpack

from equiview.audits.base import Settings
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline
from equiview.data.metric import Quantity
from equiview.data.values import COLUMN_BASE, Values
from equiview.stats import (
    bootstrap_means,
    holm,
    interval,
    joint_level,
    largest_deviations,
    mean_interval,
    widened,
)
from equiview.stats.means import LEAST

Floats = NDArray[np.float64]
TOGETHER = 128
"""Estimates whose intervals are computed together, so that memory does not grow with the table."""
FOR_QUANTILE = 2000
"""Bootstrap replicates that tell the 95% quantile of a largest deviation to two digits."""


def summarise(values: Values, settings: Settings) -> Estimates:
    """Mean, clustered interval, n, chance and excess of every column of `values`.

    The interval is `stats.mean_interval`'s, null where there are too few clusters. Columns that differ by
    language alone have simultaneous intervals too.
    """
    intervals = mean_interval(values.matrix, clusters=values.clusters)
    keys = [name for name in values.columns.columns if name not in COLUMN_BASE]
    table = values.columns.select(
        "metric", "k", "chance", *keys,
        value=pl.Series(intervals.value), low=pl.Series(intervals.low), high=pl.Series(intervals.high),
        n=pl.Series(intervals.n), **_of_languages(values, settings),
    )  # fmt: skip
    return Estimates(table)


def _of_languages(values: Values, settings: Settings) -> dict[str, pl.Series]:
    """Simultaneous intervals of the columns by language, null elsewhere."""
    low, high = np.full((2, len(values.columns)), np.nan)
    if "language" in values.columns.columns:
        about = [name for name in values.columns.columns if name not in ("chance", "language")]
        places = values.columns.with_row_index("at").drop_nulls("language")
        for rows in places.group_by(about, maintain_order=True).agg("at")["at"]:
            matrix = values.matrix[:, rows.to_numpy()]
            measured = Replicates.of(matrix, settings, "simultaneous", values.clusters, FOR_QUANTILE)
            level = joint_level(largest_deviations(measured.value, measured.draws))
            ends = mean_interval(matrix, clusters=values.clusters, level=level)
            low[rows], high[rows] = ends.low, ends.high
    return {"low_all": pl.Series(low), "high_all": pl.Series(high)}


@dataclass(frozen=True)
class Replicates:
    """Means of columns with their bootstrap draws: `value` is `(n,)`, `draws` `(replicates, n)`.

    Made from one set of draws, so that differences and ratios of them are of the same resampled queries.
    `clusters` is how many independent queries are behind each value, `(n,)` or one number for all; None: not
    known.

    >>> from equiview.audits.base import Settings
    >>> en, sw = Replicates.of(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), Settings(), "example").split()
    >>> round(float(en.gap(sw).value), 3), en.gap(sw).draws.shape
    (0.667, (10000,))
    """

    value: Floats
    draws: Floats
    clusters: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        matrix: Floats,
        settings: Settings,
        purpose: str = "bootstrap",
        clusters: NDArray[np.int64] | None = None,
        most: int | None = None,
    ) -> Replicates:
        """Draw the means of the columns of `matrix`, `(n_queries, n)`, nan where not asked.

        `most` limits the number of replicates.
        """
        replicates = min(settings.replicates, most or settings.replicates)
        draws = bootstrap_means(
            matrix, clusters=clusters, replicates=replicates, seed=settings.seed_of(purpose)
        )
        return cls(np.nanmean(matrix, axis=0), draws, _clusters_behind(matrix, clusters))

    def __getitem__(self, column: Any) -> Replicates:
        clusters = self.clusters
        return Replicates(
            self.value[column], self.draws[:, column], clusters if clusters is None else clusters[column]
        )

    def split(self) -> list[Replicates]:
        """One for each column."""
        return [self[column] for column in range(self.draws.shape[1])]

    def gap(self, other: Replicates) -> Replicates:
        """The difference to `other`, which is subtracted."""
        return Replicates(self.value - other.value, self.draws - other.draws, self._fewest(other))

    def ratio(self, other: Replicates) -> Replicates:
        """The quotient by `other`; infinite where that is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Replicates(self.value / other.value, self.draws / other.draws, self._fewest(other))

    def _fewest(self, other: Replicates) -> NDArray[np.int64] | None:
        known = [entry for entry in (self.clusters, other.clusters) if entry is not None]
        return np.asarray(np.minimum(known[0], known[-1])) if known else None

    def headline(self, headline: Headline) -> Replicates:
        """`combine` of a headline, of the columns it is computed from."""
        fewest = None if self.clusters is None else np.asarray(self.clusters.min(axis=-1))
        return Replicates(headline.combine(self.value), headline.combine(self.draws), fewest)


class Test(TypedDict, total=False):
    """The test of no effect: its p value, whether there is enough to judge, and its family.

    Tests of one `family` are corrected together (`p_holm`); `weight` is the share of all error that it may
    make, where several families lead to one verdict. Rows with one `among` have, beside their own
    intervals, simultaneous ones (`low_all`, `high_all`), by which the largest of them may be named; they may
    be given as well.
    """

    p: float | None
    judged: bool | None
    family: str
    weight: float
    among: str
    low_all: float
    high_all: float


UNTESTED = {"p": None, "judged": None, "family": "", "weight": 1.0, "among": "", "low": None, "high": None}
UNSEEN = {"family", "weight", "among", "clusters"}
"""What is known of a row beside what its estimate holds."""


class Rows:
    """Estimates as they are collected: a quantity with its value and replicates at a time."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._waiting: list[tuple[dict[str, Any], Floats]] = []
        self._deviations: dict[str, Floats] = {}

    def add(
        self,
        wanted: Quantity,
        measured: Replicates,
        n: int,
        chance: float | None = None,
        **test: Unpack[Test],
    ) -> None:
        """One estimate; its interval is that of the percentiles of the replicates.

        It has none when it is of fewer clusters than `LEAST` (of queries, where clusters are not known).
        Estimates keep the order in which they are added.
        """
        row = self._add(wanted, float(measured.value), n, chance, test)  # its interval follows
        row["clusters"] = n if measured.clusters is None else int(measured.clusters.min())
        if row["clusters"] < LEAST:
            return
        self._count(row, measured.draws)
        self._waiting.append((row, measured.draws))
        if len(self._waiting) == TOGETHER:
            self._finish()

    def add_known(
        self,
        wanted: Quantity,
        ends: float | tuple[SupportsFloat, SupportsFloat, SupportsFloat],
        n: SupportsInt,
        chance: float | None = None,
        draws: Floats | None = None,
        of_all: tuple[float, float] | None = None,
        **test: Unpack[Test],
    ) -> None:
        """One estimate with a known interval: `ends` are (value, low, high), or one exact number.

        `draws`, `(replicates,)`, say how it varies with those that it is `among`; `of_all` is a simultaneous
        interval that is known already.
        """
        value, low, high = map(float, ends if isinstance(ends, tuple) else (ends, ends, ends))
        row = self._add(wanted, value, n, chance, test)
        row.update(low=low, high=high)
        if of_all is not None:
            row.update(low_all=of_all[0], high_all=of_all[1])
        if draws is not None:
            self._count(row, draws)

    def _count(self, row: dict[str, Any], draws: Floats) -> None:
        """Keep how far the farthest of those that the row is among lies off in each replicate."""
        if name := row["among"]:
            apart = largest_deviations([row["value"]], draws[:, None])
            self._deviations[name] = np.fmax(self._deviations.get(name, apart), apart)

    def _add(
        self, wanted: Quantity, value: float, n: SupportsInt, chance: float | None, test: Test
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "metric": wanted.metric,
            "k": wanted.k,
            "value": value,
            "n": int(n),
            "chance": chance,
        }
        row |= {"clusters": int(n)} | wanted.keys | UNTESTED | test
        self._rows.append(row)
        return row

    def _finish(self) -> None:
        if not self._waiting:
            return
        low, high = interval(np.stack([draws for _, draws in self._waiting]).T)  # each in one piece
        for (row, _), below, above in zip(self._waiting, low.tolist(), high.tolist(), strict=True):
            # A percentile interval may miss a value that is a maximum or a range of several means.
            row |= {"low": min(below, row["value"]), "high": max(above, row["value"])}
        self._waiting = []

    def estimates(self) -> Estimates | None:
        """The table, or None when nothing was added."""
        self._finish()
        if not self._rows:
            return None
        levels = {name: joint_level(apart) for name, apart in self._deviations.items()}
        for row in self._rows:
            if row["among"] in levels and row["low"] is not None:
                ends = widened(row["value"], row["low"], row["high"], levels[row["among"]], row["clusters"])
                row["low_all"], row["high_all"] = ends
        tested = [row for row in self._rows if row["p"] is not None]
        for family in {row["family"] for row in tested}:
            alike = [row for row in tested if row["family"] == family]
            for row, p in zip(alike, holm([row["p"] for row in alike]), strict=True):
                row["p_holm"] = min(1.0, float(p) / row["weight"])
        return Estimates.of_rows(
            [{name: row[name] for name in row if name not in UNSEEN} for row in self._rows]
        )


def _clusters_behind(matrix: Floats, clusters: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """How many clusters have a value in each column, `(n,)`."""
    asked = ~np.isnan(matrix)
    if clusters is None:
        return np.asarray(asked.sum(axis=0), dtype=np.int64)
    _, rows = np.unique(clusters, return_inverse=True)
    return np.array([np.count_nonzero(np.bincount(rows[column])) for column in asked.T], dtype=np.int64)


def joined(parts: Iterable[Estimates | None]) -> Estimates:
    """The estimates of several parts, skipping those that have none."""
    return Estimates.concat([part for part in parts if part is not None])


def mean_known(table: Floats, axis: int | None = None) -> Floats:
    """The mean of what is not nan; nan where everything is."""
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis))
