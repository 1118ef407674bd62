import numpy as np
import pytest

from equiview.data.relevance import Relevance
from equiview.errors import InputError


def test_relevance_from_both_sides():
    relevance = Relevance.from_pairs([0, 1, 1, 1], [2, 0, 1, 0], n_queries=2, n_items=3)
    assert relevance.counts.tolist() == [1, 2]
    assert relevance.mark(np.array([[0, 2], [0, 2]])).tolist() == [[False, True], [True, False]]
    assert relevance.reversed().counts.tolist() == [1, 1, 1]


def test_of_no_pairs_nothing_is_relevant():
    nothing = Relevance.from_pairs([], [], n_queries=2, n_items=3)
    assert nothing.counts.tolist() == [0, 0]
    assert nothing.mark(np.array([[0, 2], [0, 2]])).tolist() == [[False, False], [False, False]]


def test_relevance_out_of_range_is_refused():
    with pytest.raises(InputError, match="item 4, but there are only 3"):
        Relevance.from_pairs([0], [3], n_queries=1, n_items=3)
    with pytest.raises(InputError, match="query 0, but there are only 1"):
        Relevance.from_pairs([-1], [0], n_queries=1, n_items=3)
    with pytest.raises(InputError, match="two lists of equal length"):
        Relevance.from_pairs([0, 0], [1], n_queries=1, n_items=3)
