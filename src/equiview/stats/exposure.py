"""How much of lists a group of items holds, against its share among items that are equally right.

Each image's captions are equally right for it, so a retriever blind to their group shows each with the same
probability. A group's ratio is its weight in lists over that expectation. Two things vary: which queries are
asked, and which captions there are. Where a few captions stand in many lists (hubs), queries agree by those
captions alone, and resampling queries shows a fraction of the error. So the variance is two-way: over queries
and over images of the captions, less what both count (Cameron, Gelbach and Miller, "Robust Inference with
Multiway Clustering", Journal of Business and Economic Statistics, 2011). That over images is at least what
exchanging groups within images gives, which stays known where a group is shown too rarely to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError
from equiview.stats._check import as_level, whole_number
from equiview.stats.matched import rank_weights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
HALVINGS = 50
"""Steps by which an end of an interval is found, to 1e-15 of its range."""
FARTHEST = 1e4
"""A ratio beyond which the end of an interval is infinite."""


@dataclass(frozen=True)
class MatchedExposure:
    """Weight of groups in lists, and what it would be on average if groups were exchanged within clusters.

    `by_query` is `(2, n_cutoffs, n_queries, n_groups)`: the observed and the expected share of each list.
    `by_cluster` is `(2, n_cutoffs, n_clusters, n_groups)`: the same totals by the items' clusters.
    `exchangeable` is `(n_cutoffs,)`, the share of the weight of items that have others of another group in
    their cluster; only these count. Methods return `(n_cutoffs, n_groups)`, nan for a group that has none.
    """

    by_query: Floats
    by_cluster: Floats
    exchangeable: Floats
    squares: Floats
    """Variance by query, cluster and both: coefficients of 1, -2r and r^2, `(3, 3, n_cutoffs, n_groups)`."""
    exchanged: Floats
    """Variance when groups are exchanged."""
    mean_share: Floats
    """Share of a group among the items of a cluster, by weight."""

    @cached_property
    def _totals(self) -> Floats:
        """Observed and expected weight, `(2, n_cutoffs, n_groups)`."""
        return np.asarray(self.by_cluster.sum(axis=2))

    @cached_property
    def value(self) -> Floats:
        """Observed weight over the expected one."""
        observed, expected = self._totals
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(observed / expected)

    @cached_property
    def df(self) -> Floats:
        """Degrees of freedom: clusters, as many as if all had the same weight in the variance."""
        parts = (self.by_cluster[0] - self.by_cluster[1]) ** 2
        squared = (parts**2).sum(axis=1)
        of = np.divide(parts.sum(axis=1) ** 2, squared, out=np.ones_like(squared), where=squared > 0)
        return np.asarray(np.maximum(of, 1.0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """All ratios that a two-sided test does not reject, by Student's t: their least and largest."""
        from scipy.special import stdtrit  # slow to import

        value, reach = self.value, stdtrit(self.df, (1 + as_level(level)) / 2)
        ends = []
        for farthest in (0.0, FARTHEST):
            inside, outside = value.copy(), np.full_like(value, farthest)
            beyond = np.abs(self._z(outside)) > reach
            for _ in range(HALVINGS):
                middle = (inside + outside) / 2
                rejected = np.abs(self._z(middle)) > reach
                inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
            ends.append(np.where(beyond, inside, farthest if farthest == 0 else np.inf))
        return np.where(np.isnan(value), np.nan, ends[0]), np.where(np.isnan(value), np.nan, ends[1])

    def p_beyond(self, tolerance: float) -> Floats:
        """The p value of a ratio within a factor 1 / (1 - `tolerance`) of 1; of 1 for a tolerance of 0."""
        from scipy.special import stdtr  # slow to import

        low = np.full_like(self.value, 1 - tolerance)
        z = np.stack([self._z(low), self._z(1 / low)])
        less, more = (stdtr(self.df, side).sum(axis=0) for side in (z, -z))
        return np.asarray(np.where(np.isnan(self.value), np.nan, np.minimum(less, more).clip(0, 1)))

    def draws(self, replicates: int, seed: int) -> Floats:
        """Ratios that vary together as the estimates do, `(replicates, n_cutoffs, n_groups)`.

        The part of each cluster and of each query is multiplied by a normal number.
        """
        rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
        drawn = np.zeros((whole_number(replicates, "replicates", 1), self.value.size))
        total = self.by_cluster[1].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            for table, sums in ((self.by_cluster, 1), (self.by_query, self.by_query.shape[2])):
                parts = (table[0] - self.value[:, None] * table[1]) / (sums * total[:, None])
                flat = parts.transpose(1, 0, 2).reshape(parts.shape[1], -1)
                drawn += rng.standard_normal((len(drawn), len(flat))) @ flat
            return np.asarray(self.value + drawn.reshape(-1, *self.value.shape))

    def _z(self, ratio: Floats) -> Floats:
        """How many standard errors the observed weight lies above that of a ratio."""
        observed, expected = self._totals
        by_query, by_cluster, both = (at[0] - 2 * ratio * at[1] + ratio**2 * at[2] for at in self.squares)
        binomial = ratio * (1 - ratio * self.mean_share) / (1 - self.mean_share)
        variance = np.maximum(by_cluster, self.exchanged * np.maximum(binomial, 0))
        variance = variance + np.maximum(by_query - both, 0)
        apart = observed - ratio * expected
        apart = np.where(np.abs(apart) < 1e-12, 0.0, apart)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(apart == 0, 0.0, apart / np.sqrt(np.maximum(variance, 0))))


def matched_exposure(
    ranked: ArrayLike, clusters: ArrayLike, groups: ArrayLike, n_groups: int, cutoffs: Sequence[int]
) -> MatchedExposure:
    """Exposure of groups in the first `cutoffs` of lists, rank i counting 1 / log2(i + 1).

    `ranked` is `(n_queries, depth)` item numbers, best first; `clusters`, `(n_items,)` from 0, names items
    that are equally right but for their group, and -1 an item without equals; `groups` is `(n_items,)` from
    0.

    Raises StatsInputError for arrays that do not fit.

    Item 0 stands first for both queries: that is one hub, and no proof that group 0 is preferred.

    >>> lists = matched_exposure([[0, 1], [0, 1]], [0, 0], [0, 1], 2, [1])
    >>> lists.value.tolist(), lists.by_cluster[1, 0].tolist(), bool(lists.interval()[0][0, 0] < 1)
    ([[2.0, 0.0]], [[0.5, 0.5]], True)
    """
    items, labels = np.asarray(ranked, dtype=np.int64), np.asarray(groups, dtype=np.int64)
    names = np.asarray(clusters, dtype=np.int64)
    if labels.ndim != 1 or names.shape != labels.shape:
        raise StatsInputError(f"clusters and groups must be (n_items,); got {names.shape} and {labels.shape}")
    if labels.size and (labels.min() < 0 or labels.max() >= n_groups):
        raise StatsInputError(f"groups must lie between 0 and {n_groups - 1}; got {labels.max()}")
    held = rank_weights(items, len(labels), cutoffs)
    n_clusters = int(names.max(initial=-1)) + 1
    rows = np.where(names < 0, n_clusters, names)  # the last row is of items without equals
    counts = _table(rows, labels, None, (n_clusters + 1, n_groups))
    counts[n_clusters] = 0
    sizes = counts.sum(axis=1)
    shares = counts / np.maximum(sizes, 1)[:, None]
    mixed = (shares > 0) & (shares < 1)
    shares = np.where(mixed, shares, 0.0)
    counted = mixed[rows, labels]

    n_queries, shape = len(items), (n_clusters + 1, n_groups)
    discounts = 1 / np.log2(np.arange(2, max(cutoffs) + 2))
    by_query = _by_query(items, labels, rows, shares, counted, cutoffs)
    by_cluster, exchangeable = np.empty((2, len(cutoffs), *shape)), np.empty(len(cutoffs))
    exchanged = np.empty((len(cutoffs), n_groups))
    for place, k in enumerate(cutoffs):
        weight = held[:, place] / (n_queries * discounts[:k].sum())
        total = np.bincount(rows, weight, minlength=shape[0])
        by_cluster[0, place] = _table(rows, labels, weight * counted, shape)
        by_cluster[1, place] = total[:, None] * shares
        exchangeable[place] = total[mixed.any(axis=1)].sum() / total.sum()
        apart = np.bincount(rows, weight**2, minlength=shape[0]) - total**2 / np.maximum(sizes, 1)
        each = np.divide(apart, sizes * (sizes - 1), out=np.zeros_like(apart), where=sizes > 1)
        exchanged[place] = np.maximum(each, 0) @ np.where(mixed, counts * (sizes[:, None] - counts), 0.0)
    squares = np.stack(
        [
            *(
                np.stack([(a * b).sum(axis=1) for a, b in ((o, o), (o, e), (e, e))])
                for o, e in (by_query / n_queries, by_cluster)
            ),
            _squares_of_pairs(items, rows, labels, shares, cutoffs),
        ]
    )
    weights = by_cluster[1].sum(axis=1)
    mean_share = np.einsum("kcg,cg->kg", by_cluster[1], shares)
    mean_share = np.divide(mean_share, weights, out=np.zeros_like(weights), where=weights > 0)
    return MatchedExposure(by_query, by_cluster[:, :, :-1], exchangeable, squares, exchanged, mean_share)


def _by_query(
    items: Integers,
    labels: Integers,
    rows: Integers,
    shares: Floats,
    counted: NDArray[np.bool_],
    cutoffs: Sequence[int],
) -> Floats:
    """Observed and expected share of each list, `(2, n_cutoffs, n_queries, n_groups)`."""
    by_query = np.zeros((2, len(cutoffs), len(items), shares.shape[1]))
    queries, so_far, total = np.arange(len(items)), np.zeros((2, len(items), shares.shape[1])), 0.0
    for rank in range(1, max(cutoffs) + 1):
        at, weight = items[:, rank - 1], 1 / np.log2(rank + 1)
        so_far[0, queries, labels[at]] += weight * counted[at]
        so_far[1] += weight * shares[rows[at]]
        total += weight
        if rank in cutoffs:
            by_query[:, list(cutoffs).index(rank)] = so_far / total
    return by_query


def _squares_of_pairs(
    items: Integers, rows: Integers, labels: Integers, shares: Floats, cutoffs: Sequence[int]
) -> Floats:
    """Sums over pairs of a query and a cluster of observed^2, observed x expected and expected^2."""
    n_rows, n_groups = shares.shape
    n_queries, shown = len(items), items[:, : max(cutoffs)]
    discounts = 1 / np.log2(np.arange(2, shown.shape[1] + 2))
    queries = np.arange(n_queries)[:, None]
    cells, cell_of = np.unique(
        (queries * n_rows + rows[shown]) * n_groups + labels[shown], return_inverse=True
    )
    pairs, label = cells // n_groups, cells % n_groups
    new = np.diff(pairs, prepend=-1) > 0
    pair, row_of = np.cumsum(new) - 1, pairs[new] % n_rows
    cell_of = cell_of.reshape(shown.shape)
    pair_of = pair[cell_of]
    share = shares[row_of[pair], label]
    squares = np.empty((3, len(cutoffs), n_groups))
    for place, k in enumerate(cutoffs):
        spread = np.broadcast_to(discounts[:k] / (n_queries * discounts[:k].sum()), (n_queries, k)).ravel()
        of_pair = np.bincount(pair_of[:, :k].ravel(), spread, minlength=len(row_of))
        of_cell = np.bincount(cell_of[:, :k].ravel(), spread, minlength=len(cells)) * (share > 0)
        squares[0, place] = np.bincount(label, of_cell**2, minlength=n_groups)
        squares[1, place] = np.bincount(label, of_cell * of_pair[pair] * share, minlength=n_groups)
        squares[2, place] = np.bincount(row_of, of_pair**2, minlength=n_rows) @ shares**2
    return squares


def _table(rows: Integers, labels: Integers, weights: Floats | None, shape: tuple[int, int]) -> Floats:
    """Sums of weights, or counts, by row and group."""
    cells = np.bincount(rows * shape[1] + labels, weights, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.float64)
