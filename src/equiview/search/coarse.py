"""MaxSim from coarse to fine: nearly right scores of all pairs, exact ones of those that they leave in doubt.

Tokens are compared in a cheaper way first (`equiview.search.nearly`), which says how far each product may be
from the exact one. The largest of an item's products, and their sum over the tokens of a query, are off by no
more than the bounds' largest and their sum; rounding is added (`equiview.search.products.apart`). What is
further from a cut, or from the score of a target, is decided; the rest is scored as everywhere
(`equiview.search.maxsim`), and where that would be much of it, all is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.vectors import TokenVectors
from equiview.extras import cuda_in_use
from equiview.search.halves import as_float32
from equiview.search.maxsim import maxsim_blocks, nearest, ready_blocks, runs
from equiview.search.nearly import EightBits, Float32, Tokens, UndecidedError, Way, eight_bits_work
from equiview.search.products import LARGE, SHARES, SMALL, apart, tile_height
from equiview.search.targets import Targets
from equiview.search.workers import at_once, one_thread_each

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
FROM, IMPORT_FROM = 2**32, 2**40
"""Multiplications from which this pays; from which torch is imported for it where nothing else has."""
GOOD, MOST = 0.3, 0.5
"""Shares of the exact work: more in doubt did not pay; more is not done pair by pair, which is slower."""
TRIED, SHARED = 64, 3
"""Into how many parts queries are cut, at the least: the first, and further ones."""
TOKENS = 2**13, 6 * LARGE
"""Tokens of a block of queries, at the least and at the most, where the gallery is made anew for each."""
LEAST = 512
"""Tokens of the gallery that a thread takes at a time, at the least where it can be."""
BEST = 2**22
"""Largest products that a thread holds, of 12 bytes."""
WIDEST = 2**16
"""Sums of more products could be beyond 32 bits."""


def coarse_to_fine(
    queries: TokenVectors, gallery: TokenVectors, block_bytes: int, k: int, targets: Targets | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield (first query row, scores `(block, n_gallery)`) that rank as those of `maxsim_blocks`.

    The best `k` of each query and the targets have those scores, to the bit, and so have all that equal one
    of them; each other is on the same side of the `k`-th best, and of the targets of its query whose group
    it is of. Without `k` or targets nothing is asked of it.
    """
    done = 0
    way = _way(queries, gallery, k)
    if way is not None:
        try:
            for start, scores in _decided(way, queries, gallery, block_bytes, k, targets):
                yield start, scores
                done = start + len(scores)
        except UndecidedError:
            pass
    if done < len(queries):
        for start, scores in maxsim_blocks(queries.part(done, len(queries)), gallery, block_bytes):
            yield done + start, scores


def _way(queries: TokenVectors, gallery: TokenVectors, k: int) -> Way | None:
    """How these are compared nearly; None where that would save nothing."""
    work = len(queries.values) * len(gallery.values) * gallery.width
    if queries.width != gallery.width or gallery.width > WIDEST or work < FROM:
        return None
    if not 0 <= k <= GOOD * len(gallery):
        return None
    if cuda_in_use():
        return Float32("cuda")
    there = "torch" in sys.modules or (work >= IMPORT_FROM and importlib.util.find_spec("torch") is not None)
    return EightBits() if there and eight_bits_work() else None


def _decided(
    way: Way,
    queries: TokenVectors,
    gallery: TokenVectors,
    block_bytes: int,
    k: int,
    targets: Targets | None,
) -> Iterator[tuple[int, Floats]]:
    """As `coarse_to_fine`: few queries first, and more of them for as long as that saves work."""
    coarse = _Coarse(way, gallery, keep=gallery.values.size <= block_bytes)
    most = max(1, block_bytes // (4 * len(gallery)))
    few, many = (len(queries.values) // parts for parts in (TRIED, SHARED))
    many = min(max(many, 1 if coarse.keep else TOKENS[0]), TOKENS[1])
    start = well = vain = exact = 0  # the first query that is left; tokens of the others
    while start < len(queries):
        left = queries.part(start, len(queries))
        if 16 * vain <= 8 * well + exact:
            block = _first(left, many if well else few, most)
            part = None if targets is None else targets.of(start, start + len(block))
            found = _Block(block, gallery, coarse)
            scores = found.decided(k, part)
            if found.share < GOOD:
                well += len(block.values)
            else:
                vain += len(block.values)
            if scores is not None:
                yield start, scores
                start += len(block)
                continue
        block = _first(left, TOKENS[1], len(left))
        for first, scores in maxsim_blocks(block, gallery, block_bytes):
            yield start + first, scores
        exact += len(block.values)
        start += len(block)


def _first(vectors: TokenVectors, tokens: int, items: int) -> TokenVectors:
    return vectors.part(*next(runs(vectors.offsets, tokens, items)))


class _Coarse:
    """The items of a gallery as a way compares them, part by part, made once if they are to be kept."""

    def __init__(self, way: Way, gallery: TokenVectors, *, keep: bool) -> None:
        self.way, self.gallery, self.keep = way, gallery, keep
        self.kept: dict[int, Tokens] = {}

    def part(self, first: int, last: int) -> Tokens:
        if first in self.kept:
            return self.kept[first]
        made = self.way.made(self.gallery.part(first, last))
        if self.keep:
            self.kept[first] = made
        return made


class _Block:
    """Scores of some queries with all items, `(n_queries, n_items)`: nearly right, then exact by and by."""

    def __init__(self, queries: TokenVectors, gallery: TokenVectors, coarse: _Coarse) -> None:
        self.queries, self.gallery = queries, gallery
        asked, n_asked = coarse.way.made(queries), len(queries.values)
        self.scores = np.empty((len(queries), len(gallery)), dtype=np.float32)
        self.exact = np.zeros(self.scores.shape, dtype=bool)
        self.length, self.rest = (
            np.add.reduceat(of, asked.offsets[:-1]) for of in (asked.lengths, asked.rests)
        )
        self.item_length, self.item_rest = np.empty((2, len(gallery)))

        def work(mine: Iterator[tuple[int, int]]) -> None:
            torch.set_num_threads(1)  # of this thread
            scores_of = coarse.way.against(asked)
            for first, last in mine:
                items = coarse.part(first, last)
                self.item_length[first:last] = items.longest(items.lengths + items.rests)
                self.item_rest[first:last] = items.longest(items.rests)
                self.scores[:, first:last] = scores_of(items)

        import torch

        with one_thread_each() as threads:
            before = torch.get_num_threads()
            share = -(-len(gallery.values) // (SHARES * threads))
            parts = list(runs(gallery.offsets, min(max(share, LEAST), TOKENS[0]), max(1, BEST // n_asked)))
            try:
                at_once(work, parts, min(threads, len(parts), coarse.way.threads))
            finally:
                torch.set_num_threads(before)
        self.rest += apart(queries.width, int(queries.lengths.max())) * self.length
        self.share = self.spent = 0.0  # of the exact work: what is in doubt, and with what fills its blocks
        self.least = n_asked * (queries.width + 8) * 2.0**-126

    def far(self, row: int) -> NDArray[np.float64]:
        """How far the scores of a query may be from the exact ones, `(n_items,)`."""
        bound = self.length[row] * self.item_rest + self.rest[row] * self.item_length + self.least
        return np.asarray(bound * (1 + 1e-9))

    def decided(self, k: int, targets: Targets | None) -> Floats | None:
        """The scores with all that matters exact, or None where that is too much."""
        wanted = np.zeros(self.exact.shape, dtype=bool)
        if k:
            best = np.argpartition(self.scores, -k, axis=1)[:, -k:]
            np.put_along_axis(wanted, best, True, axis=1)
        if targets is not None:
            wanted[targets.queries, targets.items] = True
        if not self.settle(wanted):
            return None
        columns_of: dict[int, Integers] = {}
        wanted = np.zeros(self.exact.shape, dtype=bool)
        for row in range(len(wanted)):
            scores, far = self.scores[row].astype(np.float64), self.far(row)
            if k:
                exact = scores[self.exact[row]]
                wanted[row] = scores + far >= np.partition(exact, -k)[-k]
            if targets is not None:
                items = targets.items[targets.where(row, row + 1)]
                of_items = targets.groups[items]
                for group in np.unique(of_items).tolist():
                    if group not in columns_of:
                        columns_of[group] = np.flatnonzero(targets.groups == group)
                    columns = columns_of[group]
                    own = scores[items[of_items == group], None]
                    wanted[row, columns] |= (abs(scores[columns] - own) <= far[columns]).any(axis=0)
        return self.scores if self.settle(wanted & ~self.exact) else None

    def settle(self, wanted: Mask) -> bool:
        """Make the scores of these pairs exact; False, and none is, where it is too much."""
        height = tile_height(self.queries.width, 1)
        asked, offered = self.queries.lengths, self.gallery.lengths
        of_query, of_item = wanted @ offered.astype(np.float64), asked.astype(np.float64) @ wanted
        by_query = (_up(asked, height) * (of_query + (of_query > 0) * SMALL / 2)).sum()
        by_item = (_up(of_item, height) * _up(offered, SMALL)).sum()
        whole = asked.sum() * offered.sum()
        self.share += float(asked @ of_query) / whole
        self.spent += min(by_query, by_item) / whole
        if self.spent > MOST:
            return False
        jobs: list[tuple[Integers, Integers]] = []
        if by_query <= by_item:
            for row in np.flatnonzero(of_query):
                items = np.flatnonzero(wanted[row])
                offsets = np.concatenate([[0], np.cumsum(offered[items])])
                jobs += [(np.array([row]), items[first:last]) for first, last in runs(offsets, LARGE)]
        else:
            jobs = [(np.flatnonzero(wanted[:, item]), np.array([item])) for item in np.flatnonzero(of_item)]

        def work(mine: Iterator[tuple[Integers, Integers]]) -> None:
            near = np.empty((LARGE, height), dtype=np.float32)
            for rows, items in mine:
                part = self.queries.take(rows)
                blocks = ready_blocks(as_float32(part.values), height)
                best = nearest(blocks, len(part.values), self.gallery.take(items), near)
                self.scores[np.ix_(rows, items)] = np.add.reduceat(best, part.offsets[:-1], axis=1).T

        if jobs:
            with one_thread_each() as threads:
                at_once(work, jobs, min(threads, len(jobs)))
        self.exact |= wanted
        return True


def _up(counts: NDArray[Any], unit: int) -> NDArray[np.float64]:
    """Counts made up to multiples of `unit`."""
    return np.asarray(np.ceil(counts / unit) * unit)
