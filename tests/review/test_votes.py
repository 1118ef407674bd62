"""Judgements: kept once, never lost, the latest counting; and what follows where people disagree."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

import pytest

from equiview.errors import InputError
from equiview.review.votes import (
    all_opinions,
    contested,
    judged_before,
    judged_by,
    next_dispute,
    opinions_on,
)
from tests.review.reviews import RIGHT, WRONG, judge, opened, reviewers, said, write


def test_the_same_judgement_sent_again_is_no_second_one(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        first, second, _ = reviewers(review)
        vote = uuid.uuid4().hex
        for _ in range(3):
            judge(review, first, 1, RIGHT, vote)
        count = "SELECT COUNT(*) FROM votes"
        assert review.database.connection.execute(count).fetchone()[0] == 1
        for person, item, answers in ((first, 1, WRONG), (first, 2, RIGHT), (second, 1, RIGHT)):
            with pytest.raises(InputError, match="that of another one"):
                judge(review, person, item, answers, vote)
        assert review.database.connection.execute(count).fetchone()[0] == 1


def test_a_changed_judgement_keeps_its_history(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        person = reviewers(review)[0]
        judge(review, person, 1, RIGHT)
        judge(review, person, 1, WRONG)
        assert said(review, 1) == {"reviewer-1": WRONG}
        assert all_opinions(review.database.connection)[1][0].answers == WRONG
        assert judged_by(review.database.connection, person) == 1
        kept = review.database.connection.execute("SELECT answers FROM votes ORDER BY number").fetchall()
        assert ['"yes"}' in row["answers"] for row in kept] == [True, False]


def test_the_database_refuses_to_forget(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        judge(review, reviewers(review)[0], 1, RIGHT)
        for change in ("DELETE FROM votes", "UPDATE votes SET answers = '{}'"):
            with pytest.raises(sqlite3.IntegrityError, match="a vote is never"):
                review.database.connection.execute(change)


def test_answers_are_checked(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        person = reviewers(review)[0]
        for answers, message in (
            ({"language": "yes"}, "not answered yet: relevance"),
            (RIGHT | {"relevance": "maybe"}, "'maybe' is no answer to the question 'relevance'"),
            (RIGHT | {"else": "yes"}, "no question 'else'"),
        ):
            with pytest.raises(InputError, match=message):
                judge(review, person, 1, answers)
        with pytest.raises(InputError, match="no such item"):
            judge(review, person, 99, RIGHT)
        with pytest.raises(InputError, match="a coordinator judges nothing"):
            judge(review, review.people["coordinator"], 1, RIGHT)
        judge(review, person, 1, RIGHT | {"note": "no"})


def test_going_back_leads_through_what_was_judged_latest_first(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        person, other, _ = reviewers(review)
        connection = review.database.connection
        assert judged_before(connection, person, 4) is None
        for item in (3, 1, 2, 1):
            judge(review, person, item, RIGHT)
            judge(review, other, 5, RIGHT)
        assert [judged_before(connection, person, item) for item in (None, 4, 1, 2, 3)] == [1, 1, 2, 3, None]


def test_disagreement_goes_to_the_adjudicator_whose_word_counts(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path) as review:
        connection = review.database.connection
        judges = review.people["adjudicator"]
        first, second, third = reviewers(review)
        judge(review, first, 1, RIGHT)
        judge(review, second, 1, WRONG)
        assert next_dispute(connection) is None  # one person is still to come
        judge(review, third, 1, RIGHT | {"note": "yes"})
        assert next_dispute(connection) == 1
        asked = contested(opinions_on(connection, 1), review.settings)
        assert [question.id for question in asked] == ["relevance"]
        with pytest.raises(InputError, match="no question 'language'"):
            judge(review, judges, 1, RIGHT)
        judge(review, judges, 1, {"relevance": "partly"})
        assert next_dispute(connection) is None
        judge(review, first, 1, {"language": "no", "relevance": "yes"})  # a new disagreement
        assert next_dispute(connection) == 1
        judge(review, judges, 1, {"language": "no", "relevance": "partly"})
        assert next_dispute(connection) is None
        with pytest.raises(InputError, match="no question"):
            judge(review, judges, 2, {"relevance": "yes"})


def test_disputes_are_found_again_at_the_next_start(tmp_path: Path) -> None:
    write(tmp_path, 2)
    with opened(tmp_path) as review:
        for person, answers in zip(reviewers(review), (RIGHT, WRONG, RIGHT), strict=True):
            judge(review, person, 2, answers)
    with opened(tmp_path) as review:
        assert next_dispute(review.database.connection) == 2
