"""Matched permutation: what lists would show if the labels of items that are equally right were exchanged.

Under fairness the labels (languages, tiers, sellers) of one image's captions are exchangeable: which of them
stands where does not depend on its label. So labels are permuted within each image's captions, everywhere at
once: a caption keeps its places in all lists, those where it is a hub included. A metric of the lists is
compared with what it would be under that permutation. The test is exact whatever the scores are like, as
Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses" (2005), chapter 1, has it; its use here is
ours, and no paper that we follow has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.engine import Local, current_for
from equiview.errors import StatsInputError
from equiview.stats._check import whole_number

ROUNDING = 1e-9
"""Statistics closer than this share of the largest are alike, however their sums are rounded."""
SHARED_FROM, TOGETHER = 2**24, 4
"""Labels in lists from which the workers of an engine take part, and permutations in one part of theirs."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Groups = NDArray[np.integer[Any]]
Members = Sequence[tuple[Integers, Integers]]
"""Rows of clusters of one size, `(n_clusters, size)`, and their labels."""


@dataclass(frozen=True)
class MatchedFloor:
    """Mean of a metric over matched permutations at each cutoff, its sd and p; each array `(n_cutoffs,)`."""

    value: Floats
    sd: Floats
    p: Floats


def rank_weights(ranked: ArrayLike, n_items: int, cutoffs: Sequence[int]) -> Floats:
    """How much each item is shown: the sum of 1 / log2(i + 1) over its ranks i up to each cutoff.

    `ranked` is `(n_queries, depth)` item numbers, best first; returns `(n_items, n_cutoffs)`.

    Raises StatsInputError for a cutoff beyond the depth or an item outside 0 .. `n_items` - 1.

    >>> rank_weights([[0, 1], [0, 2]], n_items=3, cutoffs=[1, 2]).round(2).tolist()
    [[2.0, 2.0], [0.0, 0.63], [0.0, 0.63]]
    """
    lists = np.asarray(ranked, dtype=np.int64)
    if lists.ndim != 2 or lists.size == 0:
        raise StatsInputError(f"ranked must be (n_queries, depth) and not empty; got {lists.shape}")
    if lists.min() < 0 or lists.max() >= n_items:
        raise StatsInputError(f"ranked names item {lists.max()}, but there are {n_items}")
    if not len(cutoffs) or min(cutoffs) < 1 or max(cutoffs) > lists.shape[1]:
        raise StatsInputError(f"cutoffs must lie between 1 and {lists.shape[1]}; got {list(cutoffs)}")
    discounts = 1 / np.log2(np.arange(2, lists.shape[1] + 2))
    weights = np.empty((n_items, len(cutoffs)))
    held, start = np.zeros(n_items), 0
    for place in np.argsort(cutoffs, kind="stable"):
        part = lists[:, start : cutoffs[place]]
        shown = np.broadcast_to(discounts[start : cutoffs[place]], part.shape)
        held = held + np.bincount(part.ravel(), weights=shown.ravel(), minlength=n_items)
        weights[:, place], start = held, cutoffs[place]
    return weights


def matched_floor(
    metrics: Sequence[Callable[..., Floats]],
    ranked: ArrayLike,
    clusters: ArrayLike,
    groups: ArrayLike,
    cutoffs: Sequence[int],
    *,
    draws: int = 200,
    seed: int,
) -> list[MatchedFloor]:
    """Each metric's mean over matched permutations, `draws` of them, at each cutoff; one floor a metric.

    A metric takes `(n_queries, depth)` groups by rank and `cutoffs`, ascending, and returns `(n_cutoffs,
    n_queries)`: each cutoff's of the ranks up to it (`equiview.metrics.divergences_at`). `ranked` is
    `(n_queries, depth)` item numbers; `clusters`, `(n_items,)`, names the items among which labels are
    exchanged, and -1 an item that keeps its own; `groups` is `(n_items,)` from 0. p is the share of
    permutations whose mean lies at least as far from the floor as that of the lists, they included.

    Raises StatsInputError for arrays that do not fit.

    >>> import numpy as np
    >>> first = lambda groups, cutoffs: (groups[:, :1] == 1).T.astype(float)
    >>> [floor] = matched_floor([first], [[0, 1], [2, 3]], [0, 0, 1, 1], [1, 0, 1, 0], [1], seed=0)
    >>> bool(abs(floor.value[0] - 0.5) < 0.1)
    True
    """
    # A row a rank, as metrics go through them, of the type by which arrays are looked up.
    by_rank = np.ascontiguousarray(np.asarray(ranked, dtype=np.intp).T)
    ascending = sorted(set(cutoffs))
    places = [ascending.index(k) for k in cutoffs]
    draws = whole_number(draws, "draws", 2)
    labels = np.asarray(groups, dtype=np.int64)
    members = [(rows, labels[rows]) for rows in _clusters(clusters, labels)]
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))

    # Of few groups, labels are of one byte: those of all items then fit in a cache.
    labels = labels.astype(np.min_scalar_type(int(labels.max(initial=0))))
    shared = (by_rank[: ascending[-1]], tuple(metrics), ascending)
    (observed,) = _means([labels], *shared)
    engine = current_for(by_rank.size * draws, SHARED_FROM, by_rank.nbytes)
    drawn = _drawn(labels, members, rng, draws)
    together = 1 if isinstance(engine, Local) else TOGETHER
    parts = iter(lambda: list(islice(drawn, together)), [])
    found = engine.map(_means, parts, shared=shared, size=lambda part: len(part) * labels.nbytes)
    permuted = np.concatenate(list(found))[:, :, places]
    observed = observed[:, places]
    floor, sd = permuted.mean(axis=0), permuted.std(axis=0, ddof=1)
    far = np.abs(observed - floor) * (1 - ROUNDING)
    p = (1 + (np.abs(permuted - floor) >= far).sum(axis=0)) / (1 + draws)
    return [MatchedFloor(*numbers) for numbers in zip(floor, sd, p, strict=True)]


def _drawn(labels: Groups, members: Members, rng: np.random.Generator, draws: int) -> Iterator[Groups]:
    """Permuted labels, `draws` times, in one stream; the next are exchanged while the last are measured."""
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(_relabelled, labels, members, rng)
        for left in reversed(range(draws)):
            drawn = coming.result()
            if left:
                coming = aside.submit(_relabelled, labels, members, rng)
            yield drawn


def _means(
    relabelled: Sequence[Groups],
    by_rank: NDArray[np.intp],
    metrics: Sequence[Callable[..., Floats]],
    ascending: Sequence[int],
) -> Floats:
    """The mean of each metric of the lists at each cutoff, `(n_labels, n_metrics, n_cutoffs)`."""
    return np.array(
        [
            [metric(drawn, cutoffs=ascending).mean(axis=1) for metric in metrics]
            for drawn in (labels.take(by_rank).T for labels in relabelled)
        ]
    )


def _clusters(clusters: ArrayLike, groups: Integers) -> list[Integers]:
    """The rows of clusters with two items or more, `(n_clusters, size)` for each size."""
    names = np.asarray(clusters, dtype=np.int64)
    if names.shape != groups.shape or groups.ndim != 1:
        raise StatsInputError(f"clusters and groups must be (n_items,); got {names.shape} and {groups.shape}")
    if groups.size and groups.min() < 0:
        raise StatsInputError(f"groups must be 0 or more; got {groups.min()}")
    order = np.argsort(names, kind="stable")
    order = order[names[order] >= 0]
    _, first, sizes = np.unique(names[order], return_index=True, return_counts=True)
    return [order[first[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes) if size > 1]


def _relabelled(labels: Groups, members: Members, rng: np.random.Generator) -> Groups:
    """The labels after one permutation within each cluster.

    They are exchanged as whole numbers of 8 bytes, for which NumPy has a way twice as fast.
    """
    permuted = labels.copy()
    for rows, own in members:
        permuted[rows] = rng.permuted(own, axis=1)
    return permuted
