"""Parity across languages and groups: how unequal accuracies are, and what a gap is made of.

From "Assessing Multilingual Fairness in Pre-trained Multimodal Representations" (F), section 4. `correct`
says for each query whether it was answered rightly: bools, or shares from 0 to 1 where a query was asked
several times (captions, paraphrases of a prompt). Groups are of the images: 1 for group a, 0 for group b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_table


def cross_lingual_gaps(correct: ArrayLike, pivot: int = 0) -> NDArray[np.float64]:
    """Acc(pivot) - Acc(l) for each language l, `(n_languages,)` in [-1, 1] (F, Eq. 3).

    `correct` is `(n_queries, n_languages)`, the same queries in each language; `pivot` is a column. Gaps of
    any pair are differences of these, so that gap(l, l') = -gap(l', l).

    Raises UndefinedMetricError for no query; MetricInputError for values outside [0, 1] or no such column.

    >>> cross_lingual_gaps([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0]]).tolist()
    [0.0, 0.25, 0.5]
    """
    table = _shares(as_table(correct, "correct", "n_languages"), "correct")
    if not 0 <= pivot < table.shape[1]:
        raise MetricInputError(f"pivot must be a column from 0 to {table.shape[1] - 1}; got {pivot}")
    accuracy = table.mean(axis=0)
    return np.asarray(accuracy[pivot] - accuracy)


def group_rate_gap(correct: ArrayLike, groups: ArrayLike) -> float:
    """Acc_a - Acc_b within one language, in [-1, 1] (F, Eq. 5).

    `correct` and `groups` are `(n_queries,)`, groups 1 for a and 0 for b.

    Raises UndefinedMetricError for no query or a group without any; MetricInputError for shapes that differ,
    values outside [0, 1] or other groups.

    >>> group_rate_gap([1, 1, 0, 1], [1, 1, 0, 0])
    0.5
    """
    answers, member = _columns({"correct": correct}, groups)
    return float(answers[0][member].mean() - answers[0][~member].mean())


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

    def gap(answers: NDArray[np.float64]) -> float:
        return float(answers[member].mean() - answers[~member].mean())

    return np.asarray([here.mean() - there.mean(), (1 - p) * gap(here), p * gap(there)])


def gini(values: ArrayLike) -> float:
    """Gini coefficient of `values`, `(n,)`: 0 when all are equal, near 1 when one has all there is.

    Half the mean absolute difference of all pairs over the mean (Gini, 1912). None may be negative.

    Raises UndefinedMetricError for no value or nothing but 0; MetricInputError for a value that is negative
    or not finite.

    >>> gini([1, 1, 1]), gini([0, 0, 0, 1])
    (0.0, 0.75)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise UndefinedMetricError("values is empty: there is nothing to compare")
    if array.ndim != 1:
        raise MetricInputError(f"values must have shape (n,); got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise MetricInputError("values must be finite and not negative")
    if not array.any():
        raise UndefinedMetricError("values are all 0: there is nothing to share out")
    ordered, n = np.sort(array), len(array)
    ranks = np.arange(1, n + 1)
    return max(0.0, float((2 * ranks - n - 1) @ ordered / (n * ordered.sum())))


def _shares(array: NDArray[np.generic], name: str) -> NDArray[np.float64]:
    values = array.astype(np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise MetricInputError(f"{name} must hold bools, or shares from 0 to 1")
    return values


def _columns(
    answers: dict[str, ArrayLike], groups: ArrayLike
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Answers as `(n_queries,)` shares and who is of group a, both groups being there."""
    member = np.asarray(groups)
    columns = []
    for name, given in answers.items():
        column = np.asarray(given)
        if column.size == 0:
            raise UndefinedMetricError(f"{name} is empty: there is no query")
        if column.ndim != 1 or column.shape != member.shape:
            raise MetricInputError(
                f"{name} and groups must both have shape (n_queries,); got {column.shape} and {member.shape}"
            )
        columns.append(_shares(column, name))
    if not np.isin(member, (0, 1)).all():
        raise MetricInputError("groups must be 1 for group a and 0 for group b")
    if member.all() or not member.any():
        raise UndefinedMetricError("all queries are of one group: a gap takes two")
    return columns, member.astype(bool)
