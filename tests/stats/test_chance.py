from collections import Counter
from functools import partial
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.metrics import accuracy_at_k, dlbkl, lbkl, ndcg_at_k
from equiview.stats import blind_rankings, chance_floor, chance_ndcg, chance_success

pools = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)


@pytest.mark.parametrize("per_language", [1280, 3600])
def test_the_floor_of_a_fair_pool_of_36_languages_in_two_tiers(per_language: int) -> None:
    pool = [15 * per_language, 21 * per_language]
    floor = chance_floor(partial(lbkl, n_groups=2), pool, [5, 10, 25, 99], draws=100_000, seed=0)
    published = np.array([0.86, 0.12, 0.037, 0.0195])
    assert (np.abs(floor.value - published) < 4 * floor.standard_error + [0.005, 0.005, 0.0005, 0.0002]).all()
    assert floor.standard_error.tolist() == sorted(floor.standard_error, reverse=True)


def test_a_floor_can_be_worked_out() -> None:
    # two results of four items, two groups alike: the same group with chance 1/3
    floor = chance_floor(partial(lbkl, n_groups=2), [2, 2], [2], draws=50_000, seed=1)
    single = 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / 1e-9)
    assert floor.value[0] == pytest.approx(single / 3, abs=4 * floor.standard_error[0])


def test_the_discounted_floor_lies_above_the_plain() -> None:
    pool = [15 * 1280, 21 * 1280]
    plain, ranked = (
        chance_floor(partial(m, n_groups=2), pool, [10, 99], draws=20_000, seed=0) for m in (lbkl, dlbkl)
    )
    assert (ranked.value > plain.value).all()


@pytest.mark.parametrize("pool", [[127, 0], [128, 0], [0, 128], [1, 126, 0], [0, 300], [0] * 299 + [4]])
def test_pools_at_the_ends_of_small_numbers_are_permuted(pool: list[int]) -> None:
    everything = np.repeat(np.arange(len(pool)), pool)
    lists = blind_rankings(pool, sum(pool), draws=3, seed=0)
    assert np.sort(lists, axis=1).tolist() == [everything.tolist()] * 3


@given(pools, st.integers(0, 99))
def test_a_whole_pool_is_permuted(pool: list[int], seed: int) -> None:
    lists = blind_rankings(pool, sum(pool), draws=5, seed=seed)
    everything = np.repeat(np.arange(len(pool)), pool)
    for row in lists:
        assert sorted(row.tolist()) == everything.tolist()


def test_every_order_comes_up_as_often_as_it_should() -> None:
    pool = [2, 0, 1, 1]
    expected = Counter(order[:3] for order in permutations([0, 0, 2, 3]))
    found = Counter(map(tuple, blind_rankings(pool, 3, draws=24_000, seed=0).tolist()))
    assert set(found) == set(expected)
    orders = sorted(expected)
    frequencies = np.array([expected[order] for order in orders]) / 24 * 24_000
    assert scipy.stats.chisquare([found[order] for order in orders], frequencies).pvalue > 0.001


def test_every_rank_has_the_shares_of_the_pool() -> None:
    pool = np.array([100_000, 1000, 160_000])
    lists = blind_rankings(pool, 99, draws=5000, seed=0)
    for group in range(3):
        share = pool[group] / pool.sum()
        noise = np.sqrt(share * (1 - share) / 5000)
        assert np.abs((lists == group).mean(axis=0) - share).max() < 5 * noise


def test_draws_are_seeded() -> None:
    one, again, other = (blind_rankings([9, 9], 5, draws=50, seed=s) for s in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


def random_relevance(n_relevant: int, pool: int, queries: int = 40_000) -> np.ndarray:
    return blind_rankings([pool - n_relevant, n_relevant], pool, draws=queries, seed=4) == 1


@pytest.mark.parametrize(("n_relevant", "pool", "k"), [(3, 20, 5), (1, 12, 12), (7, 12, 6), (4, 30, 1)])
def test_closed_forms_are_what_blind_rankings_score(n_relevant: int, pool: int, k: int) -> None:
    relevant = random_relevance(n_relevant, pool)
    total = relevant.sum(axis=1)
    close = partial(pytest.approx, abs=0.01)
    assert float(chance_success(n_relevant, pool, k)) == close(accuracy_at_k(relevant, k).mean())
    assert float(chance_ndcg(n_relevant, pool, k)) == close(ndcg_at_k(relevant, k, n_relevant=total).mean())


@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 60))
def test_success_is_hypergeometric(n_relevant: int, pool: int, k: int) -> None:
    n_relevant, k = min(n_relevant, pool), min(k, pool)
    expected = scipy.stats.hypergeom.sf(0, pool, n_relevant, k)
    assert float(chance_success(n_relevant, pool, k)) == pytest.approx(expected, abs=1e-12)


def test_success_in_a_large_pool_keeps_its_digits() -> None:
    assert float(chance_success(1, 129_600, 10)) == pytest.approx(10 / 129_600, rel=1e-12)
    assert chance_success([[1, 36]], 129_600, 5).shape == (1, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: blind_rankings([1, 2], 4, seed=0), StatsInputError, "pool holds 3"),
        (lambda: blind_rankings([0, 0], 1, seed=0), UndefinedStatisticError, "pool is empty"),
        (lambda: blind_rankings([], 1, seed=0), UndefinedStatisticError, "no group"),
        (lambda: blind_rankings([2, -1], 1, seed=0), StatsInputError, "0 or more"),
        (lambda: blind_rankings([2.0, 1], 1, seed=0), StatsInputError, "whole numbers"),
        (lambda: blind_rankings([[2, 1]], 1, seed=0), StatsInputError, "shape"),
        (lambda: blind_rankings([2, 1], 0, seed=0), StatsInputError, "k must be at least 1"),
        (lambda: chance_floor(np.mean, [2, 1], [1], draws=9, seed=0), StatsInputError, "one value a ranking"),
        (lambda: chance_floor(np.mean, [2, 1], [], seed=0), StatsInputError, "cutoffs is empty"),
        (lambda: chance_success(0, 5, 1), UndefinedStatisticError, "relevant"),
        (lambda: chance_success([], 5, 1), UndefinedStatisticError, "no query"),
        (lambda: chance_success(6, 5, 1), StatsInputError, "reaches 6"),
        (lambda: chance_success(1.0, 5, 1), StatsInputError, "whole numbers"),
        (lambda: chance_ndcg(1, 5, 6), StatsInputError, "pool holds 5"),
        (lambda: chance_success(1, 5, 6), StatsInputError, "pool holds 5"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()
