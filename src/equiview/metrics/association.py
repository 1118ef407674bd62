"""Association bias: which of three images wins a query, and whether culture beats meaning.

From "Evaluating Perspectival Biases in Cross-Modal Retrieval" (P), section 3.2: a trial scores one query, in
the language of a culture, against three images, in this order: semantic (same concept, other culture),
cultural (same culture, other concept), non-relevant (other, other). Functions of `scores` take them as
`(n_trials, 3)`, higher being closer; any unit, since only the order within a trial counts.

Ties: the reference code takes the first of the three (`ties="first"`, the default, which gave the published
numbers); Eq. 3 read literally counts a win for each tied image (`"all"`, so a trial may hold several); ours
is to share one win among them (`"split"`).
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_table, one_of

Ties = Literal["first", "all", "split"]


def wins(scores: ArrayLike, *, ties: Ties = "first") -> NDArray[np.float64]:
    """Who wins each trial, `(n_trials, 3)`: 1, 0 or, where a win is split, 1/2 or 1/3.

    `scores` is `(n_trials, 3)`, ordered (semantic, cultural, non-relevant). The means of the columns are P's
    M_k (Eq. 3); a trial's row is what a bootstrap over trials resamples.

    Raises UndefinedMetricError for no trial; MetricInputError for other than 3 columns or a score that is
    not finite.

    >>> wins([[0.3, 0.1, 0.2], [0.5, 0.5, 0.1]], ties="split").tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    one_of(ties, "ties", ("first", "all", "split"))
    table = as_table(scores, "scores", "3", rows="n_trials")
    if table.shape[1] != 3:
        raise MetricInputError(
            f"scores must have 3 columns: semantic, cultural, non-relevant; got {table.shape[1]}"
        )
    if not np.isfinite(table).all():
        trial = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise MetricInputError(f"trial {trial} has a score that is not finite: {table[trial].tolist()}")
    if ties == "first":
        return np.asarray(np.eye(3)[table.argmax(axis=1)])
    best: NDArray[np.float64] = (table == table.max(axis=1, keepdims=True)).astype(np.float64)
    if ties == "split":
        best /= best.sum(axis=1, keepdims=True)
    return best


def win_rates(scores: ArrayLike, *, ties: Ties = "first") -> NDArray[np.float64]:
    """Share of trials that each kind of image wins, `(3,)`: M_sem, M_cul, M_non (P, Eq. 3).

    `scores` is `(n_trials, 3)`, ordered (semantic, cultural, non-relevant). The shares sum to 1, or more with
    `ties="all"`. Blind scores give 1/3 each. Pool all trials for an overall rate, as P does: the mean of
    countries' rates is something else. Errors are those of `wins`.

    >>> win_rates([[0.3, 0.1, 0.2], [0.2, 0.5, 0.1], [0.9, 0.5, 0.1], [0.4, 0.5, 0.8]]).tolist()
    [0.5, 0.25, 0.25]
    """
    return np.asarray(wins(scores, ties=ties).mean(axis=0))


def self_preference(scores: ArrayLike, *, ties: Ties = "first") -> float:
    """Self-Preference Cultural Bias score (P, Eq. 4): M_cul / M_sem, from 0 to infinity.

    `scores` is `(n_trials, 3)`, ordered (semantic, cultural, non-relevant). 1 is what blind scores give;
    above it culture beats meaning. Without any semantic win it is infinite and a RuntimeWarning says so.

    Raises UndefinedMetricError when neither kind wins a trial (0 / 0), and what `wins` raises.

    >>> self_preference([[0.3, 0.1, 0.2], [0.2, 0.5, 0.1], [0.9, 0.5, 0.1], [0.4, 0.5, 0.8]])
    0.5
    """
    semantic, cultural, _ = wins(scores, ties=ties).sum(axis=0).tolist()
    if semantic > 0:
        return float(cultural / semantic)
    if cultural == 0:
        raise UndefinedMetricError("no trial is won by the semantic or the cultural image: SP would be 0 / 0")
    warnings.warn("no trial is won by the semantic image, so SP is infinite", RuntimeWarning, stacklevel=2)
    return float("inf")


def preference_ratio(cultural: ArrayLike, semantic: ArrayLike) -> NDArray[np.float64]:
    """SP from win rates that are known already (P, Eq. 4): `cultural` / `semantic`, elementwise, from 0.

    Both are numbers or arrays of one shape, which the result has too: rates of groups, or replicates of a
    bootstrap. It is infinite where no semantic image wins, and nan where neither kind does, or a rate is nan:
    0 / 0 is no ratio, and `equiview.stats.interval` leaves such replicates out.

    Raises UndefinedMetricError for no rate; MetricInputError for shapes that differ, or a rate that is
    negative or infinite.

    >>> preference_ratio([0.25, 0.1, 0.0], [0.5, 0.0, 0.0]).tolist()
    [0.5, inf, nan]
    """
    top, bottom = np.asarray(cultural, dtype=np.float64), np.asarray(semantic, dtype=np.float64)
    if top.shape != bottom.shape:
        raise MetricInputError(f"cultural and semantic must have one shape; got {top.shape}, {bottom.shape}")
    if not top.size:
        raise UndefinedMetricError("cultural is empty: there is no rate to compare")
    for name, rates in (("cultural", top), ("semantic", bottom)):
        if np.isinf(rates).any() or (rates < 0).any():
            raise MetricInputError(f"{name} must hold rates, finite and not negative")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top / bottom)
