"""Do answers lean on who is shown more than the truth does: directional bias amplification."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import one_of

Variant = Literal["paper", "reference"]
ROUNDING = 1e-9
"""Share of the cases, squared, below which a pair counts as independent where counts are not whole."""


def directional_amplification(
    task: ArrayLike,
    predicted: ArrayLike,
    attribute: ArrayLike,
    *,
    variant: Variant = "paper",
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
    of_people = in_truth.sum(axis=1)
    return float(amplification_of_counts(in_truth, as_given, of_people, variant=variant))


def amplification_of_counts(
    in_truth: ArrayLike, as_given: ArrayLike, of_people: ArrayLike, *, variant: Variant = "paper"
) -> NDArray[np.float64]:
    """`directional_amplification` from counts, of any number of resampled data sets at once: `(...)`.

    `in_truth` and `as_given`, `(..., n_people, n_tasks)`, count what is true and what was given of each group
    of people, and `of_people`, `(..., n_people)`, the cases of each. A case may have several tasks, as a
    caption has several nouns, or shares of them, as several people's captions of one image have.

    Raises UndefinedMetricError for no task or a group without a case; MetricInputError for other shapes or
    what is not finite.

    >>> amplification_of_counts([[1, 3], [2, 2]], [[0, 4], [2, 2]], [4, 4]).item()
    0.125
    """
    true, people = _as_counts(in_truth, of_people, "in_truth")
    given, _ = _as_counts(as_given, of_people, "as_given")
    if given.shape != true.shape:
        raise MetricInputError(f"in_truth and as_given differ in shape: {true.shape} and {given.shape}")
    if not people.all():
        raise UndefinedMetricError("a group of people has no case: nothing can be said of it")
    gained = (given - true) / people[..., None]
    return np.asarray((directions(true, people, variant=variant) * gained).mean(axis=(-2, -1)))


def directions(
    in_truth: ArrayLike, of_people: ArrayLike, *, variant: Variant = "paper"
) -> NDArray[np.float64]:
    """Whether each group and task go together in truth, 1, or do not, -1: `(..., n_people, n_tasks)`.

    Counts and errors are as in `amplification_of_counts`, but a group may have no case. A pair that is
    exactly independent is -1 in the variant "paper" and 0 in "reference".

    >>> directions([[1, 3], [2, 2]], [4, 4]).tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """
    one_of(variant, "variant", ("paper", "reference"))
    true, people = _as_counts(in_truth, of_people, "in_truth")
    total = people.sum(axis=-1)[..., None, None]
    # Products of counts, so that independence is not decided by the rounding of a quotient.
    beyond = true * total - people[..., None] * true.sum(axis=-2, keepdims=True)
    sign = np.where(np.abs(beyond) <= ROUNDING * total**2, 0.0, np.sign(beyond))
    return np.where(sign > 0, 1.0, -1.0) if variant == "paper" else np.asarray(sign)


def _as_counts(
    counts: ArrayLike, of_people: ArrayLike, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts `(..., n_people, n_tasks)` and cases `(..., n_people)`."""
    array, people = np.asarray(counts, dtype=np.float64), np.asarray(of_people, dtype=np.float64)
    if array.ndim < 2 or array.shape[:-1] != people.shape:
        raise MetricInputError(
            f"{name} must be (..., n_people, n_tasks) and of_people (..., n_people); got {array.shape} and "
            f"{people.shape}"
        )
    if not array.size:
        raise UndefinedMetricError(f"{name} is empty: there is nothing to measure")
    if not (np.isfinite(array).all() and np.isfinite(people).all()):
        raise MetricInputError(f"{name} and of_people must be finite")
    return array, people


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
