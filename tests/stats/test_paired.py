import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats import paired, sign_flip_test

differences = st.lists(st.integers(-5, 5), min_size=1, max_size=9)


def test_by_hand() -> None:
    assert float(sign_flip_test([1.0], seed=0)) == 1  # plus and minus are equally far
    assert float(sign_flip_test([1.0, 1, 1], seed=0)) == 2 / 8
    assert float(sign_flip_test([2.0, 1, -1], seed=0)) == 6 / 8  # of 4 2 2 0 0 -2 -2 -4, six reach 2
    assert float(sign_flip_test([0.0, 0, 0], seed=0)) == 1


@given(differences)
def test_few_clusters_are_tried_in_all_patterns_as_scipy_does(values: list[int]) -> None:
    expected = (
        scipy.stats.permutation_test(
            (np.array(values, dtype=float), np.zeros(len(values))),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        if len(values) > 1
        else 1.0
    )
    assert float(sign_flip_test(values, seed=0)) == pytest.approx(expected)


@given(differences, st.integers(0, 3))
def test_which_system_comes_first_and_the_unit_do_not_matter(values: list[int], seed: int) -> None:
    many = np.tile(np.array(values, dtype=float), 3)  # more than 20 rows are sampled
    for column in (np.array(values, dtype=float), many):
        p = sign_flip_test(column, replicates=200, seed=seed)
        assert sign_flip_test(-column, replicates=200, seed=seed) == p
        for unit in (4, 1 / 3, 1e-7, 12345.678):  # thirds and the like round, and ties must stay ties
            assert sign_flip_test(column * unit, replicates=200, seed=seed) == p


def test_sampled_patterns_come_close_to_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(0.3, 1, size=(12, 6))
    exact = sign_flip_test(values, seed=0)
    monkeypatch.setattr(paired, "EXACT_CLUSTERS", 0)
    np.testing.assert_allclose(sign_flip_test(values, seed=0), exact, atol=0.02)


def test_twenty_clusters_are_tried_in_all_patterns() -> None:
    assert float(sign_flip_test(np.ones(20), seed=0)) == 2 / 2**20
    values = np.array([7.0, -1, 3, 3, 2, -5, 4, 4, 0, 1, 6, -2, 8, 1, -3, 2])
    signs = 1 - 2 * (np.arange(2**16)[:, None] >> np.arange(16) & 1)
    expected = np.mean(np.abs(signs @ values) >= abs(values.sum()))
    assert float(sign_flip_test(values, seed=0)) == expected
    assert float(sign_flip_test(values[::-1], seed=1)) == expected


def test_p_is_never_zero_and_uniform_without_a_difference() -> None:
    certain = sign_flip_test(np.ones(200), replicates=999, seed=0)
    assert float(certain) == 1 / 1000
    p = sign_flip_test(np.random.default_rng(0).normal(size=(60, 500)), replicates=999, seed=0)
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("block_bytes", [1, 5000])
def test_the_same_bytes_whatever_the_block(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    values = np.random.default_rng(0).normal(0.1, 1, size=(77, 4))
    expected = sign_flip_test(values, replicates=333, seed=5).tobytes()
    monkeypatch.setattr(paired, "BLOCK_BYTES", block_bytes)
    assert sign_flip_test(values, replicates=333, seed=5).tobytes() == expected


def test_clusters_flip_together() -> None:
    base = np.array([0.5, -0.2, 0.9, 0.4])
    repeated = sign_flip_test(np.repeat(base, 30), clusters=np.repeat([3, 1, 4, 9], 30), seed=0)
    assert float(repeated) == float(sign_flip_test(base, seed=0))
    assert float(sign_flip_test(np.repeat(base, 30), seed=0)) < float(repeated)


def test_queries_not_asked_take_no_part() -> None:
    asked = np.array([0.5, 0.2, 0.9])
    gaps = np.concatenate([asked, [np.nan] * 4])
    assert float(sign_flip_test(gaps, seed=0)) == float(sign_flip_test(asked, seed=0))


def test_the_shape_follows_the_columns() -> None:
    assert sign_flip_test(np.ones((4, 3)), seed=0).shape == (3,)
    assert sign_flip_test(np.ones((20, 1)), seed=0).shape == (1,)
    assert sign_flip_test(np.ones(20), seed=0).shape == ()


def test_bad_input_is_named() -> None:
    with pytest.raises(UndefinedStatisticError, match="no rows"):
        sign_flip_test([], seed=0)
    with pytest.raises(UndefinedStatisticError, match="nan in every row"):
        sign_flip_test([np.nan], seed=0)
    with pytest.raises(StatsInputError, match="one label"):
        sign_flip_test([1.0, 2], clusters=[1], seed=0)


def test_more_than_twenty_clusters_are_drawn() -> None:
    assert float(sign_flip_test(np.ones(21), replicates=99, seed=0)) >= 1 / 100


def answers(kind: str, rng: np.random.Generator) -> np.ndarray:
    """The values of six systems over 130 queries."""
    if kind == "hits":
        return (rng.random((130, 6)) < np.linspace(0.4, 0.7, 6)).astype(float)
    if kind == "thirds":
        return rng.integers(0, 4, (130, 6)) / 3
    if kind == "unlike sizes":
        return rng.random((130, 6)) * np.geomspace(1e-200, 1e200, 6)
    if kind == "twins":
        return np.repeat(rng.normal(size=(130, 1)), 6, axis=1)
    return rng.normal(size=(130, 6))


@pytest.mark.parametrize("kind", ["hits", "thirds", "unlike sizes", "twins", "normal"])
def test_pairs_made_of_a_few_systems_have_the_same_p(kind: str) -> None:
    rng = np.random.default_rng(3)
    systems, clusters = answers(kind, rng), rng.integers(0, 60, 130)
    pairs = [(a, b) for a in range(6) for b in range(a + 1, 6)]
    weights = np.zeros((6, len(pairs)))
    for place, (a, b) in enumerate(pairs):
        weights[[a, b], place] = -0.7, 0.7
    apart = np.stack([(systems[:, b] - systems[:, a]) * 0.7 for a, b in pairs], axis=1)
    for options in ({"clusters": clusters}, {}, {"tail": "saddlepoint"}):
        alone = sign_flip_test(apart, replicates=2000, seed=1, **options)
        of_few = sign_flip_test(apart, replicates=2000, seed=1, made_of=(systems, weights), **options)
        assert of_few.tobytes() == alone.tobytes()


def test_what_a_few_columns_leave_open_is_added_up() -> None:
    # Weights that make nothing of the differences say nothing: every draw is looked at by itself.
    apart = np.random.default_rng(0).integers(-1, 2, (90, 5)).astype(float)
    nothing = np.ones((90, 1)), np.zeros((1, 5))
    alone = sign_flip_test(apart, replicates=500, seed=2)
    assert sign_flip_test(apart, replicates=500, seed=2, made_of=nothing).tobytes() == alone.tobytes()
