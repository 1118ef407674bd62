"""A model with a store is asked nothing twice: an error, another order, a kill or a second process."""

import os
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.store import Answers, Store, StoredAnswerer, stored_answers
from equiview.subjects import Answerer, load_subject
from equiview.subjects.budget import Budget
from tests.chat_server import chat_server, environment
from tests.processes import fresh, start

REQUESTS = [Request(f"{number}:en", f"{number} + 1?", "en") for number in range(6)]


class Backwards(Answerer):
    """Answers the last request first, and turns a prompt round; fails at prompts that it is told to."""

    def __init__(self, fails=()):
        super().__init__()
        self.fails, self.asked = fails, []

    @property
    def fingerprint(self):
        return "backwards"

    def replies(self, requests, images, progress):
        for place in reversed(range(len(requests))):
            request = requests[place]
            self.asked.append(request.prompt)
            if request.prompt not in self.fails:
                yield place, Reply(request.prompt[::-1], cost=1.0)
        if self.fails:
            raise InputError(f"{len(self.fails)} failed")


def kept(inner, folder):
    return StoredAnswerer(inner, Answers(inner.fingerprint, folder))


def test_replies_stand_in_the_order_of_the_requests_and_are_asked_once(tmp_path):
    inner = Backwards()
    model = kept(inner, tmp_path)
    first = model.ask(REQUESTS[:3])
    second = model.ask([REQUESTS[4], REQUESTS[1], REQUESTS[0]])
    assert [reply.text for reply in first] == ["?1 + 0", "?1 + 1", "?1 + 2"]
    assert [reply.text for reply in second] == ["?1 + 4", "?1 + 1", "?1 + 0"]
    assert Counter(inner.asked) == Counter(request.prompt for request in (*REQUESTS[:3], REQUESTS[4]))
    assert model.kept(REQUESTS, None) == 4


def test_requests_that_ask_the_same_are_asked_once_whatever_their_ids(tmp_path):
    inner = Backwards()
    replies = kept(inner, tmp_path).ask([REQUESTS[0], replace(REQUESTS[0], id="again"), REQUESTS[1]])
    assert [reply.text for reply in replies] == ["?1 + 0", "?1 + 0", "?1 + 1"]
    assert len(inner.asked) == 2


def test_the_same_words_about_another_picture_are_another_request(tmp_path):
    inner = Backwards()
    model = kept(inner, tmp_path)
    about = [replace(REQUESTS[0], id=str(row), image=row) for row in range(3)]
    pictures = pl.DataFrame({"id": ["a", "b", "c"], "picture": [b"one", b"two", b"one"]})
    model.ask(about, Items("image", pictures))
    assert len(inner.asked) == 2
    other = pictures.with_columns(picture=pl.Series([b"one", b"three", b"four"]))
    assert model.kept(about, Items("image", other)) == 1
    with pytest.raises(InputError, match="no images"):
        model.ask(about)
    missing = Items("image", pl.DataFrame({"id": ["a", "b", "c"], "path": ["x", "no.png", "y"]}))
    with pytest.raises(InputError, match="row 1: picture of 'a' cannot be read"):
        model.ask(about, missing)


def test_what_came_before_an_error_is_kept_and_the_error_says_so(tmp_path):
    with pytest.raises(InputError, match="1 failed; every answer that came is kept"):
        kept(Backwards(["2 + 1?"]), tmp_path).ask(REQUESTS)
    again = Backwards()
    kept(again, tmp_path).ask(REQUESTS)
    assert again.asked == ["2 + 1?"]


def test_a_generator_that_is_left_has_kept_what_it_gave(tmp_path):
    replies = kept(Backwards(), tmp_path).replies(REQUESTS, None, silent)
    assert next(replies) == (5, Reply("?1 + 5", cost=1.0))
    replies.close()
    assert kept(Backwards(), tmp_path).kept(REQUESTS, None) == 1


def test_it_says_what_the_model_says_and_shares_its_budget(tmp_path):
    inner = Backwards()
    inner.name = "chat:backwards"
    model = kept(inner, tmp_path)
    assert (model.name, model.fingerprint, model.about) == (inner.name, inner.fingerprint, inner.about)
    model.budget = budget = Budget(3.0)
    assert inner.budget is budget
    assert stored_answers(model) is model


def test_answers_of_a_model_that_does_not_say_what_it_is_are_not_kept(caplog):
    class Nameless(Backwards):
        fingerprint = Answerer.fingerprint

    class Ready(Backwards):
        looks_up = True

    nameless, ready = Nameless(), Ready()
    assert stored_answers(nameless) is nameless
    assert "declares no `fingerprint`" in caplog.text
    assert stored_answers(ready) is ready


SCRIPT = """
import sys
from equiview.data.requests import Request
from equiview.store import stored_answers
from equiview.subjects import load_subject

requests = [Request(f"{number}:en", f"question {number}?", "en") for number in range(60)]
for reply in stored_answers(load_subject(sys.argv[1])).ask(requests):
    print(reply.text)
"""


def test_a_killed_process_asks_a_real_service_nothing_twice(tmp_path):
    connections = 4
    with chat_server(lambda prompt, pictures, model: prompt.upper()) as server:
        server.delay = 0.01
        subject = server.subject(options=f"connections={connections}")
        places = {"EQUIVIEW_CACHE": str(tmp_path), "INSPECT_LOG_DIR": str(tmp_path / "logs")}
        environ = os.environ | environment(server.url) | places
        for wanted in (10, 35):
            process = start(SCRIPT, [subject], tmp_path, environment=environ)
            server.wait_for(wanted)
            process.kill()
            process.join()
        finished = fresh(SCRIPT, [subject], environment=environ)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines() == [f"QUESTION {number}?" for number in range(60)]
    times = Counter(server.prompts)
    assert len(times) == 60
    # Only what was under way, and the answer that was being kept, may be asked again after each of two kills.
    assert sum(times.values()) <= 60 + 2 * (connections + 1)
    assert load_subject(subject).fingerprint == load_subject(subject + ",retries=3,timeout=9").fingerprint


def test_of_an_encoder_that_chooses_the_vectors_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path))
    subject = stored_answers(load_subject("choice:pictogram:aligned,template={option}"))
    images = load_benchmark("pictograms").images.take([0, 1])
    requests = [Request(f"q{row}", "", "en", row, "What is it?", ("a cat", "a tree")) for row in (0, 1)]
    first = subject.ask(requests, images)
    assert not (tmp_path / "answers").exists()
    assert Store().contents()["vectors"].sum() == 4  # two pictures, two options
    assert subject.ask(requests, images) == first
