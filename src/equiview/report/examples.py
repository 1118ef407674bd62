"""What came back for a few queries, as a table: evenly spread from the best answered to the worst."""

from __future__ import annotations

import polars as pl

from equiview.data.run import Run
from equiview.errors import InputError, unknown_name
from equiview.report.explorer import lists_of

COLUMNS = ("query", "asked", "answered", "rank", "result", "language", "relevant", "score")


def examples_of(run: Run, n: int, k: int, audit: str = "") -> pl.DataFrame:
    """The first `k` results of `n` queries, with the columns `COLUMNS`.

    `answered` is the rank of the first right result among those that were kept, null where there is none.
    InputError for fewer than one query or result, and where no audit of the run kept lists.
    """
    if n < 1 or k < 1:
        raise InputError(f"{n} queries of {k} results: give at least one of each")
    if audit and audit not in run.manifest.audits:
        raise unknown_name("audit of this run", audit, run.manifest.audits)
    found = (lists_of(run, name) for name in ([audit] if audit else run.manifest.audits))
    lists = next((entry for entry in found if entry is not None), None)
    if lists is None:
        raise InputError(f"{run.folder}: {audit or 'no audit of this run'} kept no lists to show")
    ranks = lists.rankings.filter(pl.col("relevant").fill_null(False))
    answered = ranks.group_by("query_id", maintain_order=True).agg(answered=pl.col("rank").min())
    queries = lists.queries.join(answered, on="query_id", how="left", maintain_order="left")
    queries = queries.sort("answered", nulls_last=True, maintain_order=True)
    n = min(n, len(queries))
    places = sorted({round(place * (len(queries) - 1) / max(n - 1, 1)) for place in range(n)})
    items = lists.items.unique("item_id", keep="first", maintain_order=True)
    table = (
        queries[places]
        .with_row_index("at")
        .select("at", "query_id", "label", "answered")
        .join(lists.rankings.filter(pl.col("rank") <= k), on="query_id")
        .join(items.select("item_id", *(c for c in ("text", "language") if c in items.columns)), on="item_id")
        .sort("at", "rank")
        .rename({"query_id": "query", "label": "asked", "text": "result"})
    )
    return table.select(name for name in COLUMNS if name in table.columns)
