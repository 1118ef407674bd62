"""The store of answers: what a model was asked, and paid for, is not asked again.

    ROOT/answers/SUBJECT.sqlite     one table: key of the request, the answer as JSON

`SUBJECT` is the subject's fingerprint; a request is known by a hash of all that is in it. An answer is on
disk before the next one is asked for, so a killed run loses only what was under way. SQLite keeps the file
whole, and lets several processes write to it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from equiview.data.cache import cache_folder
from equiview.data.fingerprint import fingerprint
from equiview.data.progress import Progress, silent
from equiview.errors import InputError

Request = Mapping[str, Any]
Answer = Mapping[str, Any]
Ask = Callable[[Sequence[Request]], Iterable[Answer]]
WAIT = 60.0
"""Seconds to wait for another process that is writing."""


class Answers:
    """The kept answers of one subject."""

    def __init__(self, subject: str, root: Path | None = None) -> None:
        self.path = (root or cache_folder()) / "answers" / f"{subject}.sqlite"

    def asked(self, requests: Sequence[Request], ask: Ask, progress: Progress = silent) -> list[Answer]:
        """The answer to each request, in order: kept ones, and for the others what `ask` yields.

        `ask` takes the requests that have no answer yet, each distinct one once, and yields an answer for
        each, in their order; each is kept as it comes. Requests and answers are mappings that JSON can hold.
        InputError when `ask` yields fewer or more, or when the answers cannot be kept.
        """
        keys = [key_of(request) for request in requests]
        with closing(self._opened()) as database:
            known = self._known(database)
            missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in known}
            waiting = iter(missing)
            for done, answer in enumerate(ask(list(missing.values())) if missing else (), start=1):
                key = next(waiting, None)
                if key is None:
                    raise InputError(f"more answers came back than the {len(missing)} asked for")
                text = json.dumps(answer, ensure_ascii=False, sort_keys=True)
                with self._said(), database:
                    database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, text))
                known[key] = json.loads(text)
                progress("asking", len(requests) - len(missing) + done, len(requests))
        if (left := sum(1 for key in missing if key not in known)) > 0:
            raise InputError(f"{left} of {len(missing)} requests were not answered; what came back is kept")
        return [known[key] for key in keys]

    def _opened(self) -> sqlite3.Connection:
        with self._said():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=WAIT)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)")
        return database

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Say in one line what the disk or the database refuses."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{self.path}: answers cannot be kept ({error}); $EQUIVIEW_CACHE names another folder"
            ) from None

    @staticmethod
    def _known(database: sqlite3.Connection) -> dict[str, Answer]:
        rows = database.execute("SELECT key, answer FROM answers")
        return {key: json.loads(answer) for key, answer in rows}


def key_of(request: Request) -> str:
    """What a request is known by: the order of its fields does not matter.

    >>> key_of({"prompt": "?", "language": "sw"}) == key_of({"language": "sw", "prompt": "?"})
    True
    """
    return fingerprint(json.dumps(request, ensure_ascii=False, sort_keys=True))
