"""Parity across languages and groups: how unequal accuracies are, and what a gap is made of.

From "Assessing Multilingual Fairness in Pre-trained Multimodal Representations" (F), section 4. `correct`
says for each query whether it was answered correctly: bools, or shares from 0 to 1 where a query was asked
several times (captions, paraphrases of a prompt). Groups are of the images: 1 for group a, 0 for group b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_table


def cross_lingual_gaps(correct: ArrayLike, pivot: int = 0) -> NDArray[np.float64]:
    """Acc(pivot) - Acc(l) for each language l, `(n_languages,)` in [-1, 1] (F, Eq. 3).

    `correct` is `(n_queries, n_languages)`, the same queries in each language, nan where a query was not
    asked in a language: each accuracy is over what was asked. `pivot` is a column. Gaps of any pair are
    differences of these, so that gap(l, l') = -gap(l', l).

    Raises UndefinedMetricError for no query, or a language in which none was asked; MetricInputError for
    values outside [0, 1] or no such column.

    >>> cross_lingual_gaps([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0]]).tolist()
    [0.0, 0.25, 0.5]
    >>> cross_lingual_gaps([[1, 1], [0, np.nan]], pivot=1).tolist()
    [0.5, 0.0]
    """
    table = _shares(as_table(correct, "correct", "n_languages"), "correct", missing=True)
    if not 0 <= pivot < table.shape[1]:
        raise MetricInputError(f"pivot must be a column from 0 to {table.shape[1] - 1}; got {pivot}")
    empty = np.isnan(table).all(axis=0)
    if empty.any():
        raise UndefinedMetricError(f"correct: no query was asked in the language of column {empty.argmax()}")
    accuracy = np.nanmean(table, axis=0)
    return np.asarray(accuracy[pivot] - accuracy)


def group_rate_gap(correct: ArrayLike, groups: ArrayLike) -> float:
    """Acc_a - Acc_b within one language, in [-1, 1] (F, Eq. 5).

    `correct` and `groups` are `(n_queries,)`, groups 1 for a and 0 for b.

    Raises UndefinedMetricError for no query or a group without any; MetricInputError for shapes that differ,
    values outside [0, 1] or other groups.

    >>> group_rate_gap([1, 1, 0, 1], [1, 1, 0, 0])
    0.5
    """
    (answers,), member = _columns({"correct": correct}, groups)
    return float(_gaps(answers, member))


def group_rate_gaps(correct: ArrayLike, groups: ArrayLike) -> NDArray[np.float64]:
    """`group_rate_gap` of every language at once, `(n_languages,)` in [-1, 1] (F, Eq. 5).

    `correct` is `(n_queries, n_languages)`, the same queries in each language, all of them asked; `groups` is
    `(n_queries,)`, 1 for a and 0 for b.

    Raises what `group_rate_gap` raises.

    >>> group_rate_gaps([[1, 1], [1, 0], [0, 0], [1, 0]], [1, 1, 0, 0]).tolist()
    [0.5, 0.5]
    """
    table = _shares(as_table(correct, "correct", "n_languages"), "correct")
    return _gaps(table, _members(groups, len(table)))


def gap_parts(correct: ArrayLike, correct_other: ArrayLike, groups: ArrayLike) -> NDArray[np.float64]:
    """The three parts of Acc_a(l) - Acc_b(l'), `(3,)`, each in [-1, 1] (F, Proposition 3).

    `correct` is of language l and `correct_other` of l', for the same queries, `(n_queries,)`; `groups` is 1
    for a and 0 for b. With p the share of group a the parts are

    - across languages: Acc(l) - Acc(l');
    - across groups within l: (1 - p) (Acc_a(l) - Acc_b(l));
    - across groups within l': p (Acc_a(l') - Acc_b(l')).

    They sum to the gap exactly, and the sum of their absolute values is Proposition 3's bound.

    Raises what `group_rate_gap` raises.

    >>> parts = gap_parts([1, 1, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0])
    >>> parts.tolist(), parts.sum().item()
    ([0.5, 0.25, 0.25], 1.0)
    """
    (here, there), member = _columns({"correct": correct, "correct_other": correct_other}, groups)
    p = member.mean()
    parts = [here.mean() - there.mean(), (1 - p) * _gaps(here, member), p * _gaps(there, member)]
    return np.asarray(parts, dtype=np.float64)


def recall_in_pool(ranks: ArrayLike, candidates: ArrayLike, pool: ArrayLike, k: int) -> NDArray[np.float64]:
    """The chance of each rank being at most `k` if only `pool` candidates had been drawn, `(n,)`; ours.

    `ranks` and `candidates`, `(n,)`, are the place of the right candidate, from 1, among how many. The right
    one is in the pool, and the others are drawn without replacement, so how many better ones are among them
    is hypergeometric: exact, and without any drawing. Where the pool is all candidates it is 0 or 1.

    Raises UndefinedMetricError for no rank; MetricInputError for shapes that differ, numbers that are not
    whole, a rank beyond the candidates, or a pool larger than they or smaller than 1.

    >>> recall_in_pool([1, 2, 3], [3, 3, 3], 2, k=1).tolist()
    [1.0, 0.5, 0.0]
    """
    rank, n = (_counts(array, name) for array, name in ((ranks, "ranks"), (candidates, "candidates")))
    if rank.shape != n.shape or np.shape(pool) not in ((), rank.shape):
        raise MetricInputError(
            f"ranks, candidates and pool differ in shape: {rank.shape}, {n.shape}, {np.shape(pool)}"
        )
    size = _counts(np.broadcast_to(pool, rank.shape), "pool")
    if ((rank < 1) | (rank > n) | (size < 1) | (size > n)).any() or k < 1:
        raise MetricInputError("ranks and pool must be from 1 to candidates, and k at least 1")
    chance = (rank <= k).astype(np.float64)
    unsure = np.flatnonzero((size < n) & (rank > k))
    better, worse, drawn = rank[unsure] - 1, n[unsure] - rank[unsure], size[unsure] - 1
    total = _log_choose(better + worse, drawn)
    parts = [_log_choose(better, x) + _log_choose(worse, drawn - x) - total for x in range(k)]
    chance[unsure] = np.minimum(np.exp(parts).sum(axis=0), 1.0)
    return chance


def balanced_recall(
    ahead: ArrayLike, own: ArrayLike, sizes: ArrayLike, each: int, k: int = 1
) -> NDArray[np.float64]:
    """R@k expected among candidates of which `each` come from every group, `(n_queries,)` in [0, 1]; ours.

    `ahead`, `(n_queries, n_groups)`, counts the candidates of each group that are ranked before the right
    one, which is of group `own`, `(n_queries,)`; `sizes`, `(n_groups,)`, counts all candidates of each. The
    right one is always drawn, the others without replacement; the mean over all draws has a closed form.
    A larger group has more candidates that look alike, and R@k among all of them is lower for that alone.

    Raises UndefinedMetricError for no query; MetricInputError for shapes that do not fit, numbers that are
    not whole, or more `ahead` than there are, or `each` not from 1 to the smallest group.

    >>> balanced_recall([[0, 0], [1, 0], [0, 1]], own=[0, 0, 0], sizes=[3, 2], each=1).tolist()
    [1.0, 1.0, 0.5]
    >>> balanced_recall([[0, 0], [1, 0], [0, 1]], own=[0, 0, 0], sizes=[3, 2], each=2, k=2).tolist()
    [1.0, 1.0, 1.0]
    """
    better = _counts(as_table(ahead, "ahead", "n_groups"), "ahead", ndim=2)
    groups, pool = _counts(own, "own"), _counts(sizes, "sizes")
    if groups.shape != better.shape[:1] or pool.shape != better.shape[1:]:
        raise MetricInputError(
            "ahead must be (n_queries, n_groups), own (n_queries,) and sizes (n_groups,); got "
            f"{better.shape}, {groups.shape} and {pool.shape}"
        )
    if not 1 <= each <= pool.min():
        raise MetricInputError(f"each must be from 1 to the smallest group's {pool.min()}; got {each}")
    is_own = groups[:, None] == np.arange(len(pool))
    others, drawn = pool - is_own, each - is_own
    if ((better < 0) | (better > others)).any():
        raise MetricInputError("ahead counts candidates besides the right one: from 0 to those of each group")
    # The chances of 0 to k - 1 better ones in all: of each group hypergeometric, and convolved over groups.
    chances = np.zeros((len(better), k))
    chances[:, 0] = 1.0
    for group in range(len(pool)):
        ways = _log_choose(others[:, group], drawn[:, group])
        here = np.stack(
            [
                np.exp(
                    _log_choose(better[:, group], count)
                    + _log_choose(others[:, group] - better[:, group], drawn[:, group] - count)
                    - ways
                )
                for count in range(k)
            ],
            axis=1,
        )
        chances = np.stack(
            [(chances[:, : count + 1] * here[:, count::-1]).sum(axis=1) for count in range(k)], axis=1
        )
    return np.asarray(np.minimum(chances.sum(axis=1), 1.0))


def gini(values: ArrayLike) -> float:
    """Gini coefficient of `values`, `(n,)`: 0 when all are equal, near 1 when one has all there is.

    Half the mean absolute difference of all pairs over the mean (Gini, 1912). None may be negative.

    Raises UndefinedMetricError for no value or nothing but 0; MetricInputError for a value that is negative
    or not finite.

    >>> gini([1, 1, 1]), gini([0, 0, 0, 1])
    (0.0, 0.75)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 and array.size:
        raise MetricInputError(f"values must have shape (n,); got {array.shape}")
    if np.isnan(array).any():
        raise MetricInputError("values must be finite and not negative")
    coefficient = float(gini_of_rows(array[None]).item())
    if np.isnan(coefficient):
        raise UndefinedMetricError("values are all 0: there is nothing to share out")
    return coefficient


def gini_of_rows(values: ArrayLike) -> NDArray[np.float64]:
    """`gini` of each row of `values`, `(n_rows, n)`: `(n_rows,)`, such as of accuracies in each replicate.

    A row with nothing to share out is nan: one that is all 0, or that has a nan (a language of which no query
    was drawn). `equiview.stats.interval` excludes such replicates.

    Raises UndefinedMetricError for no value; MetricInputError for a value that is negative or infinite.

    >>> gini_of_rows([[1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]).tolist()
    [0.0, 0.75, nan]
    """
    table = as_table(values, "values", "n", rows="n_rows").astype(np.float64)
    if np.isinf(table).any() or (table < 0).any():
        raise MetricInputError("values must be finite and not negative")
    n = table.shape[1]
    weights = 2.0 * np.arange(1, n + 1) - n - 1
    with np.errstate(invalid="ignore"):  # 0 / 0: nothing to share out
        coefficients = np.sort(table, axis=1) @ weights / (n * table.sum(axis=1))
    return np.asarray(np.maximum(coefficients, 0.0))  # equal values may differ from 0 in the last bit


def _counts(values: ArrayLike, name: str, ndim: int = 1) -> NDArray[np.int64]:
    """Whole numbers of `ndim` dimensions, at least one of them."""
    array = np.asarray(values)
    if array.size == 0:
        raise UndefinedMetricError(f"{name} is empty: there is nothing to measure")
    if array.ndim != ndim or not np.isfinite(array).all() or (array != np.rint(array)).any():
        raise MetricInputError(f"{name} must hold whole numbers in {ndim} dimensions; got {array.shape}")
    return array.astype(np.int64)


def _log_choose(n: NDArray[np.int64], k: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """The logarithm of n over k, minus infinity where there is no way to choose."""
    from scipy.special import gammaln

    possible = (np.asarray(k) >= 0) & (n >= k)
    left = np.where(possible, n - k, 0)
    return np.where(
        possible, gammaln(n + 1.0) - gammaln(np.maximum(k, 0) + 1.0) - gammaln(left + 1.0), -np.inf
    )


def _gaps(correct: NDArray[np.float64], member: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(correct[member].mean(axis=0) - correct[~member].mean(axis=0))


def _shares(array: NDArray[np.generic], name: str, *, missing: bool = False) -> NDArray[np.float64]:
    values = array.astype(np.float64)
    if not (((values >= 0) & (values <= 1)) | (missing & np.isnan(values))).all():
        raise MetricInputError(f"{name} must hold bools, or shares from 0 to 1")
    return values


def _columns(
    answers: dict[str, ArrayLike], groups: ArrayLike
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Answers as `(n_queries,)` shares, and who is of group a."""
    columns = []
    for name, values in answers.items():
        column = np.asarray(values)
        if column.size == 0:
            raise UndefinedMetricError(f"{name} is empty: there is no query")
        if column.ndim != 1 or column.shape != np.shape(groups):
            shapes = f"{column.shape} and {np.shape(groups)}"
            raise MetricInputError(f"{name} and groups must both have shape (n_queries,); got {shapes}")
        columns.append(_shares(column, name))
    return columns, _members(groups, len(columns[0]))


def _members(groups: ArrayLike, n_queries: int) -> NDArray[np.bool_]:
    """Who is of group a, `(n_queries,)`, both groups being present."""
    member = np.asarray(groups)
    if member.shape != (n_queries,):
        raise MetricInputError(f"groups must have shape ({n_queries},), one per query; got {member.shape}")
    if not np.isin(member, (0, 1)).all():
        raise MetricInputError("groups must be 1 for group a and 0 for group b")
    if member.all() or not member.any():
        raise UndefinedMetricError("all queries are of one group: a gap takes two")
    return member.astype(bool)
