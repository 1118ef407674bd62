"""The store of answers: what a model was asked, and paid for, is not asked again.

    ROOT/answers/SUBJECT.sqlite     one table: key of the request, its reply as JSON

`SUBJECT` is the subject's fingerprint; a request is known by a hash of all that is in it, its picture
included. A reply is on disk as soon as it has come, in whatever order, so a killed run loses only what was
under way. SQLite keeps the file whole, and lets several processes write to it.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from equiview.data.cache import cache_folder
from equiview.data.requests import Reply
from equiview.errors import InputError

WAIT = 60.0
"""Seconds to wait for another process that is writing."""


class Answers:
    """The kept replies of one subject."""

    def __init__(self, subject: str, root: Path | None = None) -> None:
        self.path = (root or cache_folder()) / "answers" / f"{subject}.sqlite"

    @contextmanager
    def opened(self) -> Iterator[OpenAnswers]:
        """The replies, to be read and added to; InputError in one line for what the disk refuses."""
        with self._refusals():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=WAIT)
        try:
            with self._refusals():
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)")
            yield OpenAnswers(self, database)
        finally:
            database.close()

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{self.path}: answers cannot be kept ({error}); $EQUIVIEW_CACHE names another folder"
            ) from None


class OpenAnswers:
    """The replies of one subject while their file is open."""

    def __init__(self, answers: Answers, database: sqlite3.Connection) -> None:
        self._answers = answers
        self._database = database

    def get(self, keys: Iterable[str]) -> dict[str, Reply]:
        """The replies that are kept, by key."""
        query = "SELECT key, answer FROM answers WHERE key IN (SELECT value FROM json_each(?))"
        with self._answers._refusals():
            rows = self._database.execute(query, (json.dumps(list(keys)),)).fetchall()
        replies = {}
        for key, answer in rows:
            with contextlib.suppress(ValueError, TypeError):  # of another version of equiview: asked again
                replies[key] = Reply.of(json.loads(answer))
        return replies

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply: it is on disk when this returns."""
        text = json.dumps(reply.content, ensure_ascii=False, sort_keys=True)
        with self._answers._refusals(), self._database:
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, text))
