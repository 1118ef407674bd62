"""A server that is killed loses nothing that it has said it has, and keeps nothing twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from itertools import count
from pathlib import Path

import httpx

from tests.review.reviews import QUESTIONS, Client, Server, serving, write

KILLS = 50
PEOPLE = 20
BETWEEN = 6
"""Judgements that must have been kept between two kills."""


class Reviewers:
    """People in threads who judge as fast as they can, sending each judgement until it is kept."""

    def __init__(self, server: Server) -> None:
        self.sent: dict[str, tuple[str, int, dict[str, str]]] = {}
        self.kept: list[str] = []
        self.failures: list[BaseException] = []
        self.up = threading.Event()
        self.up.set()
        self._news = threading.Condition()
        self._stopping = threading.Event()
        self._numbers = count()
        self._threads = [
            threading.Thread(target=self._judge, args=(Client(server, f"reviewer-{n}"),))
            for n in range(1, PEOPLE + 1)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for(self, kept: int) -> None:
        """Wait until so many judgements are kept in all."""
        with self._news:
            self._news.wait_for(lambda: len(self.kept) >= kept or self.failures, timeout=600)
        assert not self.failures
        assert len(self.kept) >= kept

    def stop(self) -> None:
        self._stopping.set()
        self.up.set()
        for thread in self._threads:
            thread.join()

    def _judge(self, client: Client) -> None:
        try:
            with client:
                for turn in count():
                    item = self._insist(client.item)
                    if self._stopping.is_set() or item is None:
                        return
                    number = next(self._numbers)
                    vote, answers = f"{number:032x}", answers_of(turn + number)
                    self.sent[vote] = (client.who, item, answers)
                    self._insist(lambda: client.vote(item, answers, vote).raise_for_status())  # noqa: B023
                    with self._news:
                        self.kept.append(vote)
                        self._news.notify_all()
        except BaseException as error:
            self.failures.append(error)

    def _insist(self, action):  # type: ignore[no-untyped-def]
        """What an action returns, once there is a server that answers it."""
        while True:
            try:
                return action()
            except httpx.TransportError:
                self.up.wait()


def answers_of(number: int) -> dict[str, str]:
    """Different answers each time."""
    return {question.id: question.choices[number % len(question.choices)] for question in QUESTIONS}


def test_no_judgement_is_lost_in_50_kills_under_20_reviewers(tmp_path: Path) -> None:
    folder = write(tmp_path, 300, people_per_item=PEOPLE, reviewers=PEOPLE)
    with serving(folder) as server:
        people = Reviewers(server)
        try:
            for _ in range(KILLS):
                people.wait_for(len(people.kept) + BETWEEN)
                people.up.clear()
                server.kill()
                server.start()
                people.up.set()
            people.wait_for(len(people.kept) + BETWEEN)
        finally:
            people.stop()
        assert not people.failures
    database = sqlite3.connect(folder / "review.sqlite")
    rows = database.execute("""SELECT votes.id, people.pseudonym, votes.item, votes.answers FROM votes
        JOIN people ON people.number = votes.person""").fetchall()
    sound = database.execute("PRAGMA integrity_check").fetchone()[0]
    database.close()
    assert sound == "ok"
    times = Counter(row[0] for row in rows)
    assert len(people.kept) >= KILLS * BETWEEN
    assert [times[vote] for vote in people.kept] == [1] * len(people.kept)
    held = {vote: (who, item, json.loads(answers)) for vote, who, item, answers in rows}
    assert held.items() <= people.sent.items()
    assert Counter((who, item) for who, item, _ in held.values()).most_common(1)[0][1] == 1
