"""Ranks of target items among those of their own group, from the pass over the gallery that makes the lists.

How many of a group are ahead of an item is counted tile by tile. For that its score is known beforehand; a
pair has one score wherever it is computed (`equiview.search.products`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.data.vectors import TokenVectors, Vectors
from equiview.io.progress import Progress, silent
from equiview.search.kept import Best, Kept, check_numbers
from equiview.search.products import LARGE, pieces, ready_block, tile, tile_height
from equiview.search.scaling import Gallery
from equiview.search.sweep import sweep
from equiview.search.targets import Targets
from equiview.search.topk import DEEP, best, check_widths, deciding_blocks, ranks_within
from equiview.search.workers import at_once, one_thread_each

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
SLOTS = 4
"""Items of one query and group that are compared with a whole tile at once; further ones query by query."""
COUNTED = 255
"""Comparisons that are added up in a byte."""
TAKEN = 1024
"""Targets whose vectors are copied together."""


def lists_and_ranks(
    queries: Vectors,
    gallery: Gallery | TokenVectors,
    k: int,
    targets: Targets,
    progress: Progress = silent,
) -> tuple[Rankings, Integers]:
    """`top_k`, and the rank, from 1, of each target among the items of its group, `(n_targets,)`.

    Equal scores are in row order.

    >>> gallery = np.array([[1.0], [3.0], [2.0], [4.0]], dtype=np.float32)
    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> targets = Targets(np.array([0, 0]), np.array([0, 2]), np.array([0, 1, 0, 1]))
    >>> lists, ranks = lists_and_ranks(one, gallery, 2, targets)
    >>> lists.items.tolist(), ranks.tolist()
    ([[3, 1]], [2, 1])
    """
    groups = targets.groups
    ranks = np.empty(len(targets.items), dtype=np.int64)
    kept = Kept(len(queries), len(gallery), k)
    if k > DEEP or isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors):
        columns_of = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
        whole = gallery if isinstance(gallery, TokenVectors) else gallery[:]
        for start, scores in deciding_blocks(queries, whole, k, targets):
            block = slice(start, start + len(scores))
            first = best(scores, k)
            kept.items[block], kept.scores[block] = first.items, first.scores
            here = targets.where(block.start, block.stop)
            for group, columns in enumerate(columns_of):
                these = np.flatnonzero(groups[targets.items[here]] == group)
                rows = targets.queries[here][these] - start
                at = np.searchsorted(columns, targets.items[here][these])
                ranks[here.start + these] = ranks_within(scores[:, columns], rows, at)
            progress("ranking", block.stop, len(queries))
        return kept.rankings(), ranks
    check_widths(queries, gallery)
    scores = target_scores(queries, gallery, targets)

    def taker(block: slice) -> _Both:
        there = targets.where(block.start, block.stop)
        ahead = Ahead(
            block.stop - block.start,
            targets.queries[there] - block.start,
            targets.items[there],
            scores[there],
            groups,
        )
        return _Both(kept.taker(block), ahead)

    def done(block: slice, parts: list[_Both]) -> None:
        kept.add(block, [part.best for part in parts])
        ranks[targets.where(block.start, block.stop)] = 1 + sum(part.ahead.counts() for part in parts)

    sweep(queries, gallery, taker, done, groups=groups, progress=progress)
    return kept.rankings(), ranks


def target_scores(queries: Floats, gallery: Gallery, targets: Targets) -> Floats:
    """The score of each target, the same number as in any other place."""
    scores = np.empty(len(targets.items), dtype=np.float32)
    height = tile_height(queries.shape[1], 1)

    def work(mine: Iterator[int]) -> None:
        out = np.empty((LARGE, height), dtype=np.float32)
        for start in mine:
            block = slice(start, min(start + height, len(queries)))
            there = targets.where(block.start, block.stop)
            values = ready_block(queries[block], height)
            items, place = np.unique(targets.items[there], return_inverse=True)
            for first in range(0, len(items), TAKEN):
                tile(pieces(gallery[items[first : first + TAKEN]]), values, out)
                here = np.flatnonzero((place >= first) & (place < first + TAKEN))
                row = targets.queries[there][here] - start
                scores[there.start + here] = out[place[here] - first, row]

    with one_thread_each() as threads:
        at_once(work, range(0, len(queries), height), threads)
    check_numbers(scores)
    return scores


def rescored(queries: Floats, gallery: Gallery, found: Integers, k: int) -> Rankings:
    """The best `k` of the items found for each query, `(n_queries, n)`, scored and ranked as `top_k` does."""
    found = np.sort(found, axis=1)
    pairs = Targets(
        np.repeat(np.arange(len(queries)), found.shape[1]), found.ravel(), np.zeros(1, dtype=np.int64)
    )
    scores = target_scores(queries, gallery, pairs).reshape(found.shape) + np.float32(0)  # -0.0 equals 0.0
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    items = np.take_along_axis(found, order, axis=1).astype(np.int32)
    return Rankings(items, np.take_along_axis(scores, order, axis=1))


class Ahead:
    """How many of its group are ahead of each target: a taker of `equiview.search.sweep`.

    `queries`, `items` and `scores` `(n_targets,)` are sorted by query; `groups` is `(n_gallery,)`.
    """

    def __init__(
        self,
        n_queries: int,
        queries: Integers,
        items: Integers,
        scores: Floats,
        groups: NDArray[np.integer[Any]],
    ) -> None:
        self.queries, self.items, self.scores, self.groups = queries, items, scores, groups
        self.group = groups[items]
        nth = _nth(queries * (int(self.group.max(initial=0)) + 1) + self.group)
        deep = np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(deep, self.group, np.minimum(nth + 1, SLOTS))
        self.starts = np.concatenate([[0], np.cumsum(deep)])
        """Where the slots of each group begin."""
        self.slot = np.where(nth < SLOTS, self.starts[self.group] + nth, -1)
        self.rest = np.flatnonzero(self.slot < 0)
        shape = (int(self.starts[-1]), n_queries)
        fits = self.slot >= 0
        at = self.slot[fits], queries[fits]
        self.score, self.item = np.full(shape, np.inf, dtype=np.float32), np.full(shape, -1, dtype=np.int32)
        self.score[at], self.item[at] = scores[fits], items[fits]
        self.below = np.nextafter(self.score, np.float32(-np.inf))
        self.ahead = np.zeros(shape, dtype=np.int32)
        self.ahead_of_rest = np.zeros(len(self.rest), dtype=np.int32)
        self.by_item = np.argsort(items, kind="stable")

    def take(self, scores: Floats, first: int, rows: Integers) -> None:
        """Count in `scores` `(len(rows), n_queries)`; rows come group by group."""
        stop = first + len(rows)
        # An equal score is ahead in an earlier part, and not in a later one; within the part it is looked up.
        least = np.where(self.item >= stop, self.below, self.score)
        here = self.by_item[slice(*np.searchsorted(self.items[self.by_item], (first, stop)))]
        of_rows = self.groups[rows]
        bounds = np.concatenate([[0], np.flatnonzero(np.diff(of_rows)) + 1, [len(rows)]])
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            group = int(of_rows[low])
            if group >= len(self.starts) - 1:
                continue
            for slot in range(*self.starts[group : group + 2].tolist()):
                for at in range(low, high, COUNTED):
                    ahead = scores[at : min(at + COUNTED, high)] > least[slot]
                    self.ahead[slot] += np.add.reduce(ahead.view(np.uint8), axis=0, dtype=np.uint8)
            self._add_ties(here[self.group[here] == group], scores[low:high], rows[low:high])
            self._add_rest(group, scores[low:high], rows[low:high])

    def counts(self) -> NDArray[np.int32]:
        """How many were ahead of each target so far, `(n_targets,)`."""
        counts = self.ahead[self.slot, self.queries] if self.ahead.size else np.zeros(0, dtype=np.int32)
        counts[self.rest] = self.ahead_of_rest
        return counts

    def _add_ties(self, which: Integers, scores: Floats, rows: Integers) -> None:
        """Count equal scores that stand before the targets of this part."""
        which = which[self.slot[which] >= 0]
        if len(which):
            ties = (scores[:, self.queries[which]] == self.scores[which]) & (
                rows[:, None] < self.items[which]
            )
            self.ahead[self.slot[which], self.queries[which]] += ties.sum(axis=0)

    def _add_rest(self, group: int, scores: Floats, rows: Integers) -> None:
        places = np.flatnonzero(self.group[self.rest] == group)
        step = max(1, 2**20 // len(rows))
        for start in range(0, len(places), step):
            of = places[start : start + step]
            which = self.rest[of]
            there, own = scores[:, self.queries[which]], self.scores[which]
            ahead = (there > own) | ((there == own) & (rows[:, None] < self.items[which]))
            self.ahead_of_rest[of] += ahead.sum(axis=0)


@dataclass(frozen=True)
class _Both:
    best: Best
    ahead: Ahead

    def take(self, scores: Floats, first: int, rows: Integers) -> None:
        self.best.take(scores, first, rows)
        self.ahead.take(scores, first, rows)


def _nth(keys: Integers) -> Integers:
    """How many equal keys come before each.

    >>> _nth(np.array([3, 5, 3, 3])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    places = np.arange(len(keys))
    new = np.concatenate([[True], np.diff(keys[order]) != 0])[: len(keys)]
    nth = np.empty(len(keys), dtype=np.int64)
    nth[order] = places - np.maximum.accumulate(np.where(new, places, 0)) if len(keys) else 0
    return nth
