"""MaxSkew of lists beside what it is by chance, and how far it could lie from its value.

By chance: groups are exchanged among the images, one exchange for all prompts, as their lists share images.
How far: concepts are drawn anew, since others could have been asked, and images, since others could be there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import mean_known
from equiview.audits.social.groups import Grouping
from equiview.audits.social.settings import SocialSettings
from equiview.audits.social.tops import Floats, Lists, largest_skew, permuted, resampled, shown

FEWEST, RESAMPLED = 200, 300
"""Permutations at least, and draws of concepts and images at most."""
ENOUGH = 30
"""Draws as large as what was seen, after which permuting stops: p is then far from any level."""


@dataclass(frozen=True)
class Skews:
    """MaxSkew of every list, and its mean under permutation (`null`) and resampling (`drawn`).

    `each` is `(n_prompts, n_cutoffs)`, `null` and `drawn` `(n_draws, n_cutoffs)`, `shares` `(n_prompts,
    n_groups)` at the last cutoff, `null_shares` and `drawn_shares` `(n_draws, n_groups)` their means over
    prompts; `drawn_skew` is ln of `drawn_shares` over the groups' shares of the resampled set.
    """

    each: Floats
    shares: Floats
    null: Floats
    null_shares: Floats
    drawn: Floats
    drawn_shares: Floats
    drawn_skew: Floats


def skews_of(lists: Lists, grouping: Grouping, settings: SocialSettings, draws: int) -> Skews:
    """MaxSkew as it is, under up to `draws` permutations, and under resampling."""
    pool = grouping.shares
    shares = shown(lists, grouping, grouping.of_image[None])[0]
    each = largest_skew(shares, pool)
    rng = np.random.default_rng(settings.seed_of(f"permutation.{grouping.attribute}"))
    null, null_shares = [], []
    for codes in permuted(grouping, draws, rng):
        of_draw = shown(lists, grouping, codes)
        null.append(mean_known(largest_skew(of_draw, pool), axis=1))
        null_shares.append(mean_known(of_draw[:, :, -1], axis=1))
        if _is_clear(mean_known(each[:, -1]), np.concatenate(null)[:, -1]):
            break
    again = _resampled(lists, grouping, each, settings)
    return Skews(each, shares[:, -1], np.concatenate(null), np.concatenate(null_shares), *again)


def _resampled(
    lists: Lists, grouping: Grouping, each: Floats, settings: SocialSettings
) -> tuple[Floats, Floats, Floats]:
    """`drawn`, `drawn_shares` and `drawn_skew` of `Skews`, when concepts and images are resampled.

    Resampling both counts twice what depends on the images of one list only, since that differs between
    prompts as well. The variance of a mean is that by concepts, plus that by images, less the part of images
    that lists do not share (terms as in Owen, "The Pigeonhole Bootstrap", 2007). Draws are scaled to it.
    """
    rng = np.random.default_rng(settings.seed_of(f"bootstrap.{grouping.attribute}"))
    n_draws = min(RESAMPLED, settings.replicates)
    skew, shares, group_skew, by_images, of_list, by_concepts = [], [], [], [], [], []
    for weights in resampled(grouping, n_draws, rng):
        codes = np.broadcast_to(grouping.of_image, weights.shape)
        of_draw = shown(lists, grouping, codes, weights)
        pool = _weighted_pool(grouping, weights)
        times = prompts_drawn(lists, len(weights), rng)[:, :, None]
        skews = largest_skew(of_draw, pool[:, None, None])
        skew.append(weighted_mean(skews, times))
        by_images.append(mean_known(skews, axis=1))
        by_concepts.append(weighted_mean(np.broadcast_to(each, skews.shape), times))
        of_list.append(np.nan_to_num(skews - each))
        shares.append(weighted_mean(of_draw[:, :, -1], times))
        with np.errstate(divide="ignore", invalid="ignore"):
            group_skew.append(np.log(shares[-1] / pool))
    both, images, concepts = (_whole(np.concatenate(part)) for part in (skew, by_images, by_concepts))
    apart = _not_shared(np.concatenate(of_list).var(axis=0).mean(axis=0), images.var(axis=0), len(each))
    variance = np.maximum(concepts.var(axis=0) + images.var(axis=0) - apart, images.var(axis=0))
    spread = both.std(axis=0)
    scale = np.divide(np.sqrt(variance), spread, out=np.ones_like(spread), where=spread > 0)
    drawn = both.mean(axis=0) + (both - both.mean(axis=0)) * np.minimum(scale, 1.0)
    return drawn, np.concatenate(shares), np.concatenate(group_skew)


def _whole(draws: Floats) -> Floats:
    """Fill draws without any known group with the mean of the others."""
    return np.where(np.isnan(draws), mean_known(draws, axis=0), draws)


def _not_shared(of_list: Floats, of_mean: Floats, n: int) -> Floats:
    """The variance of a mean over `n` lists by images that they do not share; of one list and of the mean."""
    if n < 2:
        return np.zeros_like(of_mean)
    shared = np.clip((of_mean - of_list / n) / (1 - 1 / n), 0.0, of_list)
    return np.asarray((of_list - shared) / n)


def _is_clear(observed: Floats, null: Floats) -> bool:
    """Whether enough draws are as large that no more are needed (Besag and Clifford, 1991)."""
    return len(null) >= FEWEST and int(np.count_nonzero(null >= observed)) >= ENOUGH


def _weighted_pool(grouping: Grouping, weights: NDArray[np.float32]) -> Floats:
    """Shares of the groups in each resampled set, `(n_draws, n_groups)`; a group not drawn has a little."""
    sums = [weights[:, grouping.of_image == place].sum(axis=1) for place in range(len(grouping.everyone))]
    counts = np.maximum(np.stack(sums, axis=1).astype(np.float64), 0.5)
    return np.asarray((counts / counts.sum(axis=1, keepdims=True))[:, : len(grouping.names)])


def prompts_drawn(lists: Lists, draws: int, rng: np.random.Generator) -> Floats:
    """How often each prompt is drawn when concepts are resampled, `(n_draws, n_prompts)`."""
    n = int(lists.concepts.max()) + 1
    chosen = rng.integers(0, n, size=(draws, n))
    times = np.stack([np.bincount(row, minlength=n) for row in chosen])
    return times[:, lists.concepts].astype(np.float64)


def weighted_mean(table: Floats, times: Floats) -> Floats:
    """Mean over the second axis, weighted by `times`; nan is ignored."""
    counted = np.where(np.isnan(table), 0.0, times)
    with np.errstate(invalid="ignore"):
        return np.asarray((np.nan_to_num(table) * counted).sum(axis=1) / counted.sum(axis=1))
