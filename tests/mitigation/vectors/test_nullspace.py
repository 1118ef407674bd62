"""What iterative nullspace projection takes away, beside scikit-learn and the authors' own formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from equiview import api
from equiview.errors import InputError
from equiview.mitigation.vectors.nullspace import PENALTY, basis_of, classifier, nulled
from equiview.subjects import load_subject
from tests.mitigation.vectors.worlds import CODES, corrected, fitted, world


def groups_apart(seed=0, n=600, width=12, groups=3, apart=2.0):
    """Vectors of groups whose means are `apart` in directions of their own."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) % groups
    return rng.normal(size=(n, width)) + apart * rng.normal(size=(groups, width))[of] / np.sqrt(width), of


def of_scikit(vectors, groups, penalty=PENALTY):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=5_000).fit(vectors, groups)


@pytest.mark.parametrize("groups", [2, 5])
def test_a_classifier_is_that_of_scikit_learn(groups):
    vectors, of = groups_apart(groups=groups)
    weights, bias = classifier(vectors, of)
    theirs = of_scikit(vectors, of)
    if groups == 2:  # it has one vector for two groups: their difference, with half of the penalty
        theirs = of_scikit(vectors, of, PENALTY / 2)
        np.testing.assert_allclose(weights[:, 1] - weights[:, 0], theirs.coef_[0], atol=1e-4)
    else:
        np.testing.assert_allclose(weights.T, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(
            bias - bias.mean(), theirs.intercept_ - theirs.intercept_.mean(), atol=1e-4
        )


def authors(vectors, groups, rounds):
    """The projection of the authors' `get_debiasing_projection`, with scikit-learn's classifier.

    N(w1) and N(w2) have in common what the sum of both projections onto rows does not reach (Ben-Israel).
    """
    width = vectors.shape[1]
    rows, seen, projection = [], vectors, np.eye(width)
    for _ in range(rounds):
        base = scipy.linalg.orth(of_scikit(seen, groups).coef_.T, rcond=1e-5)
        rows.append(base @ base.T)
        reached = scipy.linalg.orth(np.sum(rows, axis=0), rcond=1e-5)
        projection = np.eye(width) - reached @ reached.T
        seen = vectors @ projection
    return projection


def test_what_is_left_is_what_the_authors_leave():
    vectors, of = groups_apart(width=16, groups=4, apart=4.0)
    scaled = (vectors - vectors.mean(axis=0)) / np.sqrt(((vectors - vectors.mean(axis=0)) ** 2).mean())
    found = np.zeros((16, 0))
    for _ in range(3):
        weights, _ = classifier(scaled - scaled @ found @ found.T, of)
        found = basis_of(np.vstack([found.T, basis_of(weights.T).T]))
    assert found.shape[1] == 9  # three of four groups a round
    np.testing.assert_allclose(np.eye(16) - found @ found.T, authors(scaled, of, 3), atol=1e-3)


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_a_new_classifier_of_another_library_is_at_chance(groups):
    """Fitted on all that was fitted on, judged on vectors that nobody saw, over eight worlds."""
    above = []
    for seed in range(8):
        vectors, of = groups_apart(seed, n=1_200, groups=groups, apart=3.0)
        found = nulled(vectors[:800], of[:800], rounds=10, seed=0)
        assert found.accuracies[0] > 1.3 / groups
        assert not found.told
        np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(found.basis.shape[1]), atol=1e-9)
        left = vectors - vectors @ found.basis @ found.basis.T
        above.append(of_scikit(left[:800], of[:800]).score(left[800:], of[800:]) - 1 / groups)
    assert abs(np.mean(above)) < 0.06


def test_done_twice_it_is_done_once():
    data = world(apart=0.8)
    correction = fitted("inlp", data, cosine=False)
    (projection,) = correction.maps.astype(float)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-5)
    np.testing.assert_allclose(projection, projection.T, atol=1e-6)
    once = corrected(correction, data)[1]
    np.testing.assert_allclose(correction.texts(once, [CODES[row] for row in data.language]), once, atol=1e-5)


def test_where_groups_are_alike_nothing_is_taken_away():
    found = nulled(*groups_apart(seed=2, apart=0.0), rounds=10, seed=0)
    assert found.ranks == (0,)
    assert not found.told


def test_it_ends_before_nothing_would_be_left(caplog):
    """Of 3 dimensions 4 groups would take all."""
    data = world(images=200, width=3, apart=3.0)
    found = nulled(data.texts.astype(float), data.language, 10, 0)
    assert found.told
    assert found.basis.shape[1] < 3
    correction = fitted("inlp", data)
    assert np.isfinite(correction.maps).all()
    assert "a linear classifier still tells" in caplog.text
    assert "one more would take all dimensions" in caplog.text
    assert data.tried[0]["dimensions"] == 0
    assert data.tried[0]["accuracy"] > 0.5


def test_vectors_that_are_all_one_are_refused():
    with pytest.raises(InputError, match="gives all items one vector"):
        nulled(np.ones((40, 4)), np.arange(40) % 2, 10, 0)


def test_from_the_command_to_the_card(tmp_path):
    """Of images by an attribute: what was tried is on the card, and groups are told no more."""
    given = {"subject": "pictogram:tied", "benchmark": "pictograms-people", "by": "gender"}
    made = api.make("inlp", given | {"apart": ["role"]}, tmp_path / "inlp")
    subject = load_subject(made.name)
    tried = subject.card.tried
    assert tried[0]["accuracy"] > 0.8
    assert tried[-1]["accuracy"] < 0.6
    assert len(tried) == 11
    assert [row["dimensions"] for row in tried] == sorted(row["dimensions"] for row in tried)
    few = api.make("inlp", given | {"apart": ["role"], "rounds": 1, "most": 200}, tmp_path / "few")
    assert load_subject(few.name).card.tried[1]["dimensions"] == 2  # three genders
    with pytest.raises(InputError, match="rounds"):
        api.make("inlp", given | {"rounds": 0}, tmp_path / "none")
    with pytest.raises(InputError, match="texts are in 'en' alone"):
        api.make("inlp", given | {"by": "language"}, tmp_path / "one")
