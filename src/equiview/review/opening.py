"""Opening a review: its folder is read and checked against earlier judgements."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equiview.io.fingerprint import fingerprint
from equiview.review.assignment import Assignment, plan
from equiview.review.database import Database, usable
from equiview.review.layout import DATABASE, ReviewItem, ReviewSettings, read_items, read_settings
from equiview.review.people import Person, register
from equiview.review.unchanged import asked, check_unchanged, content_keys
from equiview.review.votes import find_disputes


@dataclass(frozen=True)
class Review:
    """An open review. Items are keyed by their number in the database, from 1; `keys` are by id."""

    name: str
    settings: ReviewSettings
    items: dict[int, ReviewItem]
    keys: dict[str, str]
    people: dict[str, Person]
    tokens: dict[str, str]
    database: Database
    assignment: Assignment

    def shown(self, number: int) -> str:
        """A fingerprint of what the page of an item shows and asks."""
        item = self.items.get(number)
        return fingerprint(*asked(self.settings).values(), item and self.keys[item.id])


def open_review(folder: Path, people: int | None = None) -> Review:
    """Open the review in `folder` for `people` reviewers or more, and make it ready to continue.

    InputError for invalid files, and where items or questions with judgements were changed or removed.
    """
    settings = read_settings(folder)
    items = read_items(folder)
    keys = content_keys(items)
    database = Database(folder / DATABASE)
    try:
        with usable(database.path):
            with database.transaction() as connection:
                check_unchanged(folder, connection, settings, items, keys)
                connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", asked(settings).items())
                numbers = _register_items(connection, items, keys)
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
        keys=keys,
        people={person.pseudonym: person for person, _ in registered},
        tokens={person.pseudonym: token for person, token in registered},
        database=database,
        assignment=Assignment(database, settings),
    )


def _register_items(
    connection: sqlite3.Connection, items: Sequence[ReviewItem], keys: Mapping[str, str]
) -> dict[str, int]:
    """The number of each item by its id; items that are no longer there are removed."""
    known = [row["id"] for row in connection.execute("SELECT id FROM items")]
    connection.executemany("DELETE FROM items WHERE id = ?", [(name,) for name in known if name not in keys])
    connection.executemany(
        """INSERT INTO items (id, grouping, content_hash) VALUES (?, ?, ?) ON CONFLICT (id)
        DO UPDATE SET grouping = excluded.grouping, content_hash = excluded.content_hash""",
        [(item.id, item.group, keys[item.id]) for item in items],
    )
    return {row["id"]: row["number"] for row in connection.execute("SELECT id, number FROM items")}
