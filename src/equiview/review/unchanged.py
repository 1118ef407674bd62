"""What people judged stays as it was: their answers are about what they were shown and asked."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_bytes, hash_files
from equiview.review.database import RESTORE
from equiview.review.layout import DATABASE, ReviewItem, ReviewSettings

NAMED = 5
"""Changed items that a message names after the first."""


def content_keys(items: Sequence[ReviewItem]) -> dict[str, str]:
    """By id, a fingerprint of each item's texts and one of its picture, as `TEXTS:PICTURE`.

    >>> dog = ReviewItem(id="a")
    >>> content_keys([dog])["a"] == content_keys([dog.model_copy(update={"id": "b", "group": "dogs"})])["b"]
    True
    >>> content_keys([dog]) == content_keys([dog.model_copy(update={"picture": b"woof"})])
    False
    """
    files = [str(item.picture) for item in items if isinstance(item.picture, Path)]
    hashes = dict(zip(files, hash_files(files), strict=True))
    keys = {}
    for item in items:
        given = item.picture
        picture = hash_bytes(given) if isinstance(given, bytes) else hashes.get(str(given), b"")
        if isinstance(picture, OSError):
            raise InputError(f"item {item.id!r}: its picture cannot be read ({picture.strerror or picture})")
        texts = json.dumps([text.model_dump() for text in item.fields])
        keys[item.id] = f"{fingerprint(texts)}:{picture.hex()}"
    return keys


def asked(settings: ReviewSettings) -> dict[str, str]:
    """What people are asked, as facts of the database: ids with choices, and the words around them."""
    questions = settings.questions
    words = [settings.instructions, *([question.text, question.required] for question in questions)]
    return {
        "questions": json.dumps([[question.id, question.choices] for question in questions]),
        "words": json.dumps(words),
    }


def check_unchanged(
    folder: Path,
    connection: sqlite3.Connection,
    settings: ReviewSettings,
    items: Sequence[ReviewItem],
    keys: Mapping[str, str],
) -> None:
    """InputError where anybody judged, and what was asked or an item that was judged is not as it was then.

    `keys` has the fingerprints of `items`. Earlier databases know no words of questions.
    """
    if connection.execute("SELECT 1 FROM votes LIMIT 1").fetchone() is None:
        return
    stored = dict(connection.execute("SELECT name, value FROM facts").fetchall())
    for name, value in asked(settings).items():
        if stored.get(name, value) != value:
            what = "questions or choices" if name == "questions" else "instructions or words of questions"
            which = _differing(stored[name], value, [] if name == "questions" else ["instructions"], settings)
            raise InputError(
                f"{folder}: {what} in review.json were changed after people had answered{which}; restore "
                "them, or write the review to another folder"
            )
    for number, answers in connection.execute("SELECT number, answers FROM votes"):
        if not _could_be_given(answers, settings):
            raise InputError(f"{folder / DATABASE}: vote {number} is damaged; {RESTORE}")
    rows = connection.execute("SELECT * FROM items WHERE number IN (SELECT item FROM votes) ORDER BY number")
    changed = [(row["id"], what) for row, what in _changes(rows, items, keys)]
    if changed:
        (first, how), *others = changed
        verb, part = ("removed", "") if how == "removed" else ("changed", f" ({how})")
        also = ", ".join(f"{name!r} ({what})" for name, what in others[:NAMED])
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise InputError(
            f"{folder}: item {first!r} was {verb} after people had judged it{part}"
            f"{'; also ' * bool(others)}{also}{more}; restore what people judged, or write the review to "
            "another folder, where all is judged anew"
        )


def _differing(before: str, now: str, first: list[str], settings: ReviewSettings) -> str:
    """Which parts of a fact differ, in brackets; empty where that cannot be told."""
    names = [*first, *(question.id for question in settings.questions)]
    found: list[str] = []
    with suppress(ValueError, TypeError):
        parts = zip(names, json.loads(before), json.loads(now), strict=False)
        found = [name for name, old, new in parts if old != new]
    return f" ({', '.join(found)})" if found else ""


def _could_be_given(answers: object, settings: ReviewSettings) -> bool:
    try:
        given = json.loads(answers) if isinstance(answers, str) else None
    except (ValueError, RecursionError):
        given = None
    choices = {question.id: question.choices for question in settings.questions}
    return isinstance(given, dict) and all(value in choices.get(name, ()) for name, value in given.items())


def _changes(
    rows: Iterator[sqlite3.Row], items: Sequence[ReviewItem], keys: Mapping[str, str]
) -> Iterator[tuple[sqlite3.Row, str]]:
    by_id = {item.id: item for item in items}
    for row in rows:
        item, before = by_id.get(row["id"]), row["content_hash"]
        if item is None:
            yield row, "removed"
        elif ":" not in before and before != _former_hash(item):
            yield row, "texts or picture"
        elif ":" in before and before != keys[item.id]:
            same_texts = before.partition(":")[0] == keys[item.id].partition(":")[0]
            yield row, "picture" if same_texts else "texts"
        elif row["grouping"] != item.group:
            yield row, "group"


def _former_hash(item: ReviewItem) -> str:
    """What earlier databases hold of an item: of its picture, only name and size."""
    picture = item.picture
    seen = [picture.name, picture.stat().st_size] if isinstance(picture, Path) else []
    text = item.model_dump_json(exclude={"picture", "group"}) + json.dumps(seen)
    return hashlib.sha256(text.encode()).hexdigest()
