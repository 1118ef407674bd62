"""Who takes part, and their secret links.

The database keeps a hash of each token. The tokens themselves are in `links.json`, which only its owner may
read, so that starting again prints the same links. Without that file, links are made anew and the old ones
open nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from equiview.errors import InputError
from equiview.io.files import read_json
from equiview.review.database import Database
from equiview.review.layout import LINKS, MOST_PEOPLE, ReviewSettings, spelling

Role = Literal["coordinator", "adjudicator", "reviewer"]
BYTES = 24
"""Length of a token: too many bytes to guess."""


@dataclass(frozen=True)
class Person:
    """Somebody with a link. `name` is for the person who hands out the links, and is in no page or export."""

    number: int
    pseudonym: str
    role: Role
    name: str | None
    token_hash: bytes

    def has(self, token: str) -> bool:
        """Whether `token` is this person's, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(hashed(token), self.token_hash)


def hashed(token: str) -> bytes:
    """The hash of a token, which the database stores."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def csrf_of(token: str) -> str:
    """The token against cross-site requests, sent with every write besides the cookie."""
    return hmac.new(token.encode("utf-8", "surrogateescape"), b"csrf", hashlib.sha256).hexdigest()


def register(
    database: Database, folder: Path, settings: ReviewSettings, wanted: int | None
) -> list[tuple[Person, str]]:
    """All people with their tokens: the known ones, and new ones up to `wanted` reviewers.

    InputError when an item needs more people than there are, and for more than can take part.
    """
    names = settings.reviewers if isinstance(settings.reviewers, tuple) else ()
    count = settings.reviewers if isinstance(settings.reviewers, int) else len(names)
    count = wanted or count or settings.people_per_item
    if max(count, len(names)) > MOST_PEOPLE:
        raise InputError(
            f"{folder}: {max(count, len(names))} reviewers are more than one page is made for; at most "
            f"{MOST_PEOPLE} may take part"
        )
    tokens = _read_tokens(folder / LINKS)
    with database.transaction() as connection:
        for role in ("coordinator", "adjudicator"):
            _add(connection, role, role, None)
        rows = connection.execute("SELECT name FROM people WHERE name IS NOT NULL")
        known = {spelling(row["name"]) for row in rows}
        for name in filter(lambda name: spelling(name) not in known, names):
            _add(connection, f"reviewer-{_reviewers(connection) + 1}", "reviewer", name)
        while (there := _reviewers(connection)) < count:
            _add(connection, f"reviewer-{there + 1}", "reviewer", None)
        if there < settings.people_per_item:
            raise InputError(
                f"{folder}: {settings.people_per_item} people judge each item, but there are {there} "
                f"reviewers; start with --people {settings.people_per_item} or more"
            )
        for person in _all(connection):
            if not person.has(tokens.get(person.pseudonym, "")):
                tokens[person.pseudonym] = secrets.token_hex(BYTES)
                connection.execute(
                    "UPDATE people SET token_hash = ? WHERE number = ?",
                    (hashed(tokens[person.pseudonym]), person.number),
                )
        people = _all(connection)
        _write_tokens(folder / LINKS, {person.pseudonym: tokens[person.pseudonym] for person in people})
    return [(person, tokens[person.pseudonym]) for person in people]


def _add(connection: sqlite3.Connection, pseudonym: str, role: Role, name: str | None) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO people (pseudonym, role, name, token_hash) VALUES (?, ?, ?, ?)",
        (pseudonym, role, name, b""),
    )


def _reviewers(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM people WHERE role = 'reviewer'").fetchone()[0])


def _all(connection: sqlite3.Connection) -> Sequence[Person]:
    return [Person(*row) for row in connection.execute("SELECT * FROM people ORDER BY number")]


def _read_tokens(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    tokens = read_json(path)
    if not isinstance(tokens, dict) or not all(isinstance(token, str) for token in tokens.values()):
        raise InputError(f"{path}: holds no links; remove it, and new links are made")
    return tokens


def _write_tokens(path: Path, tokens: dict[str, str]) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    temporary = path.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(tokens, indent=1))
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
