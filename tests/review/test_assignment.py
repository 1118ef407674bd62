"""Who is asked about what: equal shares, different people, nobody held up, and quickly."""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from equiview.review.assignment import Assignment
from equiview.review.opening import Review
from equiview.review.people import Person
from tests.review.reviews import RIGHT, judge, opened, reviewers, said, write


def work(review: Review, people: list[Person], order: random.Random) -> dict[Person, list[int]]:
    """Let people judge, whoever is next, until there is nothing for any of them."""
    done: dict[Person, list[int]] = {person: [] for person in people}
    at_work = list(people)
    while at_work:
        person = order.choice(at_work)
        item = review.assignment.next_item(person)
        if item is None:
            at_work.remove(person)
        else:
            judge(review, person, item, RIGHT)
            done[person].append(item)
    return done


@pytest.mark.parametrize(("items", "people", "each"), [(40, 5, 3), (30, 3, 3), (11, 4, 1), (25, 9, 2)])
def test_every_item_gets_as_many_different_people_as_wanted(
    tmp_path: Path, items: int, people: int, each: int
) -> None:
    write(tmp_path, items, people_per_item=each, reviewers=people)
    with opened(tmp_path) as review:
        shares = [review.assignment.left(person)[0] for person in reviewers(review)]
        assert sum(shares) == items * each
        assert max(shares) - min(shares) <= 1
        work(review, reviewers(review), random.Random(0))
        assert all(len(said(review, item)) == each for item in review.items)


def test_people_who_work_alike_do_their_shares_and_everybody_meets_everybody(tmp_path: Path) -> None:
    write(tmp_path, 60, reviewers=5)
    with opened(tmp_path) as review:
        people = reviewers(review)
        shares = [review.assignment.left(person)[0] for person in people]
        for _ in range(max(shares)):
            for person in people:
                if review.assignment.left(person)[0]:
                    item = review.assignment.next_item(person)
                    assert item is not None
                    judge(review, person, item, RIGHT)
        assert all(len(said(review, item)) == 3 for item in review.items)
        pairs = Counter(pair for item in review.items for pair in combinations(sorted(said(review, item)), 2))
        assert len(pairs) == 10  # all of them


def test_who_leaves_holds_nobody_up(tmp_path: Path) -> None:
    write(tmp_path, 20, reviewers=5)
    with opened(tmp_path) as review:
        *stay, left, never = reviewers(review)
        assert review.assignment.next_item(left) is not None  # opens an item and goes away
        judge(review, never, 1, RIGHT)
        work(review, stay, random.Random(1))
    with opened(tmp_path) as review:  # what was open is free after a restart, or after the time for it
        work(review, stay, random.Random(2))
        assert all(len(said(review, item)) >= 3 for item in review.items)


def test_what_is_open_is_taken_until_its_time_is_over(tmp_path: Path) -> None:
    write(tmp_path, 1, people_per_item=1, reviewers=2, lease_minutes=10)
    with opened(tmp_path) as review:
        now = 0.0
        assignment = Assignment(review.database, review.settings, clock=lambda: now)
        first, second = reviewers(review)
        assert assignment.next_item(first) == 1
        assert assignment.next_item(first) == 1  # the same page again
        assert assignment.next_item(second) is None
        assert sum(assignment.left(second)) == 1  # so it is told to come back
        now = 601.0
        assert assignment.next_item(second) == 1
        judge(review, first, 1, RIGHT)  # too late, but no work is lost
        assert assignment.next_item(second) is None
        assert sum(assignment.left(second)) == 0


def test_orders_differ_by_person_and_seed_and_survive_a_restart(tmp_path: Path) -> None:
    def orders(folder: Path) -> list[list[int]]:
        with opened(folder) as review:
            query = "SELECT item FROM todo WHERE person = ? ORDER BY place"
            return [
                [row["item"] for row in review.database.connection.execute(query, (person.number,))]
                for person in reviewers(review)
            ]

    first = orders(write(tmp_path / "a", 30))
    assert len({tuple(order) for order in first}) == 3
    assert all(sorted(order) == list(range(1, 31)) for order in first)
    assert orders(tmp_path / "a") == first
    assert orders(write(tmp_path / "b", 30, seed=1)) != first


def test_people_who_come_later_get_equal_parts_of_what_is_left(tmp_path: Path) -> None:
    write(tmp_path, 40, people_per_item=2, reviewers=2)
    with opened(tmp_path) as review:
        for person in reviewers(review):
            for _ in range(10):
                item = review.assignment.next_item(person)
                assert item is not None
                judge(review, person, item, RIGHT)
    with opened(tmp_path, 4) as review:
        shares = [review.assignment.left(person)[0] for person in reviewers(review)]
        assert sum(shares) == 60
        for share, wanted in zip(shares, (10, 10, 20, 20), strict=True):
            assert abs(share - wanted) <= 2


def test_the_next_of_ten_thousand_items_comes_within_20_ms(tmp_path: Path) -> None:
    write(tmp_path, 10_000, reviewers=5)
    with opened(tmp_path) as review:
        people = reviewers(review)
        with review.database.transaction() as connection:  # two thirds of the work is done
            connection.executemany(
                "INSERT INTO votes (id, person, item, answers, time) VALUES (?, ?, ?, '{}', '')",
                [(f"{p.number}-{n}", p.number, n) for n in range(1, 7_000) for p in people[:3]],
            )
    with opened(tmp_path) as review:
        seconds = []
        for turn in range(50):
            person = people[turn % 5]
            began = time.process_time()
            item = review.assignment.next_item(person)
            seconds.append(time.process_time() - began)
            assert item is not None
            assert item >= 7_000
            judge(review, person, item, RIGHT)
        assert statistics.median(seconds) < 0.02
