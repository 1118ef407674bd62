"""Judgements in the database: recorded once, never changed; the latest of a person and item counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from equiview.errors import InputError
from equiview.review.database import Database
from equiview.review.decisions import Opinion, decide, disputed
from equiview.review.layout import Question, ReviewSettings
from equiview.review.people import Person

LATEST = """SELECT votes.item, people.pseudonym, people.role, votes.answers, votes.time, MAX(votes.number)
FROM votes JOIN people ON people.number = votes.person"""
BY_REVIEWERS = """SELECT COUNT(DISTINCT votes.person) FROM votes JOIN people ON people.number = votes.person
WHERE people.role = 'reviewer' AND votes.item = """


def record(
    database: Database,
    settings: ReviewSettings,
    person: Person,
    *,
    vote: str,
    item: int,
    answers: Mapping[str, str],
) -> None:
    """Record a judgement; it is on disk when this returns.

    `vote` is an id from the page: a judgement sent twice is recorded once. InputError for an unknown item, an
    unknown or missing answer, and an id of another judgement.
    """
    with database.transaction() as connection:
        written = json.dumps(answers, ensure_ascii=False, sort_keys=True)
        known = connection.execute("SELECT person, item, answers FROM votes WHERE id = ?", (vote,)).fetchone()
        if known:
            if tuple(known) != (person.number, item, written):
                raise InputError("this judgement's id is that of another one; load the page again")
            return
        if connection.execute("SELECT 1 FROM items WHERE number = ?", (item,)).fetchone() is None:
            raise InputError("there is no such item; load the page again")
        check_answers(_asked(connection, settings, person, item), answers)
        connection.execute(
            "INSERT INTO votes (id, person, item, answers, time) VALUES (?, ?, ?, ?, ?)",
            (vote, person.number, item, written, datetime.now(UTC).isoformat(timespec="milliseconds")),
        )
        _settle(connection, settings, person, item)


def check_answers(questions: Iterable[Question], answers: Mapping[str, str]) -> None:
    """InputError unless every required question has an answer, and every answer is one of its choices."""
    by_id = {question.id: question for question in questions}
    for name, value in answers.items():
        if name not in by_id:
            raise InputError(f"no question {name!r} is asked of this item; load the page again")
        if value not in by_id[name].choices:
            raise InputError(f"{value!r} is no answer to the question {name!r}; load the page again")
    if missing := [name for name, question in by_id.items() if question.required and name not in answers]:
        raise InputError(f"not answered yet: {', '.join(missing)}")


def opinions_on(connection: sqlite3.Connection, item: int) -> list[Opinion]:
    """The latest judgement of an item by each person, in the order of the people."""
    rows = connection.execute(
        f"{LATEST} WHERE votes.item = ? GROUP BY votes.person ORDER BY votes.person", (item,)
    )
    return [_opinion(row) for row in rows]


def all_opinions(connection: sqlite3.Connection) -> dict[int, list[Opinion]]:
    """The latest judgement of each item by each person, by item; items without judgements are absent."""
    opinions: dict[int, list[Opinion]] = {}
    query = f"{LATEST} GROUP BY votes.item, votes.person ORDER BY votes.item, votes.person"
    for row in connection.execute(query):
        opinions.setdefault(row["item"], []).append(_opinion(row))
    return opinions


def judged_before(connection: sqlite3.Connection, person: Person, item: int | None) -> int | None:
    """The item judged before `item`, or the last one where `item` has no judgement; None without any."""
    last = connection.execute(
        "SELECT MAX(number) FROM votes WHERE person = ? AND item = ?", (person.number, item)
    ).fetchone()[0]
    row = connection.execute(
        """SELECT item FROM votes WHERE person = ? AND number < ? AND NOT EXISTS (
        SELECT 1 FROM votes AS later WHERE later.item = votes.item AND later.person = votes.person
        AND later.number > votes.number) ORDER BY number DESC LIMIT 1""",
        (person.number, 2**62 if last is None else last),
    ).fetchone()
    return None if row is None else int(row["item"])


def judged_by(connection: sqlite3.Connection, person: Person) -> int:
    """How many items a person has judged."""
    query = "SELECT COUNT(DISTINCT item) FROM votes WHERE person = ?"
    return int(connection.execute(query, (person.number,)).fetchone()[0])


def next_dispute(connection: sqlite3.Connection) -> int | None:
    """The first item with an open dispute; None without one."""
    row = connection.execute("SELECT MIN(item) FROM disputes").fetchone()
    return None if row[0] is None else int(row[0])


def find_disputes(connection: sqlite3.Connection, settings: ReviewSettings) -> None:
    """Rebuild the list of disputes from all votes."""
    connection.execute("DELETE FROM disputes")
    for item, opinions in all_opinions(connection).items():
        if disputed(decide(opinions, settings)):
            connection.execute("INSERT INTO disputes VALUES (?)", (item,))


def _asked(
    connection: sqlite3.Connection, settings: ReviewSettings, person: Person, item: int
) -> Sequence[Question]:
    """The questions that a person may answer; an adjudicator, those that are or were disputed."""
    if person.role == "reviewer":
        return settings.questions
    if person.role != "adjudicator":
        raise InputError("a coordinator judges nothing; use a reviewer's link")
    return contested(opinions_on(connection, item), settings)


def contested(opinions: Iterable[Opinion], settings: ReviewSettings) -> list[Question]:
    """The questions that reviewers answered differently, decided since or not."""
    unruled = [opinion for opinion in opinions if opinion.role == "reviewer"]
    open_questions = disputed(decide(unruled, settings))
    return [
        question.model_copy(update={"required": True})
        for question in settings.questions
        if question.id in open_questions
    ]


def _settle(connection: sqlite3.Connection, settings: ReviewSettings, person: Person, item: int) -> None:
    """Update `todo` and `disputes` after a new judgement."""
    connection.execute("DELETE FROM todo WHERE person = ? AND item = ?", (person.number, item))
    opinions = opinions_on(connection, item)
    if sum(opinion.role == "reviewer" for opinion in opinions) >= settings.people_per_item:
        connection.execute("DELETE FROM todo WHERE item = ?", (item,))
    connection.execute("DELETE FROM disputes WHERE item = ?", (item,))
    if disputed(decide(opinions, settings)):
        connection.execute("INSERT INTO disputes VALUES (?)", (item,))


def _opinion(row: sqlite3.Row) -> Opinion:
    return Opinion(row["pseudonym"], row["role"], json.loads(row["answers"]), row["time"])
