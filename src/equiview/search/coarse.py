"""MaxSim from coarse to fine: products of 8 bits for all pairs, exact ones of those that they leave in doubt.

Each token is a multiple of whole numbers from -127 to 127 and a rest. The product of two tokens is then that
of the whole numbers, which a processor with instructions for it (VNNI) finds four times as fast as one of
float32, within |q| |rest of d| + |rest of q| (|d| + |rest of d|) (Cauchy and Schwarz). The largest of an
item's products, and their sum over the tokens of a query, are off by no more than the bounds' largest and
their sum; rounding is added (`equiview.search.products.rounding`). What is further from a cut, or from the
score of a target, is decided; the rest is scored as everywhere (`equiview.search.maxsim`), and where that
would be much of it, all is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.vectors import TokenVectors
from equiview.extras import cuda_in_use
from equiview.search.halves import as_float32
from equiview.search.maxsim import maxsim_blocks, nearest, raise_to, ready_blocks, runs, spans
from equiview.search.products import LARGE, SHARES, SMALL, height_of, rounding
from equiview.search.targets import Targets
from equiview.search.workers import at_once, one_thread_each

if TYPE_CHECKING:
    import torch

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
ROWS, COLUMNS = 512, 2048
"""Tokens of a tile of 8-bit products: 4 MiB."""
BEST = 2**22
"""Largest products that a thread holds, of 12 bytes."""
WIDEST = 2**16
"""Sums of more products could be beyond 32 bits."""
LARGEST, TINY = 1e15, 1e-18
"""Longer tokens are left to the exact way; shorter ones, whose squares are not kept, count as that long."""


class _UndecidedError(Exception):
    """Not for this way."""


def coarse_to_fine(
    queries: TokenVectors, gallery: TokenVectors, block_bytes: int, k: int, targets: Targets | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield (first query row, scores `(block, n_gallery)`) that rank as those of `maxsim_blocks`.

    The best `k` of each query and the targets have those scores, to the bit, and so have all that equal one
    of them; each other is on the same side of the `k`-th best, and of the targets of its query whose group
    it is of. Without `k` or targets nothing is asked of it.
    """
    done = 0
    if _pays(queries, gallery, k):
        try:
            for start, scores in _decided(queries, gallery, block_bytes, k, targets):
                yield start, scores
                done = start + len(scores)
        except _UndecidedError:
            pass
    if done < len(queries):
        for start, scores in maxsim_blocks(queries.part(done, len(queries)), gallery, block_bytes):
            yield done + start, scores


def _pays(queries: TokenVectors, gallery: TokenVectors, k: int) -> bool:
    work = len(queries.values) * len(gallery.values) * gallery.width
    if queries.width != gallery.width or gallery.width > WIDEST or work < FROM or cuda_in_use():
        return False
    if not 0 <= k <= GOOD * len(gallery):
        return False
    there = "torch" in sys.modules or (work >= IMPORT_FROM and importlib.util.find_spec("torch") is not None)
    return there and _works()


@lru_cache(maxsize=1)
def _works() -> bool:
    """Whether torch finds 8-bit products by instructions for them, and rightly."""
    import torch

    vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    if not (hasattr(torch, "_int_mm") and torch.backends.mkldnn.is_available() and vnni()):
        return False
    rows = np.random.default_rng(0).choice([-127, -126, 3, 127], size=(48, 131)).astype(np.int8)
    rows[:2] = [[127], [-127]]
    there = torch.from_numpy(rows)
    found = product(there, there, torch.empty(48, 48, dtype=torch.int32)).numpy()
    return np.array_equal(found, rows.astype(np.int32) @ rows.T.astype(np.int32))


def product(rows: torch.Tensor, columns: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Products of 8-bit numbers `(n, width)` and `(m, width)`, written to `out` `(n, m)` of 32 bits."""
    import torch

    return torch._int_mm(rows, columns.T, out=out)


def _decided(
    queries: TokenVectors, gallery: TokenVectors, block_bytes: int, k: int, targets: Targets | None
) -> Iterator[tuple[int, Floats]]:
    """As `coarse_to_fine`: few queries first, and more of them for as long as that saves work."""
    coarse = _Coarse(gallery, keep=gallery.values.size <= block_bytes)
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


@dataclass(frozen=True)
class _Whole:
    """Tokens in whole numbers `(n, width)`, each item's times its `steps`; lengths, of tokens and rests."""

    numbers: torch.Tensor
    steps: Floats
    lengths: NDArray[np.float64]
    rests: NDArray[np.float64]


def _whole(tokens: NDArray[np.floating[Any]], offsets: Integers) -> _Whole:
    """Round the tokens of items; `_UndecidedError` where some are no numbers, or too large."""
    import torch

    numbers = torch.empty(tokens.shape, dtype=torch.int8)
    largest, lengths, rests = torch.empty(3, len(tokens))
    parts = [slice(at, min(at + LARGE, len(tokens))) for at in range(0, len(tokens), LARGE)]
    for part in parts:
        here = torch.from_numpy(as_float32(tokens[part]))
        torch.amax(here.abs(), dim=1, out=largest[part])
        torch.linalg.vector_norm(here, dim=1, out=lengths[part])
    if not bool(lengths.max() < LARGEST):
        raise _UndecidedError
    most = np.maximum.reduceat(largest.numpy(), offsets[:-1])
    steps = np.where(most > TINY, most / np.float32(127), np.float32(1))
    of_tokens = torch.from_numpy(np.repeat(steps, np.diff(offsets))[:, None])
    for part in parts:
        here = torch.from_numpy(as_float32(tokens[part]))
        near = torch.round(here / of_tokens[part])
        numbers[part] = near
        torch.linalg.vector_norm(here - near * of_tokens[part], dim=1, out=rests[part])
    floor, share = TINY * np.sqrt(tokens.shape[1]), rounding(tokens.shape[1])
    above = lengths.numpy() * (1 + share) + floor
    return _Whole(numbers, steps, above, rests.numpy() * (1 + share) + 2.0**-22 * above + floor)


class _Coarse:
    """The items of a gallery in whole numbers, part by part, made once if they are to be kept."""

    def __init__(self, gallery: TokenVectors, *, keep: bool) -> None:
        self.gallery, self.keep = gallery, keep
        self.kept: dict[int, _Whole] = {}

    def part(self, first: int, last: int) -> _Whole:
        if first in self.kept:
            return self.kept[first]
        part = self.gallery.part(first, last)
        made = _whole(part.values, part.offsets)
        if self.keep:
            self.kept[first] = made
        return made


class _Block:
    """Scores of some queries with all items, `(n_queries, n_items)`: nearly right, then exact by and by."""

    def __init__(self, queries: TokenVectors, gallery: TokenVectors, coarse: _Coarse) -> None:
        self.queries, self.gallery = queries, gallery
        asked = _whole(queries.values, queries.offsets)
        ends, n_asked = queries.offsets[:-1], len(queries.values)
        self.scores = np.empty((len(queries), len(gallery)), dtype=np.float32)
        self.exact = np.zeros(self.scores.shape, dtype=bool)
        self.length, self.rest = (np.add.reduceat(of, ends) for of in (asked.lengths, asked.rests))
        self.item_length, self.item_rest = np.empty((2, len(gallery)))
        import torch

        steps = np.repeat(asked.steps, queries.lengths)

        def work(mine: Iterator[tuple[int, int]]) -> None:
            torch.set_num_threads(1)  # of this thread
            room = torch.empty(ROWS * COLUMNS, dtype=torch.int32)
            for first, last in mine:
                items, bounds = coarse.part(first, last), gallery.part(first, last).offsets
                self.item_length[first:last] = np.maximum.reduceat(items.lengths + items.rests, bounds[:-1])
                self.item_rest[first:last] = np.maximum.reduceat(items.rests, bounds[:-1])
                best = np.empty((last - first, n_asked), dtype=np.int32)
                for at in range(0, len(items.numbers), ROWS):
                    part, within = items.numbers[at : at + ROWS], spans(bounds, at, ROWS)
                    for start in range(0, n_asked, COLUMNS):
                        some = asked.numbers[start : start + COLUMNS]
                        out = room[: len(part) * len(some)].view(len(part), len(some))
                        near = product(part, some, out).numpy()
                        raise_to(best[:, start : start + len(some)], near, within)
                sums = np.add.reduceat(best * steps, ends, axis=1)
                self.scores[:, first:last] = (sums * items.steps[:, None]).T

        with one_thread_each() as threads:
            before = torch.get_num_threads()
            share = -(-len(gallery.values) // (SHARES * threads))
            parts = list(runs(gallery.offsets, min(max(share, ROWS), TOKENS[0]), max(1, BEST // n_asked)))
            try:
                at_once(work, parts, min(threads, len(parts)))
            finally:
                torch.set_num_threads(before)
        # What sums of as many terms round, here and in the exact score, beside the products themselves.
        terms = 3 * rounding(int(queries.lengths.max())) + 2 * rounding(queries.width)
        self.rest += terms * self.length
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
        height = height_of(self.queries.width, 1)
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
