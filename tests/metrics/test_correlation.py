import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import pearson, spearman

values = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=20)


def test_by_hand() -> None:
    assert pearson([0, 1, 2], [0, 2, 4]) == 1
    assert pearson([0, 1, 2], [4, 2, 0]) == -1
    assert spearman([1, 2, 3, 4], [1, 4, 9, 16]) == 1
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))


@given(values)
def test_agreement_with_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(pearson(y, 3 * x + 1), abs=1e-12)
    assert spearman(x, y) == pytest.approx(spearman(x**3, y), abs=1e-12)


def test_large_values_do_not_overflow() -> None:
    assert pearson([0, 1e200, 2e200], [0, 1e-200, 2e-200]) == pytest.approx(1)


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_bad_input_is_named(correlate) -> None:
    with pytest.raises(UndefinedMetricError, match="at least 2 pairs"):
        correlate([1], [1])
    with pytest.raises(UndefinedMetricError, match="y is constant"):
        correlate([1, 2], [3, 3])
    with pytest.raises(MetricInputError, match="both have shape"):
        correlate([1, 2], [3])
