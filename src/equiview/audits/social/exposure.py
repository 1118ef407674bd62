"""Each group's own share of what neutral prompts show, and of what is matched, beside the others'.

MaxSkew sees a group that is shown too often and KL means a tenth for two groups only; neither sees a small
group that is never shown. So every group has two effects of its own, each ln of a ratio, 0 where it is
treated as the others are, and as far from 0 for half as much as for twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import mean_known
from equiview.audits.social.gallery import Gallery
from equiview.audits.social.groups import Grouping
from equiview.audits.social.observe import DIRECTIONS
from equiview.audits.social.tops import Floats, Lists
from equiview.metrics import balanced_recall
from equiview.stats import LogRatio, Proportions, mean_ratios, share_ratio

LOOK_ALIKE = 1.5
"""How many times as large as the smallest the largest group may be where candidates are not balanced."""


def exposures(lists: Lists, grouping: Grouping, shares: Floats, margin: float) -> list[LogRatio]:
    """Of each compared group ln of its mean share of the lists over its share of the set.

    `shares` is `(n_prompts, n_groups)`. How many draws a share is worth follows from the exchange of groups
    among images, which has a closed form, and from how shares differ between concepts beyond that.
    """
    pool, means = grouping.shares, mean_known(shares, axis=0)
    by_images, of_concept = _variances(lists, grouping)
    beyond = np.zeros(len(pool))
    n_concepts = len(np.unique(lists.concepts))
    if n_concepts > 1:
        each = np.stack(
            [mean_known(shares[lists.concepts == concept], axis=0) for concept in np.unique(lists.concepts)]
        )
        spread = np.nanvar(each, axis=0, ddof=1) / n_concepts / (pool * (1 - pool))
        beyond = np.maximum(spread - of_concept / n_concepts, 0.0)
    n = 1 / np.maximum(by_images + beyond, 1e-12)
    return [share_ratio(*row, margin) for row in zip(means.tolist(), pool.tolist(), n.tolist(), strict=True)]


def _variances(lists: Lists, grouping: Grouping) -> tuple[float, float]:
    """The variance of a group's mean share when groups are exchanged, in units of p (1 - p).

    That of the mean over all lists, and the mean of those over the lists of one concept.
    """
    known = grouping.of_image >= 0
    n = int(known.sum())
    n_prompts, n_cutoffs = len(lists.prompts), len(lists.cutoffs)
    from scipy.sparse import csr_array  # slow to import

    of_list = lists.count(known.astype(np.float32)[:, None])[:, -1, 0].astype(np.float64)
    concepts = lists.concepts
    per_list = np.divide(1.0, of_list, out=np.zeros(n_prompts), where=of_list > 0)
    in_concept = np.bincount(concepts)[concepts]

    def spread(weights: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum of squared weights of images, less that of equal ones, a row for each set of lists."""
        repeated = np.repeat(rows, n_cutoffs)
        shape = (int(rows.max()) + 1, n_prompts * n_cutoffs)
        mixed = csr_array((np.repeat(weights, n_cutoffs), (repeated, np.arange(shape[1]))), shape=shape)
        of_images = (mixed @ lists.bands).tocsc()[:, np.flatnonzero(known)]
        squares = np.asarray(of_images.power(2).sum(axis=1)).ravel()
        return np.asarray((squares - 1 / n) * n / max(n - 1, 1))

    everything = spread(per_list / n_prompts, np.zeros(n_prompts, dtype=np.int64))
    alone = spread(per_list / in_concept, concepts)
    return max(float(everything[0]), 0.0), float(np.maximum(alone, 0.0).mean())


@dataclass(frozen=True)
class Matched:
    """ln of each compared group's R@k over the mean of the groups', both directions pooled by image.

    `n` counts the images of each group. `balanced` says whether every query had equally many candidates of
    each group. Without, `judged` is False where one group is much larger than another: a larger group has
    more candidates that look alike, and is matched less for that alone.
    """

    ratios: list[LogRatio | None]
    n: list[int]
    balanced: bool
    judged: bool


def matched(gallery: Gallery, grouping: Grouping, margin: float) -> Matched | None:
    """How often images of each group are matched; None without matches of every compared group."""
    n_images, n_groups = len(grouping.of_image), len(grouping.names)
    table = balanced_hits(gallery, grouping)
    even = table is not None
    if table is None:
        table = [(hits.image, hits.hit) for hits in gallery.hits.values()]
    directions = []
    for image, hit in table:
        asked = np.bincount(image, minlength=n_images)
        right = np.bincount(image, weights=hit, minlength=n_images)
        directions.append(np.divide(right, asked, out=np.full(n_images, np.nan), where=asked > 0))
    if not directions:
        return None
    score = mean_known(np.stack(directions), axis=0)
    groups = [score[(grouping.of_image == place) & ~np.isnan(score)] for place in range(n_groups)]
    if n_groups < 2 or not all(map(len, groups)):
        return None
    sides = [Proportions.of(group) for group in groups]
    value = np.array([float(side.value) for side in sides])
    worth = np.array([float(side.n) for side in sides])
    near = (value * worth + 2) / (worth + 4)  # Agresti and Coull: no standard error of 0
    error = np.sqrt(near * (1 - near) / worth)
    counts = [len(group) for group in groups]
    alike = even or max(counts) <= LOOK_ALIKE * min(counts)
    ratios: list[LogRatio | None] = [None] * n_groups
    if value.any():
        ratios = mean_ratios(value, error, margin)
    return Matched(ratios, counts, even, alike and min(counts) >= gallery.settings.least)


def balanced_hits(gallery: Gallery, grouping: Grouping) -> list[tuple[NDArray[np.int64], Floats]] | None:
    """Of each direction the images, and their R@k expected among equally many candidates of every group.

    None where it was not observed how many candidates of each group were ranked before the right one.
    """
    columns = gallery.columns_of(grouping)
    if columns is None:
        return None
    found = []
    captions = np.zeros(len(grouping.of_image), dtype=np.int64)
    for hits in gallery.hits.values():
        if hits.direction == DIRECTIONS[1]:
            captions = np.bincount(hits.image, minlength=len(captions))
    for hits in gallery.hits.values():
        candidates = captions if hits.direction == DIRECTIONS[0] else np.ones_like(captions)
        sizes = np.bincount(grouping.of_image[grouping.compared], weights=candidates[grouping.compared])
        own = grouping.of_image[hits.image]
        kept = (own >= 0) & (own < len(grouping.names))
        if hits.ahead is None or not sizes.min() or not kept.any():
            return None
        ahead = hits.ahead[kept][:, columns]
        each = int(sizes.min())
        right = balanced_recall(ahead, own[kept], sizes, each, min(hits.k, max(1, each // 2)))
        found.append((hits.image[kept], right))
    return found
