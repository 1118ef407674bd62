"""Who is in the top of each list: counts of groups, as they are, exchanged or resampled.

A list is a set of images at each cutoff, ties at the cut included. With one row for each list and band of
ranks and one column for each image, counting any labelling is one product of a sparse matrix; so hundreds of
permutations of an attribute among the images are counted at once, for all lists together. Lists share images,
and a permutation is one for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.social.groups import Codes, Grouping
from equiview.data.observations import Observations

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
AT_ONCE = 2**21
"""Labels counted by one product."""


@dataclass(frozen=True)
class Lists:
    """The lists of all prompts over a gallery.

    `prompt`, `image` and `score` are of each place in a list, best rank first; `starts`, `(n_prompts + 1,)`,
    say where lists begin. `cutoffs` ends with the depth at which lists are judged.
    """

    prompts: pl.DataFrame
    n_images: int
    prompt: Integers
    image: Integers
    score: NDArray[np.float32]
    starts: Integers
    cutoffs: tuple[int, ...]

    @classmethod
    def of(cls, observations: Observations, depth: int, cutoffs: Sequence[int]) -> Lists:
        """Read them from the observed tables."""
        prompts, images = observations["prompts"], observations["images"]
        ranked = observations["rankings"]
        for name, table in (("prompt", prompts), ("image", images)):
            places = table.select(f"{name}_id").with_row_index(name).cast({name: pl.Int64})
            ranked = ranked.join(places, on=f"{name}_id", how="inner", maintain_order="left")
        ranked = ranked.sort("prompt", "rank")
        prompt = ranked["prompt"].to_numpy()
        starts = np.searchsorted(prompt, np.arange(len(prompts) + 1))
        reach = int(np.diff(starts).min())
        judged = min(depth, reach)
        used = (*(k for k in cutoffs if k < judged), judged)
        return cls(
            prompts, len(images), prompt, ranked["image"].to_numpy(), ranked["score"].to_numpy(), starts, used
        )

    @property
    def k(self) -> int:
        """The cutoff at which lists are judged."""
        return self.cutoffs[-1]

    @cached_property
    def concepts(self) -> Integers:
        """The concept of each prompt as a number, `(n_prompts,)`."""
        codes = self.prompts["concept"].rank("dense").to_numpy()
        return np.asarray(codes, dtype=np.int64) - 1

    @cached_property
    def bands(self):  # type: ignore[no-untyped-def]
        """Which images each band of each list holds: sparse `(n_prompts * n_cutoffs, n_images)`."""
        from scipy.sparse import csr_array  # slow to import

        band = np.zeros(len(self.prompt), dtype=np.int64)
        for k in self.cutoffs:
            band += self.score < self.score[self.starts[:-1] + k - 1][self.prompt]
        inside = band < len(self.cutoffs)
        rows = self.prompt[inside] * len(self.cutoffs) + band[inside]
        shape = (len(self.prompts) * len(self.cutoffs), self.n_images)
        ones = np.ones(int(inside.sum()), dtype=np.float32)
        return csr_array((ones, (rows, self.image[inside])), shape=shape)

    def count(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sums of `weights`, `(n_images, n)`, over every top: `(n_prompts, n_cutoffs, n)`."""
        by_band = self.bands @ weights
        return np.cumsum(by_band.reshape(len(self.prompts), len(self.cutoffs), -1), axis=1, dtype=np.float32)

    def groups(self, codes: Codes) -> NDArray[np.int16]:
        """The group of each of the first `k` of each list, `(n_prompts, k)`, -1 where it is not known."""
        return np.asarray(codes[self.image[self.starts[:-1, None] + np.arange(self.k)]], dtype=np.int16)


def shown(
    lists: Lists, grouping: Grouping, codes: Codes, weights: NDArray[np.float32] | None = None
) -> Floats:
    """Shares of the groups in the top of each list, of those who are known there.

    `(n_draws, n_prompts, n_cutoffs, n_groups)`.

    `codes` is `(n_draws, n_images)`, a labelling for each draw; `weights`, of the same shape, says how often
    an image was drawn. nan where a top holds nobody whose group is known.
    """
    n_draws, n_groups = len(codes), len(grouping.names)
    of_group = (codes[:, :, None] == np.arange(n_groups + 1)).astype(np.float32)
    of_group[:, :, n_groups] = codes >= 0  # everybody who is known
    if weights is not None:
        of_group *= weights[:, :, None]
    flat = of_group.transpose(1, 0, 2).reshape(lists.n_images, -1)
    counts = (
        lists.count(flat)
        .reshape(len(lists.prompts), len(lists.cutoffs), n_draws, n_groups + 1)
        .transpose(2, 0, 1, 3)
        .astype(np.float64)
    )
    counts, totals = counts[..., :-1], counts[..., -1:]
    shares: Floats = np.full(counts.shape, np.nan)
    np.divide(counts, totals, out=shares, where=totals > 0)
    return shares


def largest_skew(shares: Floats, pool: Floats) -> Floats:
    """MaxSkew: ln of the largest share over the set's, over the last axis; `pool` broadcasts to `shares`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(np.log((shares / pool).max(axis=-1)), 0.0))


def smallest_skew(shares: Floats, pool: Floats, k: int) -> Floats:
    """MinSkew: ln of the smallest share over the set's, over the last axis; a share of 0 counts as .5 / `k`.

    Geyik, Ambler and Kenthapadi, "Fairness-Aware Ranking in Search & Recommendation Systems" (KDD 2019),
    Definition 3, where a group that is absent has -infinity.
    """
    return np.asarray(np.minimum(np.log((np.maximum(shares, 0.5 / k) / pool).min(axis=-1)), 0.0))


def permuted(grouping: Grouping, draws: int, rng: np.random.Generator) -> Iterator[Codes]:
    """Labellings with the known groups exchanged among their images, in blocks `(n, n_images)`."""
    known = np.flatnonzero(grouping.of_image >= 0)
    labels = grouping.of_image[known]
    block = max(1, AT_ONCE // (len(grouping.of_image) * len(grouping.names)))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        codes = np.full((size, len(grouping.of_image)), -1, dtype=np.int16)
        codes[:, known] = rng.permuted(np.broadcast_to(labels, (size, len(labels))), axis=1)
        yield codes


def resampled(grouping: Grouping, draws: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """How often each image of a known group is drawn when they are resampled, in blocks `(n, n_images)`."""
    known = np.flatnonzero(grouping.of_image >= 0)
    block = max(1, AT_ONCE // (len(grouping.of_image) * len(grouping.names)))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        weights = np.zeros((size, len(grouping.of_image)), dtype=np.float32)
        drawn = rng.integers(0, len(known), size=(size, len(known)))
        for row in range(size):
            weights[row, known] = np.bincount(drawn[row], minlength=len(known))
        yield weights
