"""Work ahead keeps its order and its errors, and ends quietly when nobody wants the rest."""

import threading

import pytest

from equiview.io.ahead import ahead


@pytest.mark.parametrize("in_turn", [False, True])
def test_results_come_in_order_and_errors_where_their_result_would(in_turn):
    def compute(number):
        if number == 3:
            raise ValueError("three")
        return number * 10

    results = ahead(compute, range(6), depth=2, in_turn=in_turn)
    assert [next(results), next(results), next(results)] == [0, 10, 20]
    with pytest.raises(ValueError, match="three"):
        next(results)


@pytest.mark.parametrize("in_turn", [False, True])
def test_an_error_of_the_items_costs_nothing_that_came_before_it(in_turn):
    def items():
        yield from (1, 2, 3)
        raise ValueError("no more")

    results = ahead(str, items(), depth=2, in_turn=in_turn)
    assert [next(results), next(results), next(results)] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="no more"):
        next(results)


def test_in_turn_all_that_was_begun_is_done_before_a_result_is_used():
    done = []

    def compute(number):
        done.append(number)
        return number

    counts = [(number, len(done)) for number in ahead(compute, range(7), depth=3, in_turn=True)]
    assert counts == [(0, 3), (1, 3), (2, 3), (3, 6), (4, 6), (5, 6), (6, 7)]


def test_one_left_before_its_end_may_be_collected_in_its_own_thread():
    left, go, done = [], threading.Event(), threading.Event()

    def compute(number):
        if number == 1:
            go.wait()
            left.clear()  # the last reference to the generator goes here, in one of its threads
            done.set()
        return number

    left.append(ahead(compute, range(9), depth=2))
    assert next(left[0]) == 0
    go.set()
    assert done.wait(30)
