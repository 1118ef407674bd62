"""Work ahead keeps its order and its errors, and ends quietly when nobody wants the rest."""

import threading

import pytest

from equiview.io.ahead import ahead


def test_results_come_in_order_and_errors_where_their_result_would():
    def compute(number):
        if number == 3:
            raise ValueError("three")
        return number * 10

    results = ahead(compute, range(6), depth=2)
    assert [next(results), next(results), next(results)] == [0, 10, 20]
    with pytest.raises(ValueError, match="three"):
        next(results)


def test_an_error_of_the_items_costs_nothing_that_came_before_it():
    def items():
        yield from (1, 2, 3)
        raise ValueError("no more")

    results = ahead(str, items(), depth=2)
    assert [next(results), next(results), next(results)] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="no more"):
        next(results)


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
