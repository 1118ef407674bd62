"""The engine in use, and the engine that a name stands for."""

import contextlib

import pytest

from equiview.engine import Engine, Local, current, opened, using
from equiview.errors import InputError
from tests.store.counting import Counting, many


def times(part, factor):
    return part * factor


def test_parts_are_done_in_order_and_not_before_they_are_asked_for():
    taken = []
    parts = (taken.append(part) or part for part in (3, 1, 2))
    results = Local().map(times, parts, shared=(10,))
    assert taken == []
    assert next(results) == 30
    assert taken == [3]
    assert list(results) == [10, 20]


def test_what_is_started_is_started_once():
    started = []

    def start(name):
        started.append(name)
        return 5

    assert list(Local().map(times, [1, 2], shared=("model",), start=start)) == [5, 10]
    assert started == ["model"]


def test_an_engine_is_in_use_within_and_not_after_even_if_something_fails():
    outer, inner = Local(), Local()
    before = current()
    with using(outer):
        with contextlib.suppress(ZeroDivisionError), using(inner):
            assert current() is inner
            raise ZeroDivisionError
        assert current() is outer
    assert current() is before


@pytest.mark.parametrize("name", ["rays", "ray:", "local:here", "", "spark"])
def test_a_name_of_no_engine_says_which_there_are(name):
    with pytest.raises(InputError, match="known: local, ray, ray:ADDRESS"), opened(name):
        pass


class Unasked(Engine):
    """An engine of which nobody may ask anything."""

    workers = room = 1

    def map(self, *given, **named):
        raise AssertionError


def test_a_service_is_asked_by_this_process_alone(monkeypatch):
    model, items = Counting(), many(7)
    here = model.embed(items)
    monkeypatch.setattr(Counting, "computes", False)
    with using(Unasked()):
        assert model.embed(items).tobytes() == here.tobytes()
