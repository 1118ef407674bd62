import numpy as np
import pytest

from equiview.data.rankings import Rankings
from equiview.errors import InputError


def test_rankings_need_numbers():
    with pytest.raises(InputError, match="query 2 has a score"):
        Rankings(np.zeros((2, 1), np.int32), np.array([[1], [np.nan]], np.float32))


def test_items_and_scores_are_of_one_shape():
    rankings = Rankings(np.zeros((3, 2), np.int32), np.ones((3, 2), np.float32))
    assert (len(rankings), rankings.depth) == (3, 2)
    with pytest.raises(InputError, match=r"got \(3, 2\) and \(3, 1\)"):
        Rankings(rankings.items, rankings.scores[:, :1])
