"""Student's interval of a mean of few values."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import student_interval


def test_it_is_scipy_s() -> None:
    values = np.random.default_rng(0).normal(size=7)
    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.9)
    mean, low, high = student_interval(values, level=0.9)
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_equal_values_have_an_interval_without_width() -> None:
    assert student_interval([0.5, 0.5]) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([0.5], UndefinedStatisticError, "at least 2 values; got 1"),
        ([[0.5, 0.6]], StatsInputError, "shape"),
        ([0.5, np.nan], StatsInputError, "not finite"),
    ],
)
def test_what_has_no_interval_is_refused(values, error, message) -> None:
    with pytest.raises(error, match=message):
        student_interval(values)
