"""Exact search with the products on an accelerator, by torch: the same lists and ranks, to the bit.

Two sums of the same products, each rounded in an order of its own, differ by no more than what rounding can
do (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). What is further from a cut than that
is decided by the accelerator's scores; what is nearer is scored anew as this package scores everywhere
(`equiview.search.products`). Where that would be most of it, as with a gallery of equal vectors, all is done
by the processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.io.progress import Progress, silent
from equiview.search.kept import check_depth
from equiview.search.nearly import UndecidedError, product, tensor
from equiview.search.products import apart
from equiview.search.scaling import Gallery
from equiview.search.targets import Targets
from equiview.search.topk import check_widths
from equiview.search.within import lists_and_ranks, rescored, target_scores

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
SPARE = 64
"""Items kept beyond the `k` that are asked for, so that the cut is rarely in doubt."""
ROWS, QUERIES = 65_536, 1024
"""Of a product: 0.25 GiB of scores."""
PAIRS = 2**26
"""Comparisons at a time."""
DOUBTS = 2**25
"""More pairs than this are not scored anew."""
LARGEST = 1e37
"""Lengths whose product is larger could give scores beyond float32."""


def lists_and_ranks_on(
    device: str | torch.device,
    queries: Floats,
    gallery: Gallery,
    k: int,
    targets: Targets,
    progress: Progress = silent,
) -> tuple[Rankings, Integers]:
    """`equiview.search.within.lists_and_ranks`, with the products on `device`.

    `queries` is `(n_queries, width)`, `gallery` `(n_gallery, width)`; memory of the device does not grow with
    their product. Without targets there are no ranks.
    """
    import torch

    check_depth(k, len(gallery))
    check_widths(queries, gallery)
    try:
        with torch.inference_mode():
            search = _Search(torch.device(device), queries, len(gallery), k, targets)
            search.own = target_scores(queries, gallery, targets)
            for first in range(0, len(gallery), ROWS):
                search.take(gallery[first : first + ROWS], first)
                done = min(first + ROWS, len(gallery)) * len(queries) // len(gallery)
                progress("ranking", done, len(queries))
            return search.lists(gallery), search.ranks(gallery)
    except (UndecidedError, torch.OutOfMemoryError):
        return lists_and_ranks(queries, gallery, k, targets, progress)


class _Search:
    """The best of each query so far, and what is ahead of each target, by scores that are nearly right."""

    def __init__(
        self, device: torch.device, queries: Floats, n_gallery: int, k: int, targets: Targets
    ) -> None:
        import torch

        self.queries, self.k, self.targets = queries, k, targets
        self.own: Floats = np.empty(0, dtype=np.float32)
        self.there = tensor(queries).to(device)
        self.lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        self.longest = 0.0
        kept = min(k + SPARE, n_gallery)
        self.scores = torch.full((len(queries), kept), -torch.inf, device=device)
        self.rows = torch.zeros((len(queries), kept), dtype=torch.int64, device=device)
        self.whole = kept == n_gallery
        self.ahead = np.zeros(len(targets.items), dtype=np.int64)
        self.near: list[Integers] = []
        self.doubts = 0

    def take(self, part: NDArray[np.floating[Any]], first: int) -> None:
        """Take the rows of the gallery that begin at row `first`."""
        import torch

        columns = tensor(part).to(self.there.device)
        longest = float(columns.square().sum(dim=1, dtype=torch.float64).max().sqrt())
        if not longest * self.lengths.max(initial=0.0) < LARGEST:  # nor where a number is not finite
            raise UndecidedError
        self.longest = max(self.longest, longest)
        groups = self.targets.groups[first : first + len(part)]
        for start in range(0, len(self.queries), QUERIES):
            block = slice(start, min(start + QUERIES, len(self.queries)))
            scores = product(self.there[block], columns)
            best, at = torch.topk(scores, min(self.scores.shape[1], len(part)), dim=1)
            pool = torch.cat([self.scores[block], best], dim=1)
            self.scores[block], which = torch.topk(pool, self.scores.shape[1], dim=1)
            rows = torch.cat([self.rows[block], at + first], dim=1)
            self.rows[block] = torch.gather(rows, 1, which)
            self._count(scores, block, groups, first, longest)

    def _count(
        self, scores: torch.Tensor, block: slice, groups: NDArray[np.integer[Any]], first: int, longest: float
    ) -> None:
        """Count what is surely ahead of each target of a block, and note what may be."""
        import torch

        here, mine = self.targets.where(block.start, block.stop), self.targets.of(block.start, block.stop)
        of_group = self.targets.groups[mine.items]
        far = error(self.lengths[block][mine.queries], longest, self.queries.shape[1])
        low = torch.from_numpy(np.nextafter((self.own[here] - far).astype(np.float32), np.float32(-np.inf)))
        high = torch.from_numpy(np.nextafter((self.own[here] + far).astype(np.float32), np.float32(np.inf)))
        for group in np.unique(of_group).tolist():
            columns = np.flatnonzero(groups == group)
            of = np.flatnonzero(of_group == group)
            step = max(1, PAIRS // max(1, len(columns)))
            for at in range(0, len(of) if len(columns) else 0, step):
                some = of[at : at + step]
                rows = torch.from_numpy(mine.queries[some, None]).to(scores.device)
                theirs = scores[rows, torch.from_numpy(columns).to(scores.device)]
                surely = theirs > high[some, None].to(scores.device)
                self.ahead[here.start + some] += surely.sum(dim=1).cpu().numpy()
                perhaps = torch.nonzero((theirs >= low[some, None].to(scores.device)) & ~surely).cpu().numpy()
                pairs, items = here.start + some[perhaps[:, 0]], first + columns[perhaps[:, 1]]
                other = items != self.targets.items[pairs]
                self.near.append(np.stack([pairs[other], items[other]]))
                self.doubts += int(other.sum())
                if self.doubts > DOUBTS:
                    raise UndecidedError

    def lists(self, gallery: Gallery) -> Rankings:
        """The best `k`; of a query whose cut is in doubt, by the processor."""
        rows, last = self.rows.cpu().numpy(), self.scores[:, -1].cpu().numpy()
        found = rescored(self.queries, gallery, rows, self.k)
        beyond = last + error(self.lengths, self.longest, self.queries.shape[1])
        doubt = np.flatnonzero(~(found.scores[:, -1] > beyond))
        if len(doubt) and not self.whole:
            again, _ = lists_and_ranks(self.queries[doubt], gallery, self.k, Targets.none(len(gallery)))
            found.items[doubt], found.scores[doubt] = again.items, again.scores
        return found

    def ranks(self, gallery: Gallery) -> Integers:
        """The rank of each target, from 1."""
        none = np.empty((2, 0), dtype=np.int64)
        pairs, items = np.concatenate([none, *self.near], axis=1)
        order = np.argsort(pairs, kind="stable")
        pairs, items = pairs[order], items[order]
        near = Targets(self.targets.queries[pairs], items, self.targets.groups)
        scores, own = target_scores(self.queries, gallery, near), self.own[pairs]
        ahead = (scores > own) | ((scores == own) & (items < self.targets.items[pairs]))
        counts: Integers = self.ahead + np.bincount(pairs[ahead], minlength=len(self.ahead))
        return counts + 1


def error(lengths: NDArray[np.float64], longest: float, width: int) -> NDArray[np.float64]:
    """How far two float32 scores of one pair may be apart, `(n,)`, for queries of these `lengths`.

    >>> error(np.ones(1), 1.0, 768).round(6).tolist()
    [9.4e-05]
    """
    return apart(width) * lengths * longest + width * 2.0**-126
