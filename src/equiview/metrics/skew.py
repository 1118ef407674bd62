"""Whom a search shows: Skew, MaxSkew and NDKL of demographic groups, and KL between groups' scores.

Following "From Global to Local: Social Bias Transfer in CLIP" (Eq. 1 and 2) and Geyik, Ambler and Kenthapadi,
"Fairness-Aware Ranking in Search and Recommendation Systems" (2019), of whom Skew and NDKL are. `groups` is
`(n_prompts, k)`: the group of each retrieved image from 0, best rank first. `pool_shares`, `(n_groups,)`, are
the groups' shares of the whole set. Logarithms are natural.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_groups, as_shares
from equiview.metrics.prevalence import group_exposure


def skew(groups: ArrayLike, pool_shares: ArrayLike) -> NDArray[np.float64]:
    """Skew@k of each group: ln of its share of the `k` results over its share of the set.

    Returns `(n_prompts, n_groups)`: 0 where a group is shown as often as it is there, ln 2 where twice as
    often, -inf where it is not shown at all.

    Raises UndefinedMetricError for no prompt, no rank, fewer than 2 groups or a group with no share of the
    set; MetricInputError for a group outside 0 .. n_groups - 1 or shares that do not sum to 1.

    >>> skew([[0, 0, 0, 1], [1, 1, 1, 1]], pool_shares=[0.5, 0.5]).round(4).tolist()
    [[0.4055, -0.6931], [-inf, 0.6931]]
    """
    shares = _as_pool(pool_shares)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(group_exposure(groups, len(shares)) / shares))


def max_skew(groups: ArrayLike, pool_shares: ArrayLike) -> NDArray[np.float64]:
    """MaxSkew@k: the largest `skew` of a group, `(n_prompts,)`; at least 0, and seldom 0 by chance.

    Errors are those of `skew`.

    >>> max_skew([[0, 0, 0, 1], [1, 1, 1, 1]], pool_shares=[0.5, 0.5]).round(4).tolist()
    [0.4055, 0.6931]
    """
    largest: NDArray[np.float64] = skew(groups, pool_shares).max(axis=1)
    return np.maximum(largest, 0.0)  # shares of both sum to 1, but for rounding


def ndkl(groups: ArrayLike, pool_shares: ArrayLike) -> NDArray[np.float64]:
    """Normalised discounted KL divergence of every top i from the set, weighted by 1 / log2(i + 1).

    Returns `(n_prompts,)`, in nats: sum over i = 1 .. k of KL(shares of the top i, `pool_shares`) x w_i, over
    the sum of the w_i (Geyik et al., Definition 3.3). A group that is not shown adds nothing. Errors are
    those of `skew`.

    >>> ndkl([[0, 1]], pool_shares=[0.5, 0.5]).round(4).tolist()
    [0.425]
    """
    shares = _as_pool(pool_shares)
    table = as_groups(groups, len(shares))
    ranks = np.arange(1, table.shape[1] + 1)
    weights = 1 / np.log2(ranks + 1)
    total = np.zeros(len(table))
    for group, share in enumerate(shares):
        shown = np.cumsum(table == group, axis=1) / ranks
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(shown > 0, shown * np.log(shown / share), 0.0)
        total += parts @ weights
    return np.asarray(np.maximum(total / weights.sum(), 0.0))


def demographic_divergence(scores: ArrayLike) -> float:
    """KL divergence between groups' normalised scores and equal ones: sum p_a ln(p_a |A|), in nats.

    `scores`, `(n_groups,)`, are one number a group, such as R@k, accuracy or CIDEr: p_a is a group's score
    over the sum of all. 0 when all are equal, high or low: so read the scores beside it.

    Raises UndefinedMetricError for fewer than 2 groups or where all scores are 0; MetricInputError for a
    score that is negative, nan or infinite.

    >>> round(demographic_divergence([0.6, 0.3]), 4), demographic_divergence([0.4, 0.4])
    (0.0566, 0.0)
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise MetricInputError(f"scores must have shape (n_groups,); got {values.shape}")
    if len(values) < 2:
        raise UndefinedMetricError(f"scores of {len(values)} groups: comparing groups takes at least 2")
    if not np.isfinite(values).all() or (values < 0).any():
        raise MetricInputError(f"scores must be finite and not negative; got {values.tolist()}")
    if not values.any():
        raise UndefinedMetricError("every score is 0: there is nothing to share among the groups")
    values = values / values.max()  # so that no sum overflows
    shares = values[values > 0] / values.sum()
    return max(0.0, float(shares @ np.log(shares * len(values))))


def _as_pool(pool_shares: ArrayLike) -> NDArray[np.float64]:
    """Shares of the set, of two groups or more, each above 0."""
    shares = np.asarray(pool_shares, dtype=np.float64)
    if shares.ndim == 1 and len(shares) < 2:
        raise UndefinedMetricError(f"pool_shares of {len(shares)} groups: comparing groups takes at least 2")
    shares = as_shares(shares, shares.size, "pool_shares")
    if not shares.all():
        absent = int(np.argmin(shares > 0))
        raise UndefinedMetricError(f"group {absent} has no share of the set, so nothing can be over it")
    return shares
