"""Opening a review: its folder is read and checked against earlier judgements."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from equiview.errors import InputError
from equiview.review.assignment import Assignment, plan
from equiview.review.database import Database
from equiview.review.layout import DATABASE, ReviewItem, ReviewSettings, read_items, read_settings
from equiview.review.people import Person, register
from equiview.review.votes import find_disputes


@dataclass(frozen=True)
class Review:
    """An open review. Items are keyed by their number in the database, from 1."""

    name: str
    settings: ReviewSettings
    items: dict[int, ReviewItem]
    people: dict[str, Person]
    tokens: dict[str, str]
    database: Database
    assignment: Assignment


def open_review(folder: Path, people: int | None = None) -> Review:
    """Open the review in `folder` for `people` reviewers or more, and make it ready to continue.

    InputError for invalid files, and where items or questions with judgements were changed or removed.
    """
    settings = read_settings(folder)
    items = read_items(folder)
    database = Database(folder / DATABASE)
    try:
        _check_questions(folder, database, settings)
        numbers = _register_items(folder, database, items)
        registered = register(database, folder, settings, people)
        reviewers = [person for person, _ in registered if person.role == "reviewer"]
        with database.transaction() as connection:
            plan(connection, settings, reviewers)
            find_disputes(connection, settings)
        name = database.fact("name", secrets.token_hex(4))
    except BaseException:
        database.close()
        raise
    return Review(
        name=name,
        settings=settings,
        items={numbers[item.id]: item for item in items},
        people={person.pseudonym: person for person, _ in registered},
        tokens={person.pseudonym: token for person, token in registered},
        database=database,
        assignment=Assignment(database, settings),
    )


def _check_questions(folder: Path, database: Database, settings: ReviewSettings) -> None:
    """InputError where recorded answers belong to other questions than those in review.json."""
    asked = json.dumps([[question.id, question.choices] for question in settings.questions])
    with database.transaction() as connection:
        if connection.execute("SELECT 1 FROM votes LIMIT 1").fetchone() is None:
            connection.execute("DELETE FROM facts WHERE name = 'questions'")
    if database.fact("questions", asked) != asked:
        raise InputError(
            f"{folder}: questions or choices in review.json were changed after people had answered; restore "
            "them, or write the review to another folder"
        )


def _register_items(folder: Path, database: Database, items: list[ReviewItem]) -> dict[str, int]:
    """The number of each item by its id; InputError where an item with judgements was changed or removed."""
    hashes = {item.id: _hash(item) for item in items}
    with database.transaction() as connection:
        known = {row["id"]: row for row in connection.execute("SELECT * FROM items")}
        judged = {row["item"] for row in connection.execute("SELECT DISTINCT item FROM votes")}
        for name, row in known.items():
            if row["number"] in judged and hashes.get(name) != row["content_hash"]:
                raise InputError(
                    f"{folder}: item {name!r} was {'changed' if name in hashes else 'removed'} after people "
                    "had judged it; restore it, or write the review to another folder"
                )
        connection.executemany(
            "DELETE FROM items WHERE id = ?", [(name,) for name in known if name not in hashes]
        )
        connection.executemany(
            """INSERT INTO items (id, grouping, content_hash) VALUES (?, ?, ?) ON CONFLICT (id)
            DO UPDATE SET grouping = excluded.grouping, content_hash = excluded.content_hash""",
            [(item.id, item.group, hashes[item.id]) for item in items],
        )
        return {row["id"]: row["number"] for row in connection.execute("SELECT id, number FROM items")}


def _hash(item: ReviewItem) -> str:
    """A hash of the visible content of an item; of its picture, only name and size."""
    picture = item.picture
    seen = [picture.name, picture.stat().st_size] if isinstance(picture, Path) else []
    text = item.model_dump_json(exclude={"picture", "group"}) + json.dumps(seen)
    return hashlib.sha256(text.encode()).hexdigest()
