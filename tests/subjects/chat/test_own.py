"""Answerers of one's own that fail, or yield something else: their class and line are named."""

from __future__ import annotations

import pytest

from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import Answerer

REQUESTS = [Request(f"q{row}", "?", "en") for row in range(3)]


def answerer(replies):
    """A model of which `replies(requests)` is called."""

    class Mine(Answerer):
        name = "mine"

        def replies(self, requests, images, progress):
            return replies(requests)

    return Mine()


def broken(requests):
    yield 0, Reply("a")
    raise ValueError("no such word")


def leaves(requests):
    yield 0, Reply("a")
    raise SystemExit(3)


async def later(requests):
    yield 0, Reply("a")


def pairs(*given):
    return lambda requests: iter(given)


A = Reply("a")
ODD = {
    "raises": (broken, r"Mine: replies failed with ValueError: no such word \(test_own.py, line \d+\)"),
    "exits": (leaves, r"Mine: replies failed with SystemExit: 3 \(test_own.py, line \d+\)"),
    "gives nothing": (lambda requests: None, "Mine: replies failed with TypeError"),
    "gives a number": (lambda requests: 3, "Mine: replies failed with TypeError"),
    "is async": (later, "Mine: replies failed with TypeError"),
    "yields replies": (
        pairs(A, A, A),
        r"Mine: replies yielded Reply.*expected \(place of the request, Reply\)",
    ),
    "yields texts": (pairs((0, "a")), r"Mine: replies yielded \(0, 'a'\)"),
    "yields three things": (pairs((0, A, 1)), "Mine: replies yielded"),
    "yields nothing": (pairs(None), "Mine: replies yielded None"),
    "a negative place": (pairs((-1, A)), "the place -1 of 3 requests; they count from 0"),
    "a place beyond": (pairs((3, A)), "the place 3 of 3 requests"),
    "a place of a word": (pairs(("q0", A)), "the place 'q0' of 3 requests"),
    "a place that is true": (pairs((True, A)), "the place True of 3 requests"),
    "a place of a fraction": (pairs((0.5, A)), "the place 0.5 of 3 requests"),
    "a place twice": (pairs((0, A), (0, A)), "two replies to request 0"),
    "a text that is none": (pairs((0, Reply(None))), "whose text is None"),  # type: ignore[arg-type]
    "a text of bytes": (pairs((0, Reply(b"a"))), "whose text is b'a'"),  # type: ignore[arg-type]
    "too few": (pairs((0, A)), "2 of 3 requests have no answer"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_said_with_class_and_line(kind):
    replies, said = ODD[kind]
    with pytest.raises(InputError, match=said) as error:
        answerer(replies).ask(REQUESTS)
    assert "\n" not in str(error.value)


def test_half_a_letter_is_replaced():
    replies = answerer(pairs(*((row, Reply("a\ud83d")) for row in range(3)))).ask(REQUESTS)
    assert [reply.text for reply in replies] == ["a\ufffd"] * 3


def test_whoever_stops_listening_is_no_failure():
    checked = answerer(pairs((2, A), (0, A))).checked(REQUESTS, None, silent)
    assert next(checked) == (2, A)
    checked.close()
