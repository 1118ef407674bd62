"""From one number per query to an estimate with an interval, for every audit alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import polars as pl

from equiview.audits.base import Settings, Values
from equiview.data.estimates import Estimates
from equiview.data.seeds import seed_for
from equiview.stats import bootstrap_interval


def column_name(metric: str, **keys: str) -> str:
    """Name a column of `Values` that is about part of the data.

    >>> column_name("R@1", language="sw")
    'R@1 [language=sw]'
    """
    inside = ", ".join(f"{key}={value}" for key, value in keys.items())
    return f"{metric} [{inside}]" if keys else metric


def keys_of(name: str) -> tuple[str, dict[str, str]]:
    """Undo `column_name`.

    >>> keys_of("LBKL@10 [grouping=tier]")
    ('LBKL@10', {'grouping': 'tier'})
    """
    match = re.fullmatch(r"(.*?) \[(.*)\]", name)
    if match is None:
        return name, {}
    return match[1], dict(part.split("=", 1) for part in match[2].split(", "))


def matrix(
    values: Values, metrics: list[str] | None = None
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The chosen columns as `(n_queries, n_metrics)`, nan where the metric was not asked."""
    return values.table.select(
        pl.col(metrics or values.metrics).cast(pl.Float64).fill_null(np.nan)
    ).to_numpy()


def cluster_labels(values: Values) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """An integer for each row; rows of one cluster share it."""
    return values.table["cluster"].rank("dense").to_numpy().astype(np.int64) - 1


def summarise(audit: str, values: Values, chance: Mapping[str, float], settings: Settings) -> Estimates:
    """Mean, clustered bootstrap interval, n, chance and excess of every column of `values`.

    `chance` gives the floor of a column by its full name; a column it does not name has none.
    """
    found = bootstrap_interval(
        matrix(values),
        clusters=cluster_labels(values),
        replicates=settings.replicates,
        seed=seed_for(settings.seed, f"{audit}.bootstrap"),
    )
    rows = []
    for index, name in enumerate(values.metrics):
        metric, keys = keys_of(name)
        value, floor = float(found.value[index]), chance.get(name)
        rows.append(
            {
                "audit": audit,
                "metric": metric,
                "value": value,
                "low": float(found.low[index]),
                "high": float(found.high[index]),
                "n": int(found.n[index]),
                "chance": floor,
                "excess": None if floor is None else value - floor,
                **keys,
            }
        )
    return Estimates(pl.from_dicts(rows, infer_schema_length=None))
