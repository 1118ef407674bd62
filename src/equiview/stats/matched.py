"""Matched permutation: what lists would show if the labels of items that are equally right were exchanged.

Under fairness the labels (languages, tiers, sellers) of one image's captions are exchangeable: which of them
stands where does not depend on its label. So labels are permuted within each image's captions, everywhere at
once: a caption keeps its places in all lists, those where it is a hub included. What a group holds is
compared with what it would hold under that permutation. The test is exact whatever the scores are like, as
Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses" (2005), chapter 1, has it; its use here is
ours, and no paper that we follow has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import whole_number

BLOCKS = 192
"""Sets of clusters that are shifted together in a draw; with fewer clusters each is one of its own."""
SHIFTED = 512
"""Clusters of more items than this are permuted anew in every draw."""
TURNED = 16_384
"""Clusters of more items than this, such as a whole pool, have shifts enough of their own."""
NUMBERS_AT_ONCE = 2**21
ROUNDING = 1e-9
"""Statistics closer than this share of the largest are alike, however their sums are rounded."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MatchedShares:
    """Shares of the weight by group, each array `(n_groups, n_columns)`.

    `expected` and `sd` are the mean and standard deviation over all permutations, exactly; `p` is the share
    of drawn permutations that lie at least as far from `expected` as `observed` does, observed one included.
    """

    observed: Floats
    expected: Floats
    sd: Floats
    p: Floats


@dataclass(frozen=True)
class MatchedFloor:
    """Mean of a metric over matched permutations at each cutoff, its sd and p; each array `(n_cutoffs,)`."""

    value: Floats
    sd: Floats
    p: Floats


def rank_weights(ranked: ArrayLike, n_items: int, cutoffs: Sequence[int]) -> Floats:
    """How much each item is shown: the sum of 1 / log2(i + 1) over its ranks i up to each cutoff.

    `ranked` is `(n_queries, depth)` item numbers, best first; returns `(n_items, n_cutoffs)`.

    Raises StatsInputError for a cutoff beyond the depth or an item outside 0 .. `n_items` - 1.

    >>> rank_weights([[0, 1], [0, 2]], n_items=3, cutoffs=[1, 2]).round(2).tolist()
    [[2.0, 2.0], [0.0, 0.63], [0.0, 0.63]]
    """
    lists = np.asarray(ranked, dtype=np.int64)
    if lists.ndim != 2 or lists.size == 0:
        raise StatsInputError(f"ranked must be (n_queries, depth) and not empty; got {lists.shape}")
    if lists.min() < 0 or lists.max() >= n_items:
        raise StatsInputError(f"ranked names item {lists.max()}, but there are {n_items}")
    if not len(cutoffs) or min(cutoffs) < 1 or max(cutoffs) > lists.shape[1]:
        raise StatsInputError(f"cutoffs must lie between 1 and {lists.shape[1]}; got {list(cutoffs)}")
    discounts = 1 / np.log2(np.arange(2, lists.shape[1] + 2))
    weights = np.empty((n_items, len(cutoffs)))
    held, start = np.zeros(n_items), 0
    for place in np.argsort(cutoffs, kind="stable"):
        part = lists[:, start : cutoffs[place]]
        shown = np.broadcast_to(discounts[start : cutoffs[place]], part.shape)
        held = held + np.bincount(part.ravel(), weights=shown.ravel(), minlength=n_items)
        weights[:, place], start = held, cutoffs[place]
    return weights


def matched_shares(
    weights: ArrayLike,
    clusters: ArrayLike,
    groups: ArrayLike,
    n_groups: int,
    *,
    draws: int = 10_000,
    seed: int,
) -> MatchedShares:
    """Share of the weight that each group holds, against permutations of the groups within clusters.

    `weights` is `(n_items, n_columns)`, as of `rank_weights`; `clusters`, `(n_items,)`, names the items among
    which labels are exchanged, and -1 an item that keeps its own; `groups` is `(n_items,)` from 0.

    A draw shifts the labels of every cluster along a random circular order of it. Where there are more than
    192 clusters, some of one size are shifted by the same step; these shifts are a group of permutations, so
    that p is exact all the same. Clusters of 513 to 16,384 items are permuted anew in each draw. Time grows
    with `n_columns` x `n_groups` x `draws`, not with the items.

    Raises StatsInputError for arrays that do not fit; UndefinedStatisticError for a column without weight.

    The much shown caption is of group 1 in all three images; it would be in one of eight permutations:

    >>> shares = matched_shares([[2.0], [1.0]] * 3, [0, 0, 1, 1, 2, 2], [1, 0] * 3, n_groups=2, seed=0)
    >>> shares.observed[1].round(3).tolist(), shares.expected[1].tolist(), shares.p[1].round(2).tolist()
    ([0.667], [0.5], [0.25])
    """
    table, labels, members = _checked(weights, clusters, groups, n_groups)
    draws, seed = whole_number(draws, "draws", 1), whole_number(seed, "seed", 0)
    total = table.sum(axis=0)
    if (total <= 0).any():
        raise UndefinedStatisticError(f"weights: column {int(np.argmin(total > 0))} has no weight to share")
    observed = _held(table, labels, n_groups)
    fixed, variance = observed.copy(), np.zeros_like(observed)
    expected = np.zeros_like(observed)
    for rows in members:
        held, size = table[rows], rows.shape[1]
        counts = np.stack([(labels[rows] == group).sum(axis=1) for group in range(n_groups)]).astype(float)
        fixed -= _held(table[rows.ravel()], labels[rows.ravel()], n_groups)
        expected += np.einsum("gj,jk->gk", counts / size, held.sum(axis=1))
        spread = ((held - held.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / (size * (size - 1))
        variance += np.einsum("gj,jk->gk", counts * (size - counts), spread)
    expected += fixed
    far = np.abs(observed - expected) - ROUNDING * total
    beyond = np.zeros(observed.shape)
    for drawn in _draws(table, labels, members, n_groups, draws, seed):
        beyond += (np.abs(drawn + fixed - expected) >= far).sum(axis=0)
    return MatchedShares(
        observed / total, expected / total, np.sqrt(variance) / total, (1 + beyond) / (1 + draws)
    )


def matched_floor(
    metrics: Sequence[Callable[[Integers], Floats]],
    ranked: ArrayLike,
    clusters: ArrayLike,
    groups: ArrayLike,
    cutoffs: Sequence[int],
    *,
    draws: int = 200,
    seed: int,
) -> list[MatchedFloor]:
    """Each metric's mean over matched permutations, `draws` of them, at each cutoff; one floor a metric.

    A metric takes `(n_queries, k)` groups by rank and returns `(n_queries,)`. `ranked` is `(n_queries,
    depth)` item numbers; `clusters` and `groups` are as in `matched_shares`. p is the share of permutations
    whose mean lies at least as far from the floor as that of the lists, they included.

    Raises StatsInputError for arrays that do not fit.

    >>> import numpy as np
    >>> first = lambda groups: (groups[:, 0] == 1).astype(float)
    >>> [floor] = matched_floor([first], [[0, 1], [2, 3]], [0, 0, 1, 1], [1, 0, 1, 0], [1], seed=0)
    >>> bool(abs(floor.value[0] - 0.5) < 0.1)
    True
    """
    lists = np.asarray(ranked, dtype=np.int64)
    draws = whole_number(draws, "draws", 2)
    labels = np.asarray(groups, dtype=np.int64)
    n_groups = int(labels.max(initial=0)) + 1
    _, labels, members = _checked(np.ones((len(labels), 1)), clusters, labels, n_groups)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))

    def means(of: Integers) -> Floats:
        drawn = of[lists]
        return np.array([[metric(drawn[:, :k]).mean() for k in cutoffs] for metric in metrics])

    observed = means(labels)
    permuted = np.empty((draws, *observed.shape))
    for draw in range(draws):
        permuted[draw] = means(_relabelled(labels, members, rng))
    floor, sd = permuted.mean(axis=0), permuted.std(axis=0, ddof=1)
    far = np.abs(observed - floor) * (1 - ROUNDING)
    p = (1 + (np.abs(permuted - floor) >= far).sum(axis=0)) / (1 + draws)
    return [MatchedFloor(*numbers) for numbers in zip(floor, sd, p, strict=True)]


def _checked(
    weights: ArrayLike, clusters: ArrayLike, groups: ArrayLike, n_groups: int
) -> tuple[Floats, Integers, list[Integers]]:
    """Weights, labels and the rows of clusters with two items or more, `(n_clusters, size)` for each size."""
    table = np.asarray(weights, dtype=np.float64)
    labels, names = np.asarray(groups, dtype=np.int64), np.asarray(clusters, dtype=np.int64)
    if table.ndim != 2 or labels.shape != (len(table),) or names.shape != (len(table),):
        raise StatsInputError(
            f"weights must be (n_items, n_columns), clusters and groups (n_items,); "
            f"got {table.shape}, {names.shape} and {labels.shape}"
        )
    if labels.size and (labels.min() < 0 or labels.max() >= n_groups):
        raise StatsInputError(f"groups must lie between 0 and {n_groups - 1}; got {labels.max()}")
    if not np.isfinite(table).all() or (table < 0).any():
        raise StatsInputError("weights must be finite and not negative")
    order = np.argsort(names, kind="stable")
    order = order[names[order] >= 0]
    _, first, sizes = np.unique(names[order], return_index=True, return_counts=True)
    members = [
        order[first[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes) if size > 1
    ]
    return table, labels, members


def _held(table: Floats, labels: Integers, n_groups: int) -> Floats:
    """The weight of each group, `(n_groups, n_columns)`."""
    return np.stack([np.bincount(labels, weights=column, minlength=n_groups) for column in table.T], axis=1)


def _relabelled(labels: Integers, members: list[Integers], rng: np.random.Generator) -> Integers:
    """The labels after one permutation within each cluster."""
    permuted = labels.copy()
    for rows in members:
        permuted[rows] = rng.permuted(labels[rows], axis=1)
    return permuted


def _draws(
    table: Floats, labels: Integers, members: list[Integers], n_groups: int, draws: int, seed: int
) -> Iterator[Floats]:
    """Weight by group of the items in clusters in permutations, `(some draws, n_groups, n_columns)`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    shape = (n_groups, table.shape[1])
    shifts = _shift_tables(table, labels, [rows for rows in members if rows.shape[1] <= SHIFTED], shape, rng)
    large = [rows for rows in members if SHIFTED < rows.shape[1] <= TURNED]
    whole = [cluster for rows in members if rows.shape[1] > TURNED for cluster in rows]
    shifts += [_turned(table[rows], labels[rows], n_groups, draws, rng) for rows in whole]
    step = max(1, NUMBERS_AT_ONCE // (shape[0] * shape[1]))
    for start in range(0, draws, step):
        drawn = np.zeros((min(step, draws - start), shape[0] * shape[1]))
        for block in shifts:
            drawn += block[rng.integers(len(block), size=len(drawn))]
        for draw in range(len(drawn)) if large else ():
            for rows in large:
                permuted = rng.permuted(labels[rows], axis=1).ravel()
                drawn[draw] += _held(table[rows.ravel()], permuted, n_groups).ravel()
        yield drawn.reshape(-1, *shape)


def _shift_tables(
    table: Floats, labels: Integers, members: list[Integers], shape: tuple[int, int], rng: np.random.Generator
) -> list[Floats]:
    """For each block of clusters, the weight by group after each of its shifts: `(size, cells)`."""
    n_groups, n_columns = shape
    n_clusters = sum(len(rows) for rows in members)
    tables: list[Floats] = []
    for rows in members:
        size = rows.shape[1]
        n_blocks = min(len(rows), -(-len(rows) * BLOCKS // n_clusters))
        mixed = rng.permuted(rng.permutation(rows, axis=0), axis=1)
        block = np.arange(len(rows)) % n_blocks * n_groups
        held, cell = table[mixed].reshape(-1, n_columns).T, labels[mixed] + block[:, None]
        of_size = np.empty((size, n_columns, n_blocks * n_groups))
        for shift in range(size):
            cells = np.roll(cell, shift, axis=1).ravel()
            for column in range(n_columns):
                of_size[shift, column] = np.bincount(
                    cells, weights=held[column], minlength=n_blocks * n_groups
                )
        by_block = of_size.reshape(size, n_columns, n_blocks, n_groups).transpose(2, 0, 3, 1)
        tables.extend(np.ascontiguousarray(by_block).reshape(n_blocks, size, -1))
    return tables


def _turned(table: Floats, labels: Integers, n_groups: int, draws: int, rng: np.random.Generator) -> Floats:
    """The weight by group after `draws` different shifts of one cluster, or all it has: `(shifts, cells)`.

    All shifts of a group are one circular correlation of the weights with the places of its labels.
    """
    size = len(labels)
    order = rng.permutation(size)
    steps = rng.permutation(size)[:draws]
    weights = np.fft.rfft(table[order], axis=0)
    held = np.empty((len(steps), n_groups, table.shape[1]))
    for group in range(n_groups):
        places = np.fft.rfft((labels[order] == group).astype(np.float64))
        held[:, group] = np.fft.irfft(weights * places.conj()[:, None], size, axis=0)[steps]
    return held.reshape(len(steps), -1)
