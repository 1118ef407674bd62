import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_by_hand() -> None:
    # sorted .005 .01 .03 .04 times 4 3 2 1, each at least the one before
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7]).tolist() == [0.7]
    assert holm([0.6, 0.5]).tolist() == [1, 1]


@given(p_values, st.floats(0.001, 0.999))
def test_it_rejects_as_the_step_down_procedure_does(values: list[float], alpha: float) -> None:
    rejected = np.zeros(len(values), dtype=bool)
    for step, test in enumerate(np.argsort(values, kind="stable")):
        if values[test] * (len(values) - step) > alpha:
            break
        rejected[test] = True
    np.testing.assert_array_equal(holm(values) <= alpha, rejected)


@given(p_values, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    np.testing.assert_array_equal(holm(np.array(values)[order]), holm(values)[order])


@given(p_values)
def test_between_uncorrected_and_bonferroni(values: list[float]) -> None:
    adjusted, plain = holm(values), np.array(values)
    assert (adjusted >= plain).all()
    assert (adjusted <= np.minimum(plain * len(values), 1)).all()


def test_bad_input_is_named() -> None:
    with pytest.raises(UndefinedStatisticError, match="empty"):
        holm([])
    for bad in (np.nan, -0.1, 1.1):
        with pytest.raises(StatsInputError, match="test 1"):
            holm([0.5, bad])
    with pytest.raises(StatsInputError, match="shape"):
        holm([[0.5]])
