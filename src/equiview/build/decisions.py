"""What people decided on a review's page, as its export says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview.io.tables import Column, Schema, read_table, without_apostrophe

DECISIONS = Schema(
    "decisions",
    (
        Column("item", pl.String, "the item that people judged"),
        Column("question", pl.String, "what people were asked of it"),
        Column("value", pl.String, "what they decided, empty where nothing is decided", nullable=True),
        Column("fingerprint", pl.String, "of the item that they judged", nullable=True, optional=True),
    ),
)


@dataclass(frozen=True)
class Rejected:
    """What people rejected: the reasons by what was made, and fingerprints of it where known."""

    path: Path
    reasons: Mapping[str, str]
    judged: Mapping[str, str]


def read_decisions(path: Path) -> pl.DataFrame:
    """The decisions of an export, with the items' names as they were before a spreadsheet was minded."""
    table = read_table(path, DECISIONS)
    return (
        table.with_columns(without_apostrophe(table["item"]))
        if path.suffix.lower() in (".csv", ".tsv")
        else table
    )
