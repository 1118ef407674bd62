"""What a projection takes away, and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import InputError
from equiview.mitigation.people.fit import calibrated, discrepancy, projection

WIDTH = 8


def drawn(seed, n, width=WIDTH):
    return np.random.default_rng(seed).normal(size=(n, width))


@given(st.integers(0, 10_000), st.integers(1, WIDTH - 1), st.floats(1e-3, 1e3))
def test_a_projection_that_is_done_twice_is_done_once(seed, n, size):
    directions = size * drawn(seed, n)
    found = projection(directions)
    np.testing.assert_allclose(found @ found, found, atol=1e-9)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(directions / size @ found, 0, atol=1e-9)
    assert np.trace(found) == pytest.approx(WIDTH - n)


def test_what_is_perpendicular_stays():
    found = projection(np.array([[3.0, 0, 0], [6.0, 0, 0]]))
    assert found.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]


@given(st.integers(0, 10_000), st.floats(0, 1e4))
def test_calibration_is_the_minimum_that_the_paper_names(seed, weight):
    """No step away from it lowers |P - P_0|^2 + weight mean |P z_i - P z_j|^2."""
    plain = projection(drawn(seed, 2))
    cells = [drawn(seed + 1, 2), drawn(seed + 2, 3)]
    pairs = [(cell[i] - cell[j]) for cell in cells for i in range(len(cell)) for j in range(i)]

    def loss(found):
        return ((found - plain) ** 2).sum() + weight * np.mean([((found @ gap) ** 2).sum() for gap in pairs])

    best = calibrated(plain, discrepancy(cells), weight)
    for step in range(5):
        assert loss(best + 0.01 * drawn(seed + 3 + step, WIDTH)) >= loss(best)
    if not weight:
        np.testing.assert_array_equal(best, plain)


def test_calibrated_strongly_pairs_are_one():
    cells = [drawn(seed, 2) for seed in range(3)]
    found = calibrated(projection(drawn(9, 1)), discrepancy(cells), 1e9)
    for first, second in cells:
        np.testing.assert_allclose(found @ first, found @ second, atol=1e-6)


def test_nothing_to_project_out_and_everything_are_refused():
    with pytest.raises(InputError, match="gives all groups one vector"):
        projection(np.zeros((3, WIDTH)))
    with pytest.raises(InputError, match="span all 8 dimensions"):
        projection(drawn(0, WIDTH + 2))
