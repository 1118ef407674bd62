import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import sign_flip_interval, sign_flip_test


def test_by_hand() -> None:
    # 1 2 4 have subset means 1 1.5 2 7/3 2.5 3 4 and 8 gaps; half the gaps lie between the 2nd and the 6th
    assert sign_flip_interval([4.0, 1, 2], level=0.5, seed=0) == (1.5, 3.0)
    assert sign_flip_interval([0.1] * 12, seed=0) == (0.1, 0.1)


@given(st.lists(st.integers(-5, 9), min_size=6, max_size=10))
def test_it_leaves_out_0_just_when_the_test_rejects_it(values: list[int]) -> None:
    low, high = sign_flip_interval(values, seed=0)
    assert (low > 0 or high < 0) == (float(sign_flip_test(values, seed=0)) <= 0.05)


def test_it_turns_and_moves_with_the_values() -> None:
    values = np.array([0.5, -1, 2, 3, 0.25, 7, 1, 1])
    low, high = sign_flip_interval(values, seed=0)
    assert sign_flip_interval(-values[::-1], seed=3) == (-high, -low)
    assert sign_flip_interval(values + 4, seed=0) == (low + 4, high + 4)


@pytest.mark.parametrize("n", [8, 30])
def test_it_holds_the_centre_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(400):
        low, high = sign_flip_interval(rng.laplace(0.3, 1, n), replicates=500, seed=seed)
        held += low < 0.3 < high
    assert 0.92 <= held / 400 <= 0.985


def test_bad_input_is_named() -> None:
    with pytest.raises(UndefinedStatisticError, match="empty"):
        sign_flip_interval([], seed=0)
    with pytest.raises(StatsInputError, match="not finite"):
        sign_flip_interval([1.0, np.inf], seed=0)
