"""Chance floors: what a retriever that cannot see the groups, or the queries, would score.

Few published bias metrics are 0 for a fair system: LBKL of five results in two groups is about .86 when
results are drawn at random. So every metric is read beside its value under a random permutation of the same
pool. Where the expected value has a closed form it is used; otherwise seeded draws, with their Monte Carlo
standard error. Setting the floors beside the metrics is ours; no paper we follow does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import whole_number


@dataclass(frozen=True)
class ChanceFloor:
    """Expected value of a metric for a blind retriever at each cutoff; each array is `(n_cutoffs,)`."""

    cutoffs: NDArray[np.int64]
    value: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    draws: int


def blind_rankings(
    group_counts: ArrayLike, k: int, *, draws: int = 20_000, seed: int
) -> NDArray[np.integer[Any]]:
    """Groups of the top `k` of random permutations of a pool, `(draws, k)` group indices by rank.

    They are of the smallest type that holds them, and a rank's lie together.

    `group_counts`, `(n_groups,)`, says how many items of each group the pool holds. Items are drawn without
    replacement, exactly: at each rank a group comes up in proportion to what is left of it. Only counts are
    kept, so time and memory grow with `draws`, `k` and the number of groups, not with the pool.

    Raises StatsInputError when the pool holds fewer than `k` items or a count is negative;
    UndefinedStatisticError for an empty pool.

    >>> lists = blind_rankings([2, 0, 1], k=3, draws=4, seed=0)
    >>> sorted(lists[0].tolist())
    [0, 0, 2]
    """
    counts = _as_counts(group_counts)
    pool = int(counts.sum())
    k = whole_number(k, "k", 1)
    if k > pool:
        raise StatsInputError(f"k is {k}, but the pool holds {pool} items")
    draws = whole_number(draws, "draws", 1)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    # Item numbers from edges[g] belong to groups above g: taking one item lowers every edge above it.
    number = np.min_scalar_type(-pool - 1)
    edges = np.repeat(np.cumsum(counts, dtype=number)[:-1, None], draws, axis=1)
    groups = np.empty((k, draws), dtype=np.min_scalar_type(len(counts)))
    for rank in range(k):
        item = rng.integers(0, pool - rank, size=draws).astype(number)
        beyond = item >= edges
        np.add.reduce(beyond, axis=0, dtype=groups.dtype, out=groups[rank])
        edges -= ~beyond
    return groups.T


def chance_floor(
    metric: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    group_counts: ArrayLike,
    cutoffs: Sequence[int],
    *,
    draws: int = 20_000,
    seed: int,
) -> ChanceFloor:
    """Mean of `metric` over blind rankings of the pool, at each cutoff, with its Monte Carlo standard error.

    `metric` takes `(draws, k)` group indices by rank and returns `(draws,)` values; `group_counts` is
    `(n_groups,)`. One set of `draws` rankings serves every cutoff.

    Raises what `blind_rankings` raises; StatsInputError for no cutoff or a metric of another shape.

    The chance that three results of a pool of two halves are all of one group is a little below 1/4:

    >>> single = lambda groups: (groups == groups[:, :1]).all(axis=1).astype(float)
    >>> floor = chance_floor(single, [500, 500], [1, 3], seed=0)
    >>> floor.value.round(2).tolist(), bool(floor.standard_error[1] < 0.004)
    ([1.0, 0.25], True)
    """
    depths = np.asarray([whole_number(k, "cutoffs", 1) for k in cutoffs], dtype=np.int64)
    if depths.size == 0:
        raise StatsInputError("cutoffs is empty: there is no depth to find a floor for")
    draws = whole_number(draws, "draws", 2)
    rankings = blind_rankings(group_counts, int(depths.max()), draws=draws, seed=seed)
    value, error = np.empty(len(depths)), np.empty(len(depths))
    for i, k in enumerate(depths):
        scores = np.asarray(metric(rankings[:, :k].astype(np.int64)), dtype=np.float64)
        if scores.shape != (draws,):
            raise StatsInputError(f"metric must return one value a ranking, {(draws,)}; got {scores.shape}")
        value[i], error[i] = scores.mean(), scores.std(ddof=1) / np.sqrt(draws)
    return ChanceFloor(depths, value, error, draws)


def chance_success(n_relevant: ArrayLike, pool_size: int, k: int) -> NDArray[np.float64]:
    """Chance that any of `n_relevant` items is in a random top `k`: the floor of accuracy@k.

    `n_relevant` is `(n_queries,)` or a single count; returns its shape. Hypergeometric: 1 minus the chance
    that all `k` are drawn from the rest.

    Raises StatsInputError for `k` or `n_relevant` beyond the pool; UndefinedStatisticError for no relevant
    item.

    >>> chance_success([1, 2], pool_size=4, k=2).round(4).tolist()
    [0.5, 0.8333]
    """
    relevant, k = _as_relevant(n_relevant, pool_size, k)
    missed = np.zeros(relevant.shape)
    with np.errstate(divide="ignore"):  # log 0: a relevant item cannot be missed
        for taken in range(k):
            missed += np.log1p(-np.minimum(relevant / (pool_size - taken), 1.0))
    return np.asarray(-np.expm1(missed))


def chance_ndcg(n_relevant: ArrayLike, pool_size: int, k: int) -> NDArray[np.float64]:
    """Expected NDCG@k of a random ranking, the ideal ordering taken from the pool.

    `n_relevant` is `(n_queries,)` or a single count; returns its shape. Each rank holds a relevant item with
    chance `n_relevant` / `pool_size`, so the expected gain is that times the sum of the discounts. An ideal
    ordering of the retrieved items alone is itself random and has no such form.

    Raises what `chance_success` raises.

    >>> chance_ndcg([1, 4], pool_size=4, k=2).round(4).tolist()
    [0.4077, 1.0]
    """
    relevant, k = _as_relevant(n_relevant, pool_size, k)
    gains = np.cumsum(1 / np.log2(np.arange(2, k + 2)))
    return np.asarray(relevant / pool_size * gains[-1] / gains[np.minimum(relevant, k) - 1])


def _as_counts(group_counts: ArrayLike) -> NDArray[np.int64]:
    """Return `group_counts` as `(n_groups,)` counts of a pool that is not empty."""
    counts = np.asarray(group_counts)
    if counts.ndim != 1:
        raise StatsInputError(f"group_counts must have shape (n_groups,); got {counts.shape}")
    if counts.size == 0:
        raise UndefinedStatisticError("group_counts is empty: the pool has no group")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise StatsInputError(f"group_counts must hold whole numbers of 0 or more; got {counts.tolist()}")
    if counts.sum() == 0:
        raise UndefinedStatisticError("group_counts are all 0: the pool is empty")
    return counts.astype(np.int64)


def _as_relevant(n_relevant: ArrayLike, pool_size: int, k: int) -> tuple[NDArray[np.int64], int]:
    """Return `n_relevant` as counts from 1 to `pool_size`, and `k` from 1 to `pool_size`."""
    pool_size = whole_number(pool_size, "pool_size", 1)
    k = whole_number(k, "k", 1)
    if k > pool_size:
        raise StatsInputError(f"k is {k}, but the pool holds {pool_size} items")
    relevant = np.asarray(n_relevant)
    if relevant.size == 0:
        raise UndefinedStatisticError("n_relevant is empty: there is no query")
    if not np.issubdtype(relevant.dtype, np.integer):
        raise StatsInputError(f"n_relevant must hold whole numbers; got {relevant.dtype}")
    if (relevant < 1).any():
        raise UndefinedStatisticError("n_relevant has a 0 or less: a query with none has no floor")
    if (relevant > pool_size).any():
        raise StatsInputError(f"n_relevant reaches {relevant.max()}, but the pool holds {pool_size} items")
    return relevant.astype(np.int64), k
