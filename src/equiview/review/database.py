"""The database of a review: SQLite, with judgements append-only and on disk before they are confirmed.

Rows of `votes` are never changed: each has one person's answers on one item at one time, and the latest row
of a person and item counts. `todo` and `disputes` are derived from the votes, and rebuilt at every start.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from equiview.errors import InputError

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (
    number INTEGER PRIMARY KEY, pseudonym TEXT UNIQUE NOT NULL, role TEXT NOT NULL, name TEXT,
    token_hash BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, grouping TEXT,
    content_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS votes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL,
    person INTEGER NOT NULL REFERENCES people, item INTEGER NOT NULL REFERENCES items,
    answers TEXT NOT NULL, time TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS votes_of_a_person ON votes (person);
CREATE INDEX IF NOT EXISTS votes_on_an_item ON votes (item, person);
CREATE TRIGGER IF NOT EXISTS votes_stay BEFORE DELETE ON votes
    BEGIN SELECT RAISE(ABORT, 'a vote is never deleted'); END;
CREATE TRIGGER IF NOT EXISTS votes_are_not_changed BEFORE UPDATE ON votes
    BEGIN SELECT RAISE(ABORT, 'a vote is never changed'); END;
CREATE TABLE IF NOT EXISTS todo (
    person INTEGER NOT NULL, place INTEGER NOT NULL, item INTEGER NOT NULL, PRIMARY KEY (person, place)
    ) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS todo_of_an_item ON todo (item);
CREATE TABLE IF NOT EXISTS disputes (item INTEGER PRIMARY KEY);
"""
DAMAGED = """SELECT 1 FROM pragma_foreign_key_check UNION SELECT 1 FROM people
WHERE role NOT IN ('coordinator', 'adjudicator', 'reviewer') OR typeof(token_hash) != 'blob'"""
"""Finds what no review writes."""
RESTORE = "restore it from a copy"
PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Within, an error of SQLite becomes an InputError about the database at `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"{path}: is not a database that can be used ({error}); {RESTORE}, or see that the disk has free "
            "space and that its folder can be written"
        ) from None


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Each table with each of its columns."""
    query = """SELECT kept.name, part.name FROM sqlite_schema AS kept, pragma_table_info(kept.name) AS part
    WHERE kept.type = 'table' AND kept.name NOT LIKE 'sqlite%'"""
    return {tuple(row) for row in connection.execute(query)}


class Database:
    """One file of votes. Each thread has a connection of its own; one thread writes at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writing = threading.Lock()
        if not path.exists():  # holds names: owner only; SQLite copies the mode to its other files
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        try:
            with usable(path):
                with closing(sqlite3.connect(":memory:")) as empty:
                    empty.executescript(TABLES)
                    ours = _columns(empty)
                columns = _columns(self.connection)
                if columns not in (set(), ours):
                    raise InputError(
                        f"{path}: is not the database of a review, or of another version; {RESTORE}"
                    )
                self.connection.execute("PRAGMA journal_mode = WAL")
                if not columns:  # all tables at once: a process may be killed here
                    self.connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
                (found,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    raise InputError(f"{path}: is damaged ({found}); {RESTORE}")
                if self.connection.execute(DAMAGED).fetchone():
                    raise InputError(f"{path}: says of people or votes what cannot be; {RESTORE}")
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of this thread. A finished transaction is on disk."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._opened.append(connection)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._local.connection = connection
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all writes of the block, or none."""
        connection = self.connection
        with self._writing:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A consistent view of the database, while others write."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    def fact(self, name: str, value: str) -> str:
        """The stored value of `name`; `value` is stored first where there is none."""
        with self.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row["value"])

    def close(self) -> None:
        """Close every thread's connection."""
        while self._opened:
            self._opened.pop().close()
