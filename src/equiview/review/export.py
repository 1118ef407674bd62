"""What comes out of a review: every judgement, what is decided of each item, and how far people agree.

People appear under pseudonyms only.
"""

from __future__ import annotations

import io
import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from equiview.errors import InputError
from equiview.io.tables import write_bytes
from equiview.review.agreement import agreement
from equiview.review.database import Database
from equiview.review.decisions import decide
from equiview.review.layout import DATABASE, ReviewSettings, read_settings
from equiview.review.votes import all_opinions

KINDS = ("csv", "jsonl", "parquet")
TABLES = ("judgements", "decisions", "agreement")
JUDGEMENTS = {
    "item": pl.String, "group": pl.String, "question": pl.String, "value": pl.String, "author": pl.String,
    "role": pl.String, "time": pl.String, "superseded": pl.Boolean, "vote": pl.String,
}  # fmt: skip
DECISIONS = {
    "item": pl.String, "group": pl.String, "question": pl.String, "state": pl.String, "value": pl.String,
    "majority": pl.String, "votes": pl.Int64, "counts": pl.String,
}  # fmt: skip
AGREEMENT = {
    "question": pl.String, "alpha": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
    "judgements": pl.Int64, "note": pl.String,
}  # fmt: skip


def export_review(folder: Path, path: Path) -> list[Path]:
    """Write what a review says to `path` (.csv, .jsonl or .parquet), and return the files.

    `path` has every judgement; beside it, with `.decisions` and `.agreement` before the suffix, stand the
    decisions by item and the agreement by question. Works while people are judging. InputError for another
    suffix, and for a review that nobody has started.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path}: an export is a {', '.join(f'.{name}' for name in KINDS)} file; rename it")
    settings = read_settings(folder)
    if not (folder / DATABASE).exists():
        raise InputError(f"{folder}: has no judgements yet; start it with: equiview review {folder}")
    database = Database(folder / DATABASE)
    try:
        tables = export_tables(database, settings)
    finally:
        database.close()
    paths = []
    for name, table in tables.items():
        paths.append(path if name == "judgements" else path.with_suffix(f".{name}{path.suffix}"))
        write_bytes(as_bytes(table, kind), paths[-1])
    return paths


def export_tables(database: Database, settings: ReviewSettings) -> dict[str, pl.DataFrame]:
    """The tables judgements, decisions and agreement, all of one moment."""
    with database.snapshot() as connection:
        items = connection.execute("SELECT number, id, grouping FROM items ORDER BY number").fetchall()
        judgements = _judgements(connection, settings)
        opinions = all_opinions(connection)
    decisions = [
        {
            "item": item["id"],
            "group": item["grouping"],
            "question": decision.question,
            "state": decision.state,
            "value": decision.value,
            "majority": decision.majority,
            "votes": sum(decision.counts.values()),
            "counts": json.dumps(decision.counts, ensure_ascii=False),
        }
        for item in items
        for decision in decide(opinions.get(item["number"], []), settings)
    ]
    agreed = [asdict(found) for found in agreement(list(opinions.values()), settings)]
    return {
        "judgements": pl.DataFrame(judgements, schema=JUDGEMENTS),
        "decisions": pl.DataFrame(decisions, schema=DECISIONS),
        "agreement": pl.DataFrame(agreed, schema=AGREEMENT),
    }


def as_bytes(table: pl.DataFrame, kind: str) -> bytes:
    """A table as the bytes of a file of this kind: csv, jsonl or parquet."""
    if kind == "csv":
        return table.write_csv().encode()
    if kind == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in table.iter_rows(named=True))
        return "".join(f"{line}\n" for line in lines).encode()
    stream = io.BytesIO()
    table.write_parquet(stream, compression="zstd", statistics=False)
    return stream.getvalue()


def _judgements(connection: sqlite3.Connection, settings: ReviewSettings) -> list[dict[str, Any]]:
    rows = connection.execute(
        """SELECT votes.id AS vote, votes.answers, votes.time, people.pseudonym, people.role, items.id,
        items.grouping, EXISTS (SELECT 1 FROM votes AS later WHERE later.item = votes.item
        AND later.person = votes.person AND later.number > votes.number) AS superseded
        FROM votes JOIN people ON people.number = votes.person JOIN items ON items.number = votes.item
        ORDER BY votes.number"""
    )
    judgements = []
    for row in rows:
        answers = json.loads(row["answers"])
        for question in settings.questions:
            if question.id in answers:
                judgements.append(
                    {
                        "item": row["id"],
                        "group": row["grouping"],
                        "question": question.id,
                        "value": answers[question.id],
                        "author": row["pseudonym"],
                        "role": row["role"],
                        "time": row["time"],
                        "superseded": bool(row["superseded"]),
                        "vote": row["vote"],
                    }
                )
    return judgements
