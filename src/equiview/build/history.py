"""The history of candidates: the steps they passed, and where and why they were rejected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from equiview.errors import InputError
from equiview.io.tables import Column, Schema, safe_csv, write_bytes, write_parquet

HISTORY = Schema(
    "history",
    (
        Column("item_id", pl.String, "the candidate"),
        Column("step", pl.String, "what was done or checked"),
        Column("language", pl.String, "the language it was done in, null where in none", nullable=True),
        Column("passed", pl.Boolean, "whether it passed"),
        Column("reason", pl.String, "why it was rejected", nullable=True),
        Column("detail", pl.String, "what was seen: a model's words, or the words at fault", nullable=True),
    ),
)


class History:
    """Rows of `HISTORY`, in the order in which things happened."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def note(
        self,
        item: str,
        step: str,
        reason: str | None = None,
        detail: str | None = None,
        *,
        language: str | None = None,
    ) -> bool:
        """Add a candidate's result in a step; it passed unless there is a reason. Returns whether it did."""
        row = {"item_id": item, "step": step, "language": language, "passed": not reason}
        self._rows.append(row | {"reason": reason or None, "detail": detail})
        return not reason

    @property
    def table(self) -> pl.DataFrame:
        """All rows, as `HISTORY` says."""
        return pl.DataFrame(self._rows, schema=HISTORY.dtypes)

    def rejections(self) -> pl.DataFrame:
        """The number of candidates rejected in each step for each reason: step, reason, candidates.

        >>> history = History()
        >>> history.note("a", "rules")
        True
        >>> history.note("b", "rules", "the answer is not among the options")
        False
        >>> history.rejections().row(0)
        ('rules', 'the answer is not among the options', 1)
        """
        return rejections_of(self.table)

    def nothing_left(self, place: object, what: str) -> InputError:
        """The error that no candidate of `place` is left, with the most frequent reasons."""
        reasons = self.rejections().sort("candidates", descending=True).head(3)
        said = "; ".join(f"{reason} ({count})" for _, reason, count in reasons.iter_rows())
        return InputError(f"{place}: no {what} is left; most often: {said or 'none was written'}")

    def write(self, folder: Path, left: Mapping[str, int]) -> None:
        """Write all rows, the rejections, and the number of candidates left after each step."""
        write_history(self.table, folder, left)


def rejections_of(table: pl.DataFrame) -> pl.DataFrame:
    """The number of candidates rejected in each step of a history for each reason."""
    wrong = table.filter(~pl.col("passed"))
    counted = wrong.group_by("step", "reason", maintain_order=True)
    return counted.agg(candidates=pl.col("item_id").n_unique())


def write_history(table: pl.DataFrame, folder: Path, left: Mapping[str, int]) -> None:
    """Write a history, its rejections, and the number of candidates left after each step."""
    write_parquet(table, folder / "history.parquet")
    write_bytes(safe_csv(rejections_of(table)).encode(), folder / "rejections.csv")
    counts = pl.DataFrame({"step": list(left), "left": list(left.values())})
    write_bytes(safe_csv(counts).encode(), folder / "counts.csv")


def history_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """The tables of a written history to print, by title."""
    rejected = pl.read_csv(folder / "rejections.csv")
    return {
        "Left after each step": pl.read_csv(folder / "counts.csv"),
        "Rejected": rejected.sort("candidates", descending=True, maintain_order=True),
    }
