"""Compare runs in pairs: the same queries put to two subjects, and the difference tested."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from equiview.audits._summary import matrix
from equiview.audits.base import AUDITS, Values
from equiview.audits.execute import observations_of
from equiview.data.errors import InputError
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.stats import bootstrap_interval, holm, sign_flip_test

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
    metrics = [name for name in AUDITS.get(key).headline if all(name in one.metrics for one in found)]
    joined = (
        found[0]
        .table.select("query_id", "cluster", *metrics)
        .join(found[1].table.select("query_id", *metrics), on="query_id", suffix=" b", maintain_order="left")
    )
    if not len(joined) or not metrics:
        raise InputError(f"runs {names[0]!r} and {names[1]!r} share no query or metric of audit {key!r}")
    first = matrix(Values(joined), metrics)
    second = matrix(Values(joined), [f"{name} b" for name in metrics])
    clusters = joined["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    settings = run.manifest.settings[key]
    seed = seed_for(run.manifest.seed, f"{key}.compare")
    options = {"clusters": clusters, "replicates": settings["replicates"], "seed": seed}
    interval = bootstrap_interval(second - first, **options)
    p_values = sign_flip_test(second - first, **options)
    return [
        {
            "audit": key,
            "metric": metric,
            "a": names[0],
            "b": names[1],
            "value_a": float(np.nanmean(first[:, index])),
            "value_b": float(np.nanmean(second[:, index])),
            "difference": float(interval.value[index]),
            "low": float(interval.low[index]),
            "high": float(interval.high[index]),
            "p": float(p_values[index]),
            "n": int(interval.n[index]),
        }
        for index, metric in enumerate(metrics)
    ]
