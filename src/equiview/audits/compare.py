"""Compare runs in pairs: the same queries put to two subjects, and the difference tested."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._summary import cluster_labels, matrix
from equiview.audits.base import AUDITS, Values
from equiview.audits.execute import observations_of
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.stats import bootstrap_interval, bootstrap_means, holm, interval, sign_flip_test

Columns = NDArray[np.float64]


class Options(TypedDict):
    """How intervals and tests resample: what goes together, how often, and from which seed."""

    clusters: NDArray[np.int64]
    replicates: int
    seed: int


COLUMNS = ("audit", "metric", "a", "b", "value_a", "value_b", "difference", "low", "high", "p", "p_holm", "n")


def compare(runs: Sequence[Run]) -> pl.DataFrame:
    """Every pair of runs over the same items, by the headline metrics of each audit both have.

    One row an audit, pair and metric. `difference` is b minus a, with its 95% interval (queries resampled
    together) and the p value of a paired sign-flip test; `p_holm` is corrected over the whole table.
    InputError when no two runs are over the same items and share an audit, or two are of one subject.
    """
    if len(runs) < 2:
        raise InputError("comparing needs at least two runs")
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        for key in run.manifest.audits:
            groups.setdefault((key, run.manifest.benchmark.fingerprint), []).append(run)
    rows: list[dict[str, object]] = []
    for (key, _), alike in groups.items():
        names = [run.name for run in alike]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two runs are of {repeated[0]!r}; comparing needs different subjects")
        found = [_values(run, key) for run in alike] if len(alike) > 1 else []
        for a, b in combinations(range(len(found)), 2):
            rows += _pair(key, (names[a], names[b]), (found[a], found[b]), alike[a])
    if not rows:
        over = "; ".join(f"{run.folder}: {run.manifest.benchmark.name}" for run in runs)
        raise InputError(f"only runs over the same items, with an audit in common, compare ({over})")
    table = pl.from_dicts(rows)
    return table.with_columns(p_holm=pl.Series(holm(table["p"].to_numpy()))).select(COLUMNS)


def _values(run: Run, key: str) -> Values:
    audit = AUDITS.get(key)
    return audit.values(observations_of(run, key), audit.configure(run.manifest.settings[key]))


def _pair(
    key: str, names: tuple[str, str], found: tuple[Values, Values], run: Run
) -> list[dict[str, object]]:
    audit = AUDITS.get(key)
    parts = {name: audit.ratios.get(name, (name,)) for name in audit.headline}
    asked = {
        name: part for name, part in parts.items() if all(set(part) <= set(one.metrics) for one in found)
    }
    columns = list(dict.fromkeys(column for part in asked.values() for column in part))
    joined = (
        found[0]
        .table.select("query_id", "cluster", *columns)
        .join(found[1].table.select("query_id", *columns), on="query_id", suffix=" b", maintain_order="left")
    )
    if not len(joined) or not columns:
        raise InputError(f"runs {names[0]!r} and {names[1]!r} share no query or metric of audit {key!r}")
    options: Options = {
        "clusters": cluster_labels(Values(joined)),
        "replicates": run.manifest.settings[key]["replicates"],
        "seed": seed_for(run.manifest.seed, f"{key}.compare"),
    }
    rows: list[dict[str, object]] = []
    for metric, part in asked.items():
        first = matrix(Values(joined), list(part))
        second = matrix(Values(joined), [f"{column} b" for column in part])
        difference = _of_means if len(part) == 1 else _of_ratios
        rows.append(
            {"audit": key, "metric": metric, "a": names[0], "b": names[1]}
            | difference(first, second, options)
        )
    return rows


def _of_means(first: Columns, second: Columns, options: Options) -> dict[str, object]:
    """The difference of two means over the same queries."""
    found = bootstrap_interval(second[:, 0] - first[:, 0], **options)
    return {
        "value_a": float(np.nanmean(first)),
        "value_b": float(np.nanmean(second)),
        "difference": float(found.value),
        "low": float(found.low),
        "high": float(found.high),
        "p": float(sign_flip_test(second[:, 0] - first[:, 0], **options)),
        "n": int(found.n),
    }


def _of_ratios(first: Columns, second: Columns, options: Options) -> dict[str, object]:
    """The difference of two ratios of means over the same queries.

    The interval is of the ratios themselves. The p value is that of what each query adds to the difference
    were both ratios the pooled one: numerator less pooled ratio times denominator, which is a mean again.
    """
    draws = bootstrap_means(np.hstack([first, second]), **options)
    with np.errstate(divide="ignore", invalid="ignore"):
        value_a, value_b = (float(np.divide(*np.nanmean(columns, axis=0))) for columns in (first, second))
        low, high = interval(draws[:, 2] / draws[:, 3] - draws[:, 0] / draws[:, 1])
    top, bottom = np.nansum(first + second, axis=0)
    added = (second[:, 0] * bottom - second[:, 1] * top) - (first[:, 0] * bottom - first[:, 1] * top)
    return {
        "value_a": value_a,
        "value_b": value_b,
        "difference": value_b - value_a,
        "low": float(low),
        "high": float(high),
        "p": float(sign_flip_test(added, **options)),
        "n": int(np.count_nonzero(~np.isnan(added))),
    }
