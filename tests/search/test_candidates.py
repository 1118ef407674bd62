import numpy as np
import pytest

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search import top_k, top_k_among
from equiview.search.candidates import nearest_means

QUERY = TokenVectors.of([[[1, 0], [0, 1]]])  # mean (.5, .5)
GALLERY = TokenVectors.of(
    [
        [[1, 0], [0, 1], [-1, -1], [-1, -1]],  # MaxSim 2, the best of all; its mean is far, (-.5, -.5)
        [[0.5, 0.5]],  # MaxSim 1, at distance 0
        [[1, 0], [0.5, 0.5]],  # MaxSim 1.5, mean (.75, .25)
        [[0.5, 0.5]],  # as the second
    ]
)


def test_a_literal_case():
    assert nearest_means(QUERY, GALLERY, 4).tolist() == [[1, 3, 2, 0]]
    found = top_k_among(QUERY, GALLERY, 2, 3)
    assert found.items.tolist() == [[2, 1]]
    assert found.scores.tolist() == [[1.5, 1.0]]
    assert top_k(QUERY, GALLERY, 1).items.tolist() == [[0]], "which the means miss"


def test_distances_and_not_products_pick():
    far = TokenVectors.of([[[10, 10]], [[0.4, 0.5]]])
    assert nearest_means(QUERY, far, 1).tolist() == [[1]]


def test_all_as_candidates_is_the_whole_search():
    rng = np.random.default_rng(0)
    queries, gallery = (
        TokenVectors.of([rng.normal(size=(rng.integers(1, 5), 3)) for _ in range(n)]) for n in (6, 20)
    )
    whole, among = top_k(queries, gallery, 7), top_k_among(queries, gallery, 7, 20)
    assert whole.items.tolist() == among.items.tolist()
    np.testing.assert_allclose(whole.scores, among.scores, rtol=1e-5)
    means = [item.mean(axis=0) for item in gallery]
    by_hand = [np.argsort([np.linalg.norm(q.mean(axis=0) - m) for m in means])[:5].tolist() for q in queries]
    assert nearest_means(queries, gallery, 5).tolist() == by_hand


def test_what_cannot_be_ranked_is_said():
    with pytest.raises(InputError, match="the best 3 of 2 candidates"):
        top_k_among(QUERY, GALLERY, 3, 2)
    with pytest.raises(InputError, match="one vector a token"):
        top_k_among(np.eye(2, dtype=np.float32), GALLERY, 1, 2)
