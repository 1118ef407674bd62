"""Compare runs in pairs: the same queries put to two subjects, and the difference tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from equiview.audits import AUDITS
from equiview.audits.execute import observations_of
from equiview.data.headline import Headline
from equiview.data.metric import Quantity, quantity
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.data.values import Values
from equiview.errors import InputError
from equiview.stats import bootstrap_means, holm, interval, sign_flip_test

BEFORE = {"audit": pl.String, "metric": pl.String, "k": pl.Int32}
AFTER = {
    **dict.fromkeys(("a", "b"), pl.String),
    **dict.fromkeys(("value_a", "value_b", "difference", "low", "high", "p", "p_holm"), pl.Float64),
    "n": pl.Int64,
}
BASE = (*BEFORE, *AFTER)
"""Columns of a comparison; those between `k` and `a` are the keys of what is compared."""


def compare(runs: Sequence[Run]) -> pl.DataFrame:
    """Every pair of runs over the same items, by the headlines of each audit that both have.

    One row an audit, pair and headline, addressed by metric, k and keys. `difference` is b minus a, with its
    95% interval (queries resampled together) and the p value of a paired sign-flip test; `p_holm` is corrected
    over the whole table. InputError when no two runs are over the same items and share an audit, or two are of
    one subject.
    """
    if len(runs) < 2:
        raise InputError("comparing needs at least two runs")
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        failed = {failure.audit for failure in run.failures}
        for audit in run.manifest.audits:
            if audit not in failed:
                groups.setdefault((audit, run.manifest.benchmark.fingerprint), []).append(run)
    rows: list[dict[str, Any]] = []
    for (audit, _), alike in groups.items():
        names = [run.name for run in alike]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two runs are of {repeated[0]!r}; comparing needs different subjects")
        tables = [_values(run, audit) for run in alike] if len(alike) > 1 else []
        for a, b in combinations(range(len(tables)), 2):
            pair = _Pair(audit, names[a], names[b], *_shared(audit, alike, tables, a, b), run=alike[a])
            rows += pair.rows()
    if not rows:
        over = "; ".join(f"{run.folder}: {run.manifest.benchmark.name}" for run in runs)
        raise InputError(f"only runs over the same items, with an audit in common, compare ({over})")
    table = pl.from_dicts(rows, infer_schema_length=None, schema_overrides=BEFORE | AFTER)
    keys = [name for name in table.columns if name not in BASE]
    corrected = pl.Series("p_holm", holm(table["p"].to_numpy()))
    return table.with_columns(corrected).select(*BEFORE, *keys, *AFTER)


def label_of(row: Mapping[str, Any]) -> str:
    """What a row of a comparison is about, in the words of its audit."""
    keys = {name: value for name, value in row.items() if name not in BASE and value is not None}
    audits = AUDITS.all()
    formats = audits[row["audit"]].value.key_formats if row["audit"] in audits else {}
    return quantity(row["metric"], row["k"], **keys).label(formats)


def _values(run: Run, key: str) -> Values:
    audit = AUDITS.get(key)
    return audit.values(observations_of(run, key), audit.configure(run.manifest.settings[key]))


def _shared(
    audit: str, runs: Sequence[Run], tables: Sequence[Values], a: int, b: int
) -> tuple[Values, Values]:
    """The values of two runs over the queries that both have, rows in the order of the first."""
    first, second = tables[a], tables[b]
    places = (
        first.rows.with_row_index("at")
        .join(second.rows.select("query_id").with_row_index("other"), on="query_id", maintain_order="left")
        .select("at", "other")
    )
    if not len(places):
        raise InputError(f"runs {runs[a].name!r} and {runs[b].name!r} share no query of audit {audit!r}")
    at, other = (places[name].to_numpy() for name in ("at", "other"))
    return (
        Values(first.rows[at], first.columns, first.matrix[at]),
        Values(second.rows[other], second.columns, second.matrix[other]),
    )


@dataclass(frozen=True)
class _Pair:
    """Two runs of one audit, their values over the same queries."""

    audit: str
    a: str
    b: str
    first: Values
    second: Values
    run: Run

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each headline that both have."""
        headlines = [
            headline
            for headline in AUDITS.get(self.audit).headlines
            if headline.is_in(self.first) and headline.is_in(self.second)
        ]
        if not headlines:
            raise InputError(f"runs {self.a!r} and {self.b!r} share no headline of audit {self.audit!r}")
        for headline in headlines:
            yield _address(headline.quantity) | self._tested(headline)

    def _tested(self, headline: Headline) -> dict[str, Any]:
        """The difference of one headline.

        Its interval is of the headline itself, computed anew for every draw of the queries. The p value is of
        what each query adds to the difference, to first order at the pooled means: the sum of its values'
        differences weighted by the headline's slopes. For a mean that is the paired difference itself.
        """
        first, second = (values.at(*headline.columns) for values in (self.first, self.second))
        unpaired = np.isnan(first) | np.isnan(second)
        first, second = (np.where(unpaired, np.nan, table) for table in (first, second))
        clusters, seed = self.first.clusters, seed_for(self.run.manifest.seed, f"{self.audit}.compare")
        replicates = self.run.manifest.settings[self.audit]["replicates"]
        slopes = headline.slopes(np.nanmean((first + second) / 2, axis=0))
        if not np.isfinite(slopes).all():  # infinite for both: there is no difference to test
            slopes = np.zeros_like(slopes)
        added = (second - first) @ slopes
        draws = bootstrap_means(
            np.hstack([first, second]), clusters=clusters, replicates=replicates, seed=seed
        )
        of_a, of_b = (headline.combine(np.nanmean(values, axis=0)) for values in (first, second))
        width = first.shape[1]
        low, high = interval(headline.combine(draws[:, width:]) - headline.combine(draws[:, :width]))
        return {
            "audit": self.audit,
            "a": self.a,
            "b": self.b,
            "value_a": float(of_a),
            "value_b": float(of_b),
            "difference": float(of_b - of_a),
            "low": float(low),
            "high": float(high),
            "p": float(sign_flip_test(added, clusters=clusters, replicates=replicates, seed=seed)),
            "n": int(np.count_nonzero(~np.isnan(added))),
        }


def _address(wanted: Quantity) -> dict[str, Any]:
    return {"metric": wanted.metric, "k": wanted.k} | wanted.keys
