"""What is relevant, and of which group documents are, in whichever form it is given."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import chain, repeat
from operator import lt, methodcaller
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.finished import read_qrels
from equiview.errors import InputError
from equiview.io.tables import frame_of


def relevant_of(qrels: Any) -> Mapping[Any, Any]:
    """The documents of each query that are judged above 0, as something to go through that has a length."""
    if of_mappings(qrels):
        grades = chain.from_iterable(map(methodcaller("values"), qrels.values()))
        try:
            if all(map(lt, repeat(0), grades)):
                return dict(qrels)
            return {query: [item for item, grade in of.items() if grade > 0] for query, of in qrels.items()}
        except TypeError:
            raise InputError(
                "the grades of qrels must be numbers, as in {'query': {'document': 1}}"
            ) from None
    if isinstance(qrels, str | Path):
        table = read_qrels(Path(qrels).expanduser()).with_columns(relevance=pl.lit(1))
    else:
        table = columns_of(qrels, "qrels", ("query_id",), ("item_id", "doc_id"), ("relevance",))
        if not table["relevance"].dtype.is_numeric():
            raise InputError("the table of qrels: column 'relevance' must hold numbers")
    of_query = table.group_by("query_id", maintain_order=True).agg(
        pl.col("item_id").filter(pl.col("relevance") > 0).unique(maintain_order=True)
    )
    return dict(zip(of_query["query_id"].to_list(), of_query["item_id"].to_list(), strict=True))


def groups_of(groups: Any) -> Mapping[Any, Any]:
    """The group of each document."""
    if isinstance(groups, Mapping) and isinstance(groups.get("group"), Hashable):  # else a table's columns
        return groups
    table = columns_of(groups, "groups", ("item_id", "doc_id"), ("group",))
    return dict(zip(table["item_id"].to_list(), table["group"].to_list(), strict=True))


def of_mappings(given: Any) -> bool:
    """Whether it is a mapping to mappings."""
    return isinstance(given, Mapping) and all(
        issubclass(kind, Mapping) for kind in set(map(type, given.values()))
    )


def columns_of(given: Any, what: str, *wanted: tuple[str, ...]) -> pl.DataFrame:
    """A table with a column for each tuple, which has one of its names; `doc_id` becomes `item_id`, ids text.

    InputError for a column that is missing, or empty in a row.
    """
    table = frame_of(given, what)
    picked = []
    for names in wanted:
        name = next((name for name in names if name in table.columns), None)
        if name is None:
            raise InputError(
                f"the table of {what} has no column {' or '.join(names)}; found: {', '.join(table.columns)}"
            )
        if empty := table[name].null_count():
            raise InputError(f"the table of {what}: column {name!r} is empty in {empty} rows")
        column = pl.col(name).alias("item_id" if name == "doc_id" else name)
        picked.append(
            column.cast(pl.String) if {name} & {"query_id", "item_id", "doc_id", "group"} else column
        )
    return table.select(picked)
