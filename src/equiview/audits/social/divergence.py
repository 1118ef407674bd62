"""NDKL of lists for many labellings of the images, fast.

With c the number of the group's own images up to rank j, and c ln c growing by d(c) = c ln c - (c-1) ln (c-1)
there, KL(top i, set) = [sum over j <= i of d(c_j) - ln(share of j's group)] / i - ln i. So NDKL is a weighted
sum over ranks of d(c_j) - ln(share), and needs no table of groups by rank. `equiview.metrics.ndkl` is the
same by its definition.
"""

from __future__ import annotations

import numpy as np

from equiview.audits.social.groups import Codes, Grouping
from equiview.audits.social.tops import Floats, Lists


class Divergence:
    """NDKL of every list among the images whose group is known; nan for a list that has none."""

    def __init__(self, lists: Lists, grouping: Grouping) -> None:
        groups = lists.groups(grouping.of_image)
        known = groups >= 0
        order = np.argsort(~known, axis=1, kind="stable")  # the known first, in order of rank
        images = lists.image[lists.starts[:-1, None] + np.arange(lists.k)]
        self.lengths = known.sum(axis=1)
        self.depth = max(1, int(self.lengths.max()))
        self.images = np.take_along_axis(images, order, axis=1)[:, : self.depth]
        self.log_shares = np.log(grouping.all_shares)
        ranks = np.arange(1, self.depth + 1)
        weights = 1 / np.log2(ranks + 1)
        after = np.concatenate([[0.0], np.cumsum(weights / ranks)])
        within = ranks <= self.lengths[:, None]
        self.within = np.where(within, after[self.lengths][:, None] - after[ranks - 1], 0.0)
        self.constant = np.concatenate([[0.0], np.cumsum(weights * np.log(ranks))])[self.lengths]
        self.total = np.concatenate([[np.nan], np.cumsum(weights)])[self.lengths]
        logs = ranks * np.log(ranks)
        self.growth = np.concatenate([[0.0], np.diff(logs, prepend=0.0)])

    def of(self, codes: Codes) -> Floats:
        """NDKL of each list, `(n_prompts,)`, for a labelling `(n_images,)` with the same known images."""
        groups = codes[self.images]
        order = np.argsort(groups, axis=1, kind="stable")  # each group's images together, in order of rank
        groups = np.take_along_axis(groups, order, axis=1)
        first = np.ones(groups.shape, dtype=bool)
        first[:, 1:] = groups[:, 1:] != groups[:, :-1]
        places = np.arange(self.depth)
        count = places - np.maximum.accumulate(np.where(first, places, 0), axis=1) + 1
        gained = self.growth[count] - self.log_shares[groups]
        total = np.einsum("ij,ij->i", gained, np.take_along_axis(self.within, order, axis=1))
        return np.asarray(np.maximum((total - self.constant) / self.total, 0.0))
