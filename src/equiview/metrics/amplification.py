"""Do answers lean on who is shown more than the truth does: directional bias amplification."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import one_of


def directional_amplification(
    task: ArrayLike,
    predicted: ArrayLike,
    attribute: ArrayLike,
    *,
    variant: Literal["paper", "reference"] = "paper",
) -> float:
    """Directional bias amplification, from attribute to task (Wang and Russakovsky, 2021).

    `task` and `predicted` are the true and the given answers, `attribute` who is shown: `(n,)` whole numbers
    each. For every attribute a and every true answer t, what a's share of answers t gains over the truth,
    D = P^(t|a) - P(t|a), counts for bias where a and t go together in truth, P(a, t) > P(a) P(t), and against
    it elsewhere. The result is the mean over all pairs. An answer that is never true counts for none.

    - `variant="paper"`: "From Global to Local", Eq. 4: a pair that is exactly independent counts as -D;
    - `variant="reference"`: the published code of both papers, by which it counts as 0.

    Raises UndefinedMetricError for no answer; MetricInputError for arrays that are not whole numbers or
    differ in length.

    Answer 1 is true of one in four with attribute 0, for whom it is never given, and of two in four with 1:

    >>> task, attribute = [0, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]
    >>> directional_amplification(task, [0, 0, 0, 0, 0, 0, 1, 1], attribute)
    0.125
    """
    one_of(variant, "variant", ("paper", "reference"))
    true, given, shown = (
        _as_labels(values, name)
        for values, name in ((task, "task"), (predicted, "predicted"), (attribute, "attribute"))
    )
    if not len(true) == len(given) == len(shown):
        raise MetricInputError(
            f"task, predicted and attribute differ in length: {len(true)}, {len(given)}, {len(shown)}"
        )
    answers, true_at = np.unique(true, return_inverse=True)
    people, shown_at = np.unique(shown, return_inverse=True)
    given_at = np.minimum(np.searchsorted(answers, given), len(answers) - 1)
    known = answers[given_at] == given
    in_truth = _counts(shown_at, true_at, len(people), len(answers))
    as_given = _counts(shown_at[known], given_at[known], len(people), len(answers))
    of_people = in_truth.sum(axis=1, keepdims=True)
    # In whole numbers, so that independence is not decided by rounding.
    sign = np.sign(in_truth * len(true) - of_people * in_truth.sum(axis=0))
    if variant == "paper":
        sign = np.where(sign > 0, 1, -1)
    gained = (as_given - in_truth) / of_people
    return float((sign * gained).mean())


def _as_labels(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size == 0:
        raise UndefinedMetricError(f"{name} is empty: there is nothing to measure")
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise MetricInputError(f"{name} must be (n,) whole numbers; got {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def _counts(
    rows: NDArray[np.int64], columns: NDArray[np.int64], n_rows: int, n_columns: int
) -> NDArray[np.int64]:
    cells = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns)
    return np.asarray(cells.reshape(n_rows, n_columns))
