"""Does a model know the same things in every language: consistency of answers, and of scores.

Following "Traveling Across Languages", section 3. Two languages are consistent when what is right in one is
right in the other; a consistency of 1 says nothing of how much is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError
from equiview.metrics._check import as_table


def answer_consistency(correct: ArrayLike) -> NDArray[np.float64]:
    """Consistency of every two languages: (n_xy / n_x + n_xy / n_y) / 2.

    `correct` is `(n_questions, n_languages)` booleans (or 0 and 1); returns `(n_languages, n_languages)` in
    [0, 1]. n_x counts the questions answered correctly in x, n_xy those answered correctly in both. nan where
    nothing is correct in x or in y.

    Raises UndefinedMetricError for no question or no language; MetricInputError for other values.

    >>> answer_consistency([[True, True], [True, False], [False, False]]).tolist()
    [[1.0, 0.75], [0.75, 1.0]]
    """
    table = _as_correct(correct)
    return _mean_of_shares(table.T @ table, table.sum(axis=0))


def independent_consistency(correct: ArrayLike) -> NDArray[np.float64]:
    """What `answer_consistency` would be on average if languages knew things independently.

    `correct` is as there; returns `(n_languages, n_languages)`: the mean of the shares that are correct in x
    and in y, since n_xy is then n_x n_y / n on average. The diagonal is 1. nan where nothing is correct. This
    floor is ours.

    >>> independent_consistency([[True, True], [True, False], [False, False], [False, False]]).tolist()
    [[1.0, 0.375], [0.375, 1.0]]
    """
    table = _as_correct(correct)
    counts = table.sum(axis=0)
    both = np.outer(counts, counts) / len(table)
    np.fill_diagonal(both, counts)
    return _mean_of_shares(both, counts)


def score_consistency(scores: ArrayLike) -> NDArray[np.float64]:
    """The same of scores such as CLIPScore: (S / S_x + S / S_y) / 2, where S sums min(s_x, s_y).

    `scores` is `(n_items, n_languages)`, not negative; S_x and S_y sum the scores of x and y. Returns
    `(n_languages, n_languages)` in [0, 1], nan where all scores of x or of y are 0. Of scores 0 and 1 it is
    `answer_consistency`.

    Raises UndefinedMetricError for no item or no language; MetricInputError for a score that is negative, nan
    or infinite.

    >>> score_consistency([[1.0, 0.5], [0.5, 1.0]]).round(4).tolist()
    [[1.0, 0.6667], [0.6667, 1.0]]
    """
    table = _as_scores(scores)
    shared = np.empty((table.shape[1],) * 2)
    for place, column in enumerate(table.T):
        shared[place] = np.minimum(table, column[:, None]).sum(axis=0)
    return _mean_of_shares(shared, table.sum(axis=0))


def independent_score_consistency(scores: ArrayLike) -> NDArray[np.float64]:
    """What `score_consistency` would be on average if the items of each language were shuffled.

    `scores` is as there; returns `(n_languages, n_languages)`: S is taken over all pairings of an item in x
    with an item in y, so that levels are kept and nothing else is shared. The diagonal is 1. nan where all
    scores of x or of y are 0. Of scores 0 and 1 it is `independent_consistency`. This floor is ours.

    >>> independent_score_consistency([[1.0, 0.5], [0.5, 1.0]]).round(4).tolist()
    [[1.0, 0.8333], [0.8333, 1.0]]
    """
    table = _as_scores(scores)
    n, ordered = len(table), np.sort(table, axis=0)
    shared = np.empty((table.shape[1],) * 2)
    for place, column in enumerate(ordered.T):
        below = np.concatenate([[0.0], np.cumsum(column)])
        for other, values in enumerate(ordered.T):
            smaller = np.searchsorted(column, values)
            shared[place, other] = (below[smaller] + values * (n - smaller)).sum() / n
    np.fill_diagonal(shared, table.sum(axis=0))
    return _mean_of_shares((shared + shared.T) / 2, table.sum(axis=0))


def _as_scores(scores: ArrayLike) -> NDArray[np.float64]:
    table = as_table(scores, "scores", "n_languages", rows="n_items").astype(np.float64)
    if not np.isfinite(table).all() or (table < 0).any():
        row, column = np.argwhere(~np.isfinite(table) | (table < 0))[0]
        raise MetricInputError(
            f"scores must be finite and not negative; item {row}, language {column}: {table[row, column]}"
        )
    return table


def _as_correct(correct: ArrayLike) -> NDArray[np.float64]:
    table = as_table(correct, "correct", "n_languages", rows="n_questions")
    if table.dtype != np.bool_ and (
        not np.issubdtype(table.dtype, np.integer) or not np.isin(table, (0, 1)).all()
    ):
        raise MetricInputError(f"correct must hold bools (or 0 and 1); got {table.dtype}")
    return table.astype(np.float64)


def _mean_of_shares(both: NDArray[np.float64], alone: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of each language's own that is shared, averaged over the two."""
    whole = np.where(alone > 0, alone, np.nan)
    shares = both / whole[:, None]
    return np.asarray(np.minimum((shares + shares.T) / 2, 1.0))  # sums may differ in the last bit
