"""Orders of one list by the groups of its results: each takes their groups and scores, and returns places."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Shares = NDArray[np.float64]
ROUNDING = 1e-9
"""By how much a share times a rank may be off by rounding."""


def interleave(groups: Rows, scores: Shares, shares: Shares) -> Rows:
    """The best of each group, then the second best of each; those of one place by score."""
    place = _place(groups, np.argsort(-scores, kind="stable"))
    return np.lexsort((np.arange(len(groups)), -scores, place))


def _place(groups: Rows, order: Rows) -> Rows:
    """How many results of its group are before each in an order."""
    by_group = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups)
    place = np.empty(len(groups), dtype=np.int64)
    place[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


def fused(groups: Rows, scores: Shares, constant: float) -> Rows:
    """By the sum of 1 / (constant + rank) over the whole list and that of the result's own group.

    Reciprocal rank fusion (Cormack et al. 2009), whose constant is 60. Lists of groups have no result in
    common, so that fused alone they are interleaved. Of results with one sum, the better score is first.

    >>> groups, scores = np.array([0, 0, 0, 1]), np.array([0.9, 0.8, 0.7, 0.6])
    >>> fused(groups, scores, constant=60).tolist(), fused(groups, scores, constant=0.1).tolist()
    ([0, 1, 3, 2], [0, 3, 1, 2])
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(groups))
    rank[order] = np.arange(1, len(groups) + 1)
    within = _place(groups, order) + 1
    # To twelve places, so that sums in another order are not told apart by rounding.
    total = np.round(1 / (constant + rank) + 1 / (constant + within), 12)
    return np.lexsort((np.arange(len(groups)), -scores, -total))


def det_greedy(groups: Rows, scores: Shares, shares: Shares) -> Rows:
    """Of the first k each group holds its share, rounded down or up: the best of who may be next.

    Geyik et al. (2019), Algorithm 1: the best of the groups that would fall below their least, else of those
    below their most; where none of these has a result left, the best of the others.
    """
    return _deterministic(groups, scores, shares, np.zeros_like)


def det_cons(groups: Rows, scores: Shares, shares: Shares) -> Rows:
    """The same, but of those below their most the group that will soonest need a place (Algorithm 2)."""
    return _deterministic(groups, scores, shares, lambda need: need)


def det_relaxed(groups: Rows, scores: Shares, shares: Shares) -> Rows:
    """The same with whole ranks, the best of the groups that need one at the same rank (Algorithm 2)."""
    return _deterministic(groups, scores, shares, lambda need: np.ceil(need - ROUNDING))


def _deterministic(groups: Rows, scores: Shares, shares: Shares, urgency: Callable[[Shares], Shares]) -> Rows:
    """`urgency` of the ranks at which groups need their next result: the lowest is next, then by score."""
    waiting = [np.flatnonzero(groups == group) for group in range(len(shares))]
    waiting = [rows[np.argsort(-scores[rows], kind="stable")] for rows in waiting]
    left = np.array([len(rows) for rows in waiting])
    taken = np.zeros(len(shares), dtype=np.int64)
    best = np.array([scores[rows[0]] if len(rows) else -np.inf for rows in waiting])
    made = np.empty(len(groups), dtype=np.int64)
    fewest, most = _allowed(len(groups), tuple(shares.tolist()))
    soonest = urgency((fewest + 1) / np.maximum(shares, ROUNDING))
    for k in range(len(groups)):
        below_least = np.flatnonzero(taken < np.minimum(fewest[k], left))
        if len(below_least):
            chosen = below_least[np.argmax(best[below_least])]
        elif len(below_most := np.flatnonzero(taken < np.minimum(most[k], left))):
            chosen = below_most[np.lexsort((-best[below_most], soonest[k, below_most]))[0]]
        else:
            chosen = np.argmax(best)
        made[k] = waiting[chosen][taken[chosen]]
        taken[chosen] += 1
        best[chosen] = scores[waiting[chosen][taken[chosen]]] if taken[chosen] < left[chosen] else -np.inf
    return made


@lru_cache(maxsize=8)
def _allowed(depth: int, shares: tuple[float, ...]) -> tuple[Shares, Shares]:
    """Least and most results of each group among the first 1, 2, ... `depth`, each `(depth, n_groups)`."""
    due = np.arange(1, depth + 1)[:, None] * np.array(shares)
    return np.floor(due + ROUNDING), np.ceil(due - ROUNDING)


def det_const_sort(groups: Rows, scores: Shares, shares: Shares) -> Rows:
    """Of the first k each group holds its share, rounded down at least, however many groups there are.

    Geyik et al. (2019), Algorithm 3. The j-th result of a group is due by the rank at which its share of the
    list is j. Results are put in as they become due, the best first, and move up past worse ones as far as
    these stay within the ranks by which they are due.
    """
    order = np.argsort(-scores, kind="stable")
    due = np.ceil((_place(groups, order) + 1) / np.maximum(shares[groups], ROUNDING) - ROUNDING)
    by, value = due.tolist(), scores.tolist()
    made: list[int] = []
    for row in np.lexsort((np.arange(len(groups)), -scores, due)).tolist():
        place = len(made)
        while place and by[made[place - 1]] > place and value[made[place - 1]] < value[row]:
            place -= 1
        made.insert(place, row)
    return np.array(made, dtype=np.int64)


TOWARDS: dict[str, Callable[[Rows, Shares, Shares], Rows]] = {
    "interleave": interleave,
    "fair-topk": det_cons,
    "detcons": det_cons,
    "detgreedy": det_greedy,
    "detrelaxed": det_relaxed,
    "detconstsort": det_const_sort,
}
"""Orders that need the groups of results, their scores and the groups' shares alone, by method."""


def fa_ir(groups: Rows, scores: Shares, protected: int, share: float, alpha: float) -> Rows:
    """By score, but a protected result wherever the first k would hold fewer than `least_of` (FA*IR).

    Zehlike et al. (2017), Algorithm 2. Where no protected result is left, the best of the others.
    """
    order = np.argsort(-scores, kind="stable")
    ours = groups[order] == protected
    inside, outside = order[ours], order[~ours]
    least = least_of(len(groups), share, alpha)
    made = np.empty(len(groups), dtype=np.int64)
    taken = 0
    for k in range(len(groups)):
        other = k - taken
        must = taken < min(least[k], len(inside))
        better = taken < len(inside) and (
            other == len(outside) or scores[inside[taken]] >= scores[outside[other]]
        )
        made[k] = inside[taken] if must or better else outside[other]
        taken += must or better
    return made


@lru_cache(maxsize=64)
def least_of(depth: int, share: float, alpha: float) -> tuple[int, ...]:
    """The fewest protected results among the first 1, 2, ... `depth`, all of these tests together at `alpha`.

    A list drawn blindly, each result protected with probability `share`, falls below one of them with a
    probability of at most `alpha`: the level of a single test is lowered until that holds.

    >>> least_of(20, 0.25, 0.1)
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2)
    """
    low, high = 0.0, alpha
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if failing(table_at(depth, share, middle), share) <= alpha else (low, middle)
        )
    return table_at(depth, share, low) if low else (0,) * depth


def table_at(depth: int, share: float, alpha: float) -> tuple[int, ...]:
    """The same with every one of the tests at `alpha` by itself (Zehlike et al., section 4.1).

    >>> table_at(20, 0.25, 0.1)
    (0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3)
    """
    from scipy.stats import binom

    return tuple(int(least) for least in binom.ppf(alpha, np.arange(1, depth + 1), share))


def failing(least: tuple[int, ...], share: float) -> float:
    """The probability that a list drawn blindly falls below `least` somewhere, exactly.

    >>> round(failing(table_at(20, 0.25, 0.1), 0.25), 10)
    0.1468871887
    """
    held = np.zeros(len(least) + 1)
    held[0] = 1.0
    for fewest in least:
        held[1:] = held[1:] * (1 - share) + held[:-1] * share
        held[0] *= 1 - share
        held[:fewest] = 0.0
    return float(1 - held.sum())


def boosted(groups: Rows, scores: Shares, boosts: Shares) -> Rows:
    """By score plus what its group is given."""
    return np.argsort(-(scores + boosts[groups]), kind="stable")
