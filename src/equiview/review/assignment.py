"""Which item each person judges next.

Every item is planned for as many people as it needs, in equal shares and with mixed groups of people. A
person judges their own share first, in a random order, and then what others have left, so that people who
leave do not block the rest. An item on somebody's screen is reserved for a while.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np

from equiview.data.seeds import seed_for
from equiview.review.database import Database
from equiview.review.layout import ReviewSettings
from equiview.review.people import Person
from equiview.review.votes import BY_REVIEWERS

VOTERS = """SELECT DISTINCT votes.item, votes.person FROM votes JOIN people ON people.number = votes.person
WHERE people.role = 'reviewer'"""


def plan(connection: sqlite3.Connection, settings: ReviewSettings, reviewers: Sequence[Person]) -> None:
    """Rebuild everybody's list of items to judge, from all items and votes."""
    items = [row["number"] for row in connection.execute("SELECT number FROM items ORDER BY number")]
    voters: dict[int, set[int]] = {item: set() for item in items}
    for row in connection.execute(VOTERS):
        voters[row["item"]].add(row["person"])
    shares = _shares(items, voters, [person.number for person in reviewers], settings)
    wanting = {item for item in items if len(voters[item]) < settings.people_per_item}
    connection.execute("DELETE FROM todo")
    for person in reviewers:
        rng = np.random.default_rng(seed_for(settings.seed, f"review.order.{person.pseudonym}"))
        places = rng.permutation(len(items)).tolist()
        rows = [
            (person.number, place if person.number in shares[item] else len(items) + place, item)
            for item, place in zip(items, places, strict=True)
            if item in wanting and person.number not in voters[item]
        ]
        connection.executemany("INSERT INTO todo VALUES (?, ?, ?)", sorted(rows))


def _shares(
    items: Sequence[int],
    voters: dict[int, set[int]],
    reviewers: Sequence[int],
    settings: ReviewSettings,
) -> dict[int, set[int]]:
    """The people planned for each item: those who judged it, then those with the fewest items."""
    rng = np.random.default_rng(seed_for(settings.seed, "review.plan"))
    judged = Counter(person for people in voters.values() for person in people)
    load = np.array([judged[person] for person in reviewers])
    shares: dict[int, set[int]] = {}
    for index in rng.permutation(len(items)):
        people = voters[items[index]]
        ties = rng.random(len(reviewers))
        order = [i for i in np.lexsort((ties, load)) if reviewers[i] not in people]
        chosen = order[: max(0, settings.people_per_item - len(people))]
        load[chosen] += 1
        shares[items[index]] = people | {reviewers[i] for i in chosen}
    return shares


class Assignment:
    """Assigns items. Which are open on screens is kept in memory, and forgotten at a restart."""

    def __init__(
        self, database: Database, settings: ReviewSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._open: dict[int, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def next_item(self, person: Person) -> int | None:
        """The next item of `person`: the one open already, or the first free one of their list.

        None where their list is empty, or its rest is open on others' screens.
        """
        with self._lock:
            now = self._clock()
            item = self._opened_by(person) or self._first_free(person, now)
            if item is not None:
                self._open[person.number] = (item, now + 60 * self._settings.lease_minutes)
            return item

    def release(self, person: Person, item: int) -> None:
        """Note that an item is no longer open on a person's screen."""
        with self._lock:
            if self._open.get(person.number, (None,))[0] == item:
                del self._open[person.number]

    def left(self, person: Person) -> tuple[int, int]:
        """How many items are left of a person's own share, and of others'."""
        row = self._database.connection.execute(
            """SELECT COALESCE(SUM(place < (SELECT COUNT(*) FROM items)), 0), COUNT(*)
            FROM todo WHERE person = ?""",
            (person.number,),
        ).fetchone()
        return int(row[0]), int(row[1] - row[0])

    def _opened_by(self, person: Person) -> int | None:
        item, _ = self._open.get(person.number, (None, 0.0))
        query = "SELECT item FROM todo WHERE person = ? AND item = ?"
        row = self._database.connection.execute(query, (person.number, item)).fetchone()
        return None if row is None else int(row["item"])

    def _first_free(self, person: Person, now: float) -> int | None:
        query = f"SELECT item, ({BY_REVIEWERS} todo.item) FROM todo WHERE person = ? ORDER BY place"
        with closing(self._database.connection.execute(query, (person.number,))) as rows:
            for item, voters in rows:
                others = sum(
                    opened == item and until > now and number != person.number
                    for number, (opened, until) in self._open.items()
                )
                if voters + others < self._settings.people_per_item:
                    return int(item)
        return None
