"""Gaps between places over the same things: both sides as if they showed equally much of each. Ours.

A place whose images show more of what is hard to tell is answered worse by a system that treats all places
alike. So each image is weighted until the labels that both sides have are as frequent in either (direct
standardisation); images with a label that the other side lacks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Rows
from equiview.audits.parity.answers import Answers, Correct, Floats
from equiview.data.metric import quantity

SAME = "gap of the same things"
Members = NDArray[np.bool_]


def add_alike(
    rows: Rows,
    answers: Answers,
    task: str,
    correct: Correct,
    keys: Mapping[str, str],
    sides: tuple[Members, Members],
) -> None:
    """The gap of two places in each language, over the same things.

    `sides` are the two groups as masks, `(n_images,)`. Nothing is added where they have no label in common.
    """
    labels = answers.labels_in(task)
    first, second = sides
    weights = [alike_weights(labels, first, second), alike_weights(labels, second, first)]
    if any(np.isnan(side).all() for side in weights):
        return
    wide = len(correct.names)
    means = answers.replicates(np.concatenate([side[:, None] * correct.matrix for side in weights], axis=1))
    gap = means[:wide].gap(means[wide:])
    counts = [int((~np.isnan(side)).sum()) for side in weights]
    enough = min(counts) >= answers.settings.least
    for place, language in enumerate(correct.names):
        wanted = quantity(SAME, None, task=task, language=language, **keys)
        rows.add(wanted, gap[place], sum(counts), 0.0, judged=enough)


def alike_weights(labels: NDArray[np.object_], own: Members, other: Members) -> Floats:
    """Weights of mean 1 that give a group the labels of it and another together; nan where none applies.

    `labels` is `(n_images,)`, None for an image without one, as are the masks of the groups.

    >>> labels = np.array(["hat", "hat", "hat", "dog", "hat", "dog", "car"], dtype=object)
    >>> own, other = np.array([1, 1, 1, 1, 0, 0, 1], bool), np.array([0, 0, 0, 0, 1, 1, 0], bool)
    >>> alike_weights(labels, own, other).round(3).tolist()
    [0.889, 0.889, 0.889, 1.333, nan, nan, nan]
    """
    weights = np.full(len(labels), np.nan)
    common = sorted({name for name in labels[own] if name is not None} & set(labels[other]))
    if not common:
        return weights
    in_own = np.array([np.count_nonzero(own & (labels == name)) for name in common])
    in_both = in_own + [np.count_nonzero(other & (labels == name)) for name in common]
    for name, wanted, has in zip(common, in_both / in_both.sum(), in_own / in_own.sum(), strict=True):
        weights[own & (labels == name)] = wanted / has
    return weights
