"""The export of a review: every judgement, the decisions on each item, and the agreement of people.

People appear under pseudonyms only.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from equiview.errors import InputError
from equiview.io.tables import safe_csv, write_bytes
from equiview.review.agreement import agreement
from equiview.review.database import Database, usable
from equiview.review.decisions import decide
from equiview.review.layout import DATABASE, ITEMS, ReviewSettings, read_items, read_settings
from equiview.review.unchanged import check_unchanged, content_keys
from equiview.review.votes import all_opinions

KINDS = ("csv", "jsonl", "parquet")
TABLES = ("judgements", "decisions", "agreement")
JUDGEMENTS = {
    "item": pl.String, "group": pl.String, "question": pl.String, "value": pl.String, "author": pl.String,
    "role": pl.String, "time": pl.String, "superseded": pl.Boolean, "vote": pl.String,
}  # fmt: skip
DECISIONS = {
    "item": pl.String, "group": pl.String, "question": pl.String, "state": pl.String, "value": pl.String,
    "majority": pl.String, "votes": pl.Int64, "counts": pl.String, "fingerprint": pl.String,
}  # fmt: skip
AGREEMENT = {
    "question": pl.String, "alpha": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
    "judgements": pl.Int64, "note": pl.String,
}  # fmt: skip


def export_review(folder: Path, path: Path) -> list[Path]:
    """Write a review to `path` (.csv, .jsonl or .parquet), and return the files.

    `path` has every judgement; files with `.decisions` and `.agreement` before the suffix have the
    decisions by item and the agreement by question. Works while people are judging. InputError for another
    suffix, a file of the review itself, a review that was never started, and where questions or items changed
    after people had judged.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path}: an export is a {', '.join(f'.{name}' for name in KINDS)} file; rename it")
    settings = read_settings(folder)
    if path.resolve() in {(folder / name).resolve() for name in ITEMS}:
        raise InputError(f"{path}: holds the items of the review; name another file")
    if not (folder / DATABASE).exists():
        raise InputError(f"{folder}: has no judgements yet; start it with: equiview review {folder}")
    items = read_items(folder)
    keys = content_keys(items)
    database = Database(folder / DATABASE)
    try:
        with usable(database.path), database.snapshot() as connection:
            check_unchanged(folder, connection, settings, items, keys)
            tables = export_tables(connection, settings, keys)
    finally:
        database.close()
    paths = []
    for name, table in tables.items():
        paths.append(path if name == "judgements" else path.with_suffix(f".{name}{path.suffix}"))
        write_bytes(as_bytes(table, kind), paths[-1])
    return paths


def export_tables(
    connection: sqlite3.Connection, settings: ReviewSettings, keys: Mapping[str, str]
) -> dict[str, pl.DataFrame]:
    """The tables judgements, decisions and agreement; `keys` has the fingerprint of each item by its id."""
    items = connection.execute("SELECT number, id, grouping FROM items ORDER BY number").fetchall()
    judgements = _judgements(connection, settings)
    opinions = all_opinions(connection)
    decisions = [
        (
            *item[1:],
            d.question,
            d.state,
            d.value,
            d.majority,
            sum(d.counts.values()),
            _json(d.counts),
            keys.get(item["id"]),
        )
        for item in items
        for d in decide(opinions.get(item["number"], []), settings)
    ]
    agreed = [asdict(found) for found in agreement(list(opinions.values()), settings)]
    return {
        "judgements": pl.DataFrame(judgements, schema=JUDGEMENTS, orient="row"),
        "decisions": pl.DataFrame(decisions, schema=DECISIONS, orient="row"),
        "agreement": pl.DataFrame(agreed, schema=AGREEMENT),
    }


def as_bytes(table: pl.DataFrame, kind: str) -> bytes:
    """A table as the bytes of a file of this kind: csv, jsonl or parquet."""
    if kind == "csv":
        return safe_csv(table).encode()
    if kind == "jsonl":
        return "".join(f"{_json(row)}\n" for row in table.iter_rows(named=True)).encode()
    stream = io.BytesIO()
    table.write_parquet(stream, compression="zstd", statistics=False)
    return stream.getvalue()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)


def _judgements(connection: sqlite3.Connection, settings: ReviewSettings) -> list[tuple[Any, ...]]:
    rows = connection.execute(
        """SELECT votes.answers, items.id, items.grouping, people.pseudonym, people.role, votes.time,
        EXISTS (SELECT 1 FROM votes AS later WHERE later.item = votes.item
        AND later.person = votes.person AND later.number > votes.number), votes.id
        FROM votes JOIN people ON people.number = votes.person JOIN items ON items.number = votes.item
        ORDER BY votes.number"""
    )
    judgements: list[tuple[Any, ...]] = []
    for answers, item, group, author, role, time, superseded, vote in rows:
        given = json.loads(answers)
        judgements += [
            (item, group, question.id, given[question.id], author, role, time, bool(superseded), vote)
            for question in settings.questions
            if question.id in given
        ]
    return judgements
