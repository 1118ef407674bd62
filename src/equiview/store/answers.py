"""The store of answers: no request to a model is paid for twice.

    ROOT/answers/SUBJECT.sqlite     `answers`: key of a request, its reply as JSON; `model`: its name

`SUBJECT` is the subject's fingerprint; a request is known by a hash of all that is in it, its picture
included. A reply is on disk as soon as it has come, in whatever order, so a killed run loses only what was
under way. SQLite keeps the file whole, and lets several processes write to it.

Machines that share a store (`$EQUIVIEW_STORE`) share replies in objects `answers/SUBJECT/HASH.json` there: a
list of pairs of key and reply, never changed, under the hash of its content. What there is is read when a
database is opened; what a machine was replied is sent a few hundred at a time and at the end, and what could
not be sent, for whatever reason, when it is next opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from equiview.data.requests import Reply
from equiview.errors import InputError
from equiview.io.cache import cache_folder, check_no_link
from equiview.io.files import is_file, size_of
from equiview.io.notices import notice
from equiview.io.remote import Mirror
from equiview.store.vectors import DAY, WHEN, shared_store

WAIT = 60.0
"""Seconds to wait for another process that is writing."""
BESIDE = ("", "-wal", "-shm")
"""Suffixes of the files of one database."""
TABLES = (
    "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT)",
    "CREATE TABLE model (name TEXT PRIMARY KEY)",
    "CREATE TABLE shared (key TEXT PRIMARY KEY)",
    "CREATE TABLE objects (name TEXT PRIMARY KEY)",
)
"""What SQLite keeps of how the tables were made, by which a database of this store is known."""
BEGINNING = 65_536
"""Bytes of a file among which that stands: it is on the first page."""
OBJECT = re.compile(r"[0-9a-f]{32}\.json")
SENT_TOGETHER = 256
"""Replies in an object of the shared store, at most."""
MAGIC = b"SQLite format 3\0"


class Answers:
    """The kept replies of one subject, by its fingerprint; `name` is for people."""

    def __init__(self, subject: str, root: Path | None = None, name: str = "") -> None:
        self.path = (root or cache_folder()) / "answers" / f"{subject}.sqlite"
        self.name = name
        shared = "" if root else shared_store()
        self.mirror = Mirror(f"{shared}/answers/{subject}", self.path.parent) if shared else None

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
                with database:
                    for table in TABLES:
                        database.execute(table.replace("TABLE", "TABLE IF NOT EXISTS"))
                    database.execute("INSERT OR IGNORE INTO model VALUES (?)", (self.name,))
                os.utime(self.path)  # when it was last used
            opened = OpenAnswers(self, database)
            opened.share(fetch=True)
            try:
                yield opened
            finally:
                opened.share()
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
        self._new = 0

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
            self._database.execute("DELETE FROM shared WHERE key = ?", (key,))
        self._new += 1
        if self._new % SENT_TOGETHER == 0:
            self.share()

    def share(self, *, fetch: bool = False) -> None:
        """Send what the shared store lacks, after fetching what it has; a notice where it refuses."""
        if (mirror := self._answers.mirror) is None:
            return
        try:
            if fetch:
                for name in sorted(mirror.there().tags):
                    if OBJECT.fullmatch(name):
                        self._take(mirror, name)
            while self._send_some(mirror):
                pass
        except InputError as error:
            notice(f"answers are not shared now: {error}")

    def _take(self, mirror: Mirror, name: str) -> None:
        """Keep the replies of an object, unless that was done."""
        if self._all("SELECT name FROM objects WHERE name = ?", name):
            return
        content = mirror.read(name) or b""
        try:
            pairs = [(str(key), str(text)) for key, text in json.loads(content)]
        except (ValueError, TypeError, RecursionError):
            pairs = []
        if not pairs or _name_of(content) != name:
            notice(f"{mirror.url}/{name}: is not what was written; delete it")
            return
        with self._answers._refusals(), self._database:
            self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", pairs)
            self._note(name, pairs)

    def _send_some(self, mirror: Mirror) -> bool:
        """Send an object of replies that the store lacks; whether there were any."""
        pairs = self._all(
            "SELECT key, answer FROM answers WHERE key NOT IN (SELECT key FROM shared) ORDER BY key LIMIT ?",
            SENT_TOGETHER,
        )
        if pairs:
            content = json.dumps(pairs, ensure_ascii=False).encode()
            mirror.put(name := _name_of(content), content)
            with self._answers._refusals(), self._database:
                self._note(name, pairs)
        return bool(pairs)

    def _all(self, query: str, value: object) -> list[Any]:
        with self._answers._refusals():
            return self._database.execute(query, (value,)).fetchall()

    def _note(self, name: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember that the store has an object with these replies."""
        self._database.execute("INSERT OR IGNORE INTO objects VALUES (?)", (name,))
        keys = [(key,) for key, _ in pairs]
        self._database.executemany("INSERT OR IGNORE INTO shared VALUES (?)", keys)


class AnswerStore:
    """The kept replies of all subjects under one root, `cache_folder()` unless another is given."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or cache_folder()) / "answers"

    def files(self) -> list[Path]:
        """The database of each subject: what this store made there itself, and no link."""
        return [path for path in self._found() if _is_ours(path)]

    def _found(self) -> list[Path]:
        return sorted(self.root.glob("[!.]*.sqlite"))

    def contents(self) -> pl.DataFrame:
        """One row a subject: subject (fingerprint), name, answers (null if damaged), megabytes, last_used."""
        rows = []
        for path in self.files():
            answers, name = None, "?"
            with contextlib.suppress(sqlite3.Error), _database(path) as database:
                ((answers,),) = database.execute("SELECT count(*) FROM answers").fetchall()
                name = ", ".join(name for (name,) in database.execute("SELECT name FROM model ORDER BY name"))
            if answers == 0:  # pruned
                continue
            used = time.strftime(WHEN, time.localtime(_last_used(path)))
            rows.append((path.stem, name, answers, size_of(*_files_of(path)) / 1e6, used))
        columns = {"subject": pl.String, "name": pl.String, "answers": pl.Int64, "megabytes": pl.Float64,
                   "last_used": pl.String}  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def verify(self) -> pl.DataFrame:
        """Check every database; one row for each damaged one: subject, file, problem.

        A file that is no database at all is named too; databases of others are not.
        """
        rows = [(path.stem, path.name, problem) for path in self.files() if (problem := _damage(path))]
        others = [
            path for path in self._found() if is_file(path, linked=False) and MAGIC not in _beginning(path)
        ]
        rows += [(path.stem, path.name, "is no database; move it away or delete it") for path in others]
        columns = {"subject": pl.String, "file": pl.String, "problem": pl.String}
        return pl.DataFrame(rows, schema=columns, orient="row")

    def prune(
        self, subject: str | None = None, *, unused_days: float | None = None, damaged: bool = False
    ) -> int:
        """Remove what was kept; returns how many bytes became free.

        `subject` is a fingerprint or the beginning of one; with `unused_days` only databases not used for so
        long are emptied; with `damaged` only damaged ones. A database is emptied, not deleted, so that a
        process that is asking loses no later answer. InputError where such a process keeps it locked, and
        where the folder is a link. Other databases that lie there are left as they are.
        """
        check_no_link(self.root)
        freed = 0
        for path in self._found():
            if subject is not None and not path.stem.startswith(subject):
                continue
            if not _is_ours(path):
                notice(f"{path}: is kept: it is a link, or the store did not make it or cannot tell")
                continue
            if unused_days is not None and time.time() - _last_used(path) < unused_days * DAY:
                continue
            broken = _damage(path)
            if damaged and broken is None:
                continue
            before = size_of(*_files_of(path))
            if broken is None:
                _empty(path)
            else:
                for file in _files_of(path):
                    file.unlink(missing_ok=True)
            freed += max(0, before - size_of(*_files_of(path)))
        return freed


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing database, to be read or emptied, without transactions."""
    database = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
    try:
        yield database
    finally:
        database.close()


def _name_of(content: bytes) -> str:
    """The name of an object of the shared store."""
    return f"{hashlib.blake2b(content, digest_size=16).hexdigest()}.json"


def _is_ours(path: Path) -> bool:
    """Whether a database, damaged or not, was made by this store: our tables alone, under one name."""
    if (
        not is_file(path, linked=False)
        or path.stat().st_nlink > 1
        or TABLES[0].encode() not in _beginning(path)
    ):
        return False  # without asking SQLite, which writes even where it only reads
    with contextlib.suppress(sqlite3.Error), _database(path) as database:
        made = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        return made <= set(TABLES)
    return True


def _beginning(path: Path) -> bytes:
    """The first bytes of a database and of what was written to it last."""
    content = b""
    for file in _files_of(path)[:2]:
        with contextlib.suppress(OSError), file.open("rb") as stream:
            content += stream.read(BEGINNING)
    return content


def _empty(path: Path) -> None:
    try:
        with _database(path) as database:
            tables = [
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for name in tables:  # those of TABLES, or of an earlier version the first of them
                database.execute(f"DELETE FROM {name}")
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: answers cannot be removed ({error})") from None


def _damage(path: Path) -> str | None:
    """The damage of a database, or None."""
    try:
        with _database(path) as database:
            ((result, *_), *_) = database.execute("PRAGMA integrity_check(1)").fetchall()
            database.execute("SELECT key, answer FROM answers LIMIT 0")
    except sqlite3.Error as error:
        return str(error)
    return None if result == "ok" else str(result)


def _files_of(path: Path) -> list[Path]:
    """The existing files of one database."""
    return [file for end in BESIDE if is_file(file := path.with_name(path.name + end), linked=False)]


def _last_used(path: Path) -> float:
    """When it was last opened or written to, in seconds since 1970."""
    return max((file.stat().st_mtime for file in _files_of(path)), default=0.0)
