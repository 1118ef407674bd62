"""The numbers of single queries, in the words of a gate's condition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from equiview.audits import AUDITS
from equiview.audits.execute import settings_of, view_of
from equiview.data.run import Run
from equiview.errors import unknown_name
from equiview.studies.gate.grammar import Wanted, parse_rows
from equiview.studies.gate.judge import places_of


def check_audit(run: Run, audit: str) -> None:
    """InputError for an audit that the run does not have; "" is all that it has."""
    if audit and audit not in run.manifest.audits:
        raise unknown_name("audit of this run", audit, run.manifest.audits)


def per_query(run: Run, text: str, audit: str = "") -> pl.DataFrame:
    """What `METRIC@K[KEY=VALUE]` is for each query that it was asked of, by one audit or all that have it.

    Columns: audit, metric, k, the keys, query_id, cluster and value. InputError where nothing is meant, and
    for a metric that is no mean over queries.
    """
    check_audit(run, audit)
    condition = parse_rows(text)
    tables = {
        name: AUDITS.get(name).values(view_of(run, name), settings_of(run, name))
        for name in ([audit] if audit else run.manifest.audits)
        if run.is_observed(name)
    }
    columns = [
        (name, place, about) for name, table in tables.items() for place, about in enumerate(table.quantities)
    ]
    metrics = list(dict.fromkeys(about.metric for _, _, about in columns))
    meant = replace(condition, audit=f"single queries of {audit or run.name}")
    parts = []
    wanted = condition.rows or Wanted("")
    for chosen in places_of(meant, wanted, [about for *_, about in columns], metrics):
        name, place, about = columns[chosen]
        values = tables[name].matrix[:, place]
        asked = ~np.isnan(values)
        rows = tables[name].rows.select("query_id", "cluster").filter(pl.Series(asked))
        says = {"audit": name, "metric": about.metric, "k": about.k} | about.keys
        parts.append(
            rows.select(
                *(
                    pl.lit(value, pl.Int32 if key == "k" else pl.String).alias(key)
                    for key, value in says.items()
                ),
                pl.col("query_id"),
                pl.col("cluster").cast(pl.String),
                value=pl.Series(values[asked]),
            )
        )
    table = pl.concat(parts, how="diagonal")
    ends = ("query_id", "cluster", "value")
    return table.select(*(name for name in table.columns if name not in ends), *ends)
