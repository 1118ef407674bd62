"""One pass over a gallery: every score is computed once, in a tile that fits a cache, and used at once.

Tiles are given to takers, which keep what they need of the scores: the best (`equiview.search.kept`), or how
many are ahead of some (`equiview.search.within`). The processor's threads share the parts of the gallery.
What a thread has kept of its parts is put together with what the others have; takers see to it that it does
not matter which had what.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from equiview.io.progress import Progress, silent
from equiview.search.products import LARGE, pieces, ready_block, tile, tile_height
from equiview.search.reading import Part, parts_in_order
from equiview.search.room import give_back
from equiview.search.scaling import Gallery, Scaled, as_stored
from equiview.search.workers import at_once, one_thread_each

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
BLOCKS = 4
"""Blocks of queries that go over the gallery together, so that it is read and converted less often."""


class Taker(Protocol):
    """What a thread keeps of the scores of some queries with the parts of the gallery that it was given."""

    def take(self, scores: Floats, first: int, rows: Integers) -> None:
        """Take scores `(len(rows), n_queries)` of gallery rows, which lie in the part that begins at `first`.

        Parts come in their order, but not all of them. `scores` is written over afterwards.
        """


Kind = TypeVar("Kind", bound=Taker)


def sweep(
    queries: NDArray[np.float32],
    gallery: Gallery,
    taker: Callable[[slice], Kind],
    done: Callable[[slice, list[Kind]], None],
    *,
    groups: NDArray[np.integer[Any]] | None = None,
    progress: Progress = silent,
) -> None:
    """Give all scores of `queries` `(n_queries, width)` with `gallery` `(n_gallery, width)` to takers.

    `taker(queries)` makes that of a thread for some queries; `done(queries, those of all threads)` is called
    when the last score of these queries has been taken. With `groups`, `(n_gallery,)`, rows of a part come
    group by group, and in row order within. The gallery may be mapped from disk, and of float16.
    """
    with one_thread_each() as threads:
        firsts = range(0, len(gallery), LARGE)
        step = BLOCKS if len(firsts) >= BLOCKS * threads else 1
        if step > 1:
            give_back()  # what reading the vectors took, before there are rooms and tiles
        height = tile_height(queries.shape[1], len(queries))
        blocks = [slice(at, min(at + height, len(queries))) for at in range(0, len(queries), height)]
        together = [blocks[at : at + step] for at in range(0, len(blocks), step)]
        apart = not np.may_share_memory(queries, as_stored(gallery))
        results = _Results(queries, height, apart, together, len(firsts), done)

        def work(mine: Iterator[Part]) -> None:
            scores = np.empty((LARGE, height), dtype=np.float32)
            room = np.empty((LARGE, queries.shape[1]), dtype=np.float32)
            current, own, count = -1, list[Kind](), 0
            for part in mine:
                group, first, stored = part.number, part.first, part.rows
                if group != current:
                    results.add(current, own, count)
                    own = []  # before there are others
                    current, own, count = group, [taker(block) for block in together[group]], 0
                rows = np.arange(first, first + len(stored))
                if groups is not None:
                    order = np.argsort(groups[first : first + LARGE], kind="stable")
                    into = room[: len(order)] if stored.dtype == room.dtype else None
                    rows, stored = rows[order], np.take(stored, order, axis=0, out=into, mode="clip")
                laid = pieces(gallery.scaled(stored) if isinstance(gallery, Scaled) else stored, room)
                for block, values, keeps in zip(together[group], results.values(group), own, strict=True):
                    tile(laid, values, scores)
                    keeps.take(scores[: len(rows), : block.stop - block.start], first, rows)
                part.give_back()
                count += 1
                if threading.current_thread() is threading.main_thread():
                    done_of_all = (group + first / len(gallery)) / len(together)
                    progress("ranking", int(done_of_all * len(queries)), len(queries))
            results.add(current, own, count)

        with parts_in_order(gallery, firsts, LARGE, len(together)) as parts:
            at_once(work, parts, min(threads, len(together) * len(firsts)))
    progress("ranking", len(queries), len(queries))


class _Results(Generic[Kind]):
    """What the threads have kept for blocks of queries that go over the gallery together."""

    def __init__(
        self,
        queries: NDArray[np.float32],
        height: int,
        apart: bool,
        together: list[list[slice]],
        n_parts: int,
        done: Callable[[slice, list[Kind]], None],
    ) -> None:
        self.queries, self.height, self.apart = queries, height, apart
        self.together, self.done = together, done
        self.left = [n_parts] * len(together)
        self.kept: list[list[list[Kind]]] = [[] for _ in together]
        self.ready: dict[int, list[NDArray[Any]]] = {}
        self.turn = threading.Lock()

    def values(self, group: int) -> list[NDArray[Any]]:
        """The blocks of a group, ready to be multiplied."""
        with self.turn:
            if group not in self.ready:
                self.ready[group] = [
                    ready_block(self.queries[block], self.height, apart=self.apart)
                    for block in self.together[group]
                ]
            return self.ready[group]

    def add(self, group: int, own: list[Kind], count: int) -> None:
        """Add what a thread has kept of `count` parts; of the last ones, all is handed over."""
        if not count:
            return
        with self.turn:
            self.kept[group].append(own)
            self.left[group] -= count
            if self.left[group]:
                return
            self.ready.pop(group)
        for place, block in enumerate(self.together[group]):
            self.done(block, [kept[place] for kept in self.kept[group]])
        self.kept[group] = []
