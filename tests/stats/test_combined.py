import math

import pytest

from equiview.errors import UndefinedStatisticError
from equiview.stats import combined_interval


def test_one_estimate_keeps_its_interval() -> None:
    assert combined_interval([(1, (0.25, 0.125, 0.5))]) == (0.25, 0.125, 0.5)
    assert combined_interval([(-2, (0.25, 0.125, 0.5))]) == (-0.5, -1.0, -0.25)


def test_the_reach_of_a_difference_is_made_of_the_ends_that_face_away() -> None:
    value, low, high = combined_interval([(1, (10.0, 7.0, 15.0)), (-1, (4.0, 2.0, 8.0))])
    assert (value, low, high) == (6.0, 6.0 - 5.0, 6.0 + math.sqrt(25 + 4))


def test_an_estimate_without_an_interval_leaves_none() -> None:
    value, low, high = combined_interval([(1, (0.5, math.nan, math.nan)), (-1, (0.25, 0.2, 0.3))])
    assert value == 0.25
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_sum_of_nothing_is_an_error() -> None:
    with pytest.raises(UndefinedStatisticError, match="nothing"):
        combined_interval([])
