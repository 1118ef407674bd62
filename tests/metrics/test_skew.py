"""Skew, MaxSkew, NDKL and KL between groups: literal cases, SciPy's entropy, and what must hold always."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import demographic_divergence, max_skew, ndkl, skew

LISTS = st.lists(st.integers(0, 2), min_size=1, max_size=20)
POOL = [0.5, 0.3, 0.2]


def test_a_group_shown_twice_as_often_as_it_is_there():
    # 8 of 10 results are men, who are 40% of the set.
    lists = [[0, 0, 0, 0, 1, 0, 0, 0, 1, 0]]
    np.testing.assert_allclose(skew(lists, [0.4, 0.6]), [[np.log(2), np.log(1 / 3)]])
    np.testing.assert_allclose(max_skew(lists, [0.4, 0.6]), [np.log(2)])


def test_a_list_like_the_set_has_no_skew():
    assert skew([[0, 1, 0, 1]], [0.5, 0.5]).tolist() == [[0, 0]]
    assert max_skew([[1, 0, 1, 0]], [0.5, 0.5]).tolist() == [0]


def test_ndkl_of_three_ranks_by_hand():
    # Tops: (1, 0), (1/2, 1/2), (2/3, 1/3); weights 1, .6309, .5.
    third = 2 / 3 * np.log(4 / 3) + 1 / 3 * np.log(2 / 3)
    weights = 1 / np.log2([2, 3, 4])
    expected = (weights[0] * np.log(2) + weights[2] * third) / weights.sum()
    np.testing.assert_allclose(ndkl([[0, 1, 0]], [0.5, 0.5]), [expected])


@given(LISTS)
def test_ndkl_is_a_weighted_mean_of_entropies(groups):
    ranks = range(1, len(groups) + 1)
    weights = 1 / np.log2(np.arange(2, len(groups) + 2))
    tops = [entropy(np.bincount(groups[:rank], minlength=3) / rank, POOL) for rank in ranks]
    np.testing.assert_allclose(ndkl([groups], POOL), [np.average(tops, weights=weights)], atol=1e-12)


@given(LISTS)
def test_order_matters_to_ndkl_alone(groups):
    lists = [groups, sorted(groups)]
    assert skew(lists, POOL)[0].tolist() == skew(lists, POOL)[1].tolist()
    assert max_skew(lists, POOL)[0] >= 0


@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=7).filter(any))
def test_divergence_is_the_entropy_against_equal_scores(scores):
    expected = entropy(scores, np.ones(len(scores)))
    assert demographic_divergence(scores) == pytest.approx(expected, abs=1e-12)


def test_divergence_hides_the_level():
    assert demographic_divergence([0.9, 0.45]) == pytest.approx(demographic_divergence([0.02, 0.01]))
    assert demographic_divergence([1.0, 0.0]) == pytest.approx(np.log(2))
    assert demographic_divergence([1e300, 1e300, 1e300]) == 0


def test_what_is_undefined_is_an_error():
    with pytest.raises(UndefinedMetricError, match="every score is 0"):
        demographic_divergence([0.0, 0.0])
    with pytest.raises(UndefinedMetricError, match="at least 2"):
        demographic_divergence([0.5])
    with pytest.raises(UndefinedMetricError, match="group 1 has no share"):
        skew([[0, 0]], [1.0, 0.0])
    with pytest.raises(UndefinedMetricError, match="at least 2"):
        max_skew([[0, 0]], [1.0])
    with pytest.raises(MetricInputError, match="sum to 1"):
        ndkl([[0, 1]], [0.5, 0.6])
    with pytest.raises(MetricInputError, match="not negative"):
        demographic_divergence([0.5, -0.5])
