"""Prevalence bias: how far some groups of results crowd out others that are equally right.

From "Evaluating Perspectival Biases in Cross-Modal Retrieval" (P): the captions of every language are in
one pool, and the top `k` for an image should not depend on how much is written in a language. Every function
takes `groups`, `(n_queries, k)`: the group (a language, a tier of languages, ...) of the item at each rank,
best first, as an index from 0. All ranks count: cut the lists to the `k` that is meant.

The divergences are not 0 for a fair retriever, since k draws cannot match P exactly, and are dominated by
`eps` where one group fills the list. Read them beside a chance floor (`equiview.stats.chance_floor`) and
`single_group_share`; that advice is ours, the paper has neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError
from equiview.metrics._check import as_shares, checked_groups, one_of

Prior = Literal["uniform", "pool"] | ArrayLike
Pool = ArrayLike | None
AT_ONCE = 2**15
"""Ranks of queries that are added up at once: they stay in a cache."""
FEW = 8
"""Groups up to which it is faster to count each by itself."""


def lbkl(
    groups: ArrayLike, n_groups: int, *, prior: Prior = "uniform", pool_shares: Pool = None, eps: float = 1e-9
) -> NDArray[np.float64]:
    """Language Bias Kullback-Leibler divergence (P, Eq. 1), in nats.

    `groups` is `(n_queries, k)`; returns `(n_queries,)`: for each query sum_g P_g ln(P_g / Q_g), where Q_g is
    the share of group g among its `k` results and P what a fair list would hold:

    - `prior="uniform"`: every group alike, which is what all published numbers used;
    - `prior="pool"`: `pool_shares`, `(n_groups,)`, the groups' shares of the pool, as the text has it;
    - an array, `(n_groups,)`: any other shares.

    A Q_g of exactly 0 is replaced by `eps`, neither renormalising nor smoothing the others, as in the
    published numbers: LBKL@1 of two groups is 9.6685 whatever is retrieved. P_g = 0 contributes nothing. The
    value is never negative, but for about `n_groups` x `eps` by which the replaced zeros can exceed 1 in all.

    Raises UndefinedMetricError for no query, no rank or fewer than 2 groups; MetricInputError for a group
    outside 0 .. `n_groups` - 1, shares that do not sum to 1, or `eps` outside (0, 1).

    Tiers of five results, high or medium (0) and low (1), from Fig. 12 of the paper:

    >>> lbkl([[0, 0, 0, 0, 1], [1, 1, 1, 0, 0]], n_groups=2).round(4).tolist()
    [0.2231, 0.0204]
    """
    return _divergence(group_exposure(groups, n_groups), _prior_shares(prior, pool_shares, n_groups), eps)


def dlbkl(
    groups: ArrayLike, n_groups: int, *, prior: Prior = "uniform", pool_shares: Pool = None, eps: float = 1e-9
) -> NDArray[np.float64]:
    """Discounted LBKL (P, Eq. 2): as `lbkl`, each rank i counting 1 / log2(i + 1), in nats.

    `groups` is `(n_queries, k)`; returns `(n_queries,)`. Q_g is the sum of the weights of the ranks that g
    holds over the sum of all weights, so a group shown first counts for more than one shown last. Arguments,
    treatment of Q_g = 0 and errors are those of `lbkl`.

    >>> dlbkl([[0, 0, 0, 0, 1], [1, 1, 1, 0, 0]], n_groups=2).round(4).tolist()
    [0.3927, 0.1106]
    """
    exposure = group_exposure(groups, n_groups, discount="log2")
    return _divergence(exposure, _prior_shares(prior, pool_shares, n_groups), eps)


def group_exposure(
    groups: ArrayLike, n_groups: int, *, discount: Literal["log2"] | None = None
) -> NDArray[np.float64]:
    """Share of each query's results that each group holds: the Q of `lbkl`, or with "log2" of `dlbkl`.

    `groups` is `(n_queries, k)`; returns `(n_queries, n_groups)` shares, each row summing to 1. Errors are
    those of `lbkl`.

    >>> group_exposure([[0, 0, 0, 2]], n_groups=3).tolist()
    [[0.75, 0.0, 0.25]]
    >>> group_exposure([[0, 2]], n_groups=3, discount="log2").round(4).tolist()
    [[0.6131, 0.0, 0.3869]]
    """
    table = checked_groups(groups, n_groups)
    (exposure,) = _exposures(table, n_groups, (table.shape[1],), discount)
    return np.ascontiguousarray(exposure)


def divergences_at(
    groups: ArrayLike,
    n_groups: int,
    cutoffs: Sequence[int],
    *,
    discount: Literal["log2"] | None = None,
    prior: Prior = "uniform",
    pool_shares: Pool = None,
    eps: float = 1e-9,
) -> NDArray[np.float64]:
    """`lbkl`, or with "log2" `dlbkl`, of the first k ranks for each k of `cutoffs`, ascending.

    `groups` is `(n_queries, depth)`; returns `(n_cutoffs, n_queries)`, the same numbers as one call a cutoff,
    but every rank is looked at once. Arguments and errors are otherwise those of `lbkl`.

    >>> divergences_at([[0, 0, 0, 0, 1]], 2, [1, 5]).round(4).tolist()
    [[9.6685], [0.2231]]
    """
    table = checked_groups(groups, n_groups)
    if not len(cutoffs) or list(cutoffs) != sorted(set(cutoffs)) or not 1 <= cutoffs[0] <= cutoffs[-1]:
        raise MetricInputError(f"cutoffs must be whole numbers from 1, ascending; got {list(cutoffs)}")
    if cutoffs[-1] > table.shape[1]:
        raise MetricInputError(f"groups reach rank {table.shape[1]} only; cutoff {cutoffs[-1]} lies beyond")
    fair = _prior_shares(prior, pool_shares, n_groups)
    exposures = _exposures(table, n_groups, cutoffs, discount)
    return np.array([_divergence(exposure, fair, eps) for exposure in exposures])


def _exposures(
    table: NDArray[np.integer[Any]], n_groups: int, cutoffs: Sequence[int], discount: Literal["log2"] | None
) -> Iterator[NDArray[np.float64]]:
    """The exposure `(n_queries, n_groups)` of the first k ranks for each k of `cutoffs`, then overwritten."""
    if discount is not None:
        one_of(discount, "discount", ("log2",))
    n_queries = len(table)
    by_rank = np.ascontiguousarray(table[:, : cutoffs[-1]].T)
    weights = 1 / np.log2(np.arange(2, cutoffs[-1] + 2)) if discount else np.ones(cutoffs[-1])
    held, exposure = np.zeros((2, n_groups * n_queries))
    start, step = 0, max(1, AT_ONCE // n_queries)
    for k in cutoffs:
        if discount is None and n_groups <= FEW:
            for group, counts in enumerate(held.reshape(n_groups, n_queries)):
                np.add(counts, np.add.reduce(by_rank[start:k] == group, axis=0, dtype=np.int32), out=counts)
            start = k
        for first in range(start, k, step):
            some = slice(first, min(first + step, k))
            cells = (by_rank[some].astype(np.int64) * n_queries + np.arange(n_queries)).ravel()
            # Rank by rank, however they are cut.
            np.add.at(held, cells, np.repeat(weights[some], n_queries))
        np.divide(held, weights[:k].sum(), out=exposure)
        yield exposure.reshape(n_groups, n_queries).T
        start = k


def single_group_share(groups: ArrayLike) -> NDArray[np.float64]:
    """Is every result of the query of one group: 1 or 0 for each; its mean is the share of such queries.

    `groups` is `(n_queries, k)`; returns `(n_queries,)`. These are the queries where `eps` decides `lbkl` of
    two groups; the paper's 6.904 for CLIP at k = 5 is about 71% of them. This measure is ours.

    Raises UndefinedMetricError for no query or no rank; MetricInputError for a negative group.

    >>> single_group_share([[1, 1, 1], [1, 0, 1]]).tolist()
    [1.0, 0.0]
    """
    table = checked_groups(groups)
    alone: NDArray[np.float64] = (table == table[:, :1]).all(axis=1).astype(np.float64)
    return alone


def _divergence(exposure: NDArray[np.float64], fair: NDArray[np.float64], eps: float) -> NDArray[np.float64]:
    """KL divergence between P, `fair`, and each row Q of `exposure`, `(n_queries,)`."""
    if not 0 < eps < 1:
        raise MetricInputError(f"eps must lie between 0 and 1; got {eps}")
    if not (wanted := fair > 0).all():
        fair, exposure = fair[wanted], exposure[:, wanted]
    exposure = np.asfortranarray(exposure)
    np.copyto(exposure, eps, where=exposure == 0)
    np.log(exposure, out=exposure)
    # A group after the other: a product of matrices rounds by which other queries are there.
    divergence = np.zeros(len(exposure))
    for share, logarithm, column in zip(fair, np.log(fair), exposure.T, strict=True):
        np.subtract(logarithm, column, out=column)
        np.multiply(column, share, out=column)
        divergence += column
    return divergence


def _prior_shares(prior: Prior, pool_shares: Pool, n_groups: int) -> NDArray[np.float64]:
    """Return P as `(n_groups,)` shares."""
    if not isinstance(prior, str):
        return as_shares(prior, n_groups, "prior")
    one_of(prior, "prior", ("uniform", "pool"))
    if prior == "uniform":
        return np.full(n_groups, 1 / n_groups)
    if pool_shares is None:
        raise MetricInputError("prior='pool' needs pool_shares, the share of each group in the pool")
    return as_shares(pool_shares, n_groups, "pool_shares")
