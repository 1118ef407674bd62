"""The best of each query so far, while its scores come in tiles.

A score and its row are one whole number, whose order is that of a ranking: better scores first, equal ones by
row. A tile costs one look at the largest of every `TOGETHER` scores, as hardly any is better than the worst
that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.errors import InputError

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Keys = NDArray[np.uint64]
TOGETHER = 16
STEP = 64 * TOGETHER
"""Rows of the gallery looked at together."""
NONE = np.uint64(2**64 - 1)
"""The key of no item, behind all others."""


def check_depth(k: int, n_gallery: int) -> None:
    """InputError for a number of items that the gallery does not have."""
    if not 1 <= k <= n_gallery:
        raise InputError(f"cannot rank the best {k} of {n_gallery} items; ask for 1 to {n_gallery}")


def check_numbers(scores: Floats) -> None:
    """InputError for a score that is not a number."""
    if np.isnan(scores).any():
        raise InputError("a score is not a number: vectors hold numbers that are not finite, or too large")


class Best:
    """The best `k` of the rows that were taken, for each of some queries: a taker of `equiview.search.sweep`.

    `cut`, `(n_queries,)`, is for all takers of these queries: at least `k` rows of the gallery are known to
    score that much, so that what scores less need not be kept. Scores of 0 are 0.0, whatever their sign.
    """

    def __init__(self, k: int, cut: Floats) -> None:
        self.k, self.cut = k, cut
        self.keys = np.full((len(cut), 2 * k + STEP // 8), NONE)
        self.filled = np.zeros(len(cut), dtype=np.int64)

    def take(self, scores: Floats, first: int, rows: Integers) -> None:
        """Keep what is among the best of `scores` `(len(rows), n_queries)`."""
        for at in range(0, len(rows), STEP):
            part, there = scores[at : at + STEP], rows[at : at + STEP]
            cut = self.cut.copy()
            found = _beyond(part, cut) if np.isfinite(cut).all() else None
            if found and self._add(*found, part, there):
                continue
            if len(part) >= self.k:
                own = part.T.copy()
                own.partition(-self.k, axis=1)
                own = own[:, -self.k].copy()
                self._raise(own)
                places, queries = np.nonzero(~(part < np.maximum(cut, own)))
                if self._add(places, queries, part, there):
                    continue
            self._add_all(part, there)

    def best(self) -> Keys:
        """The keys of the best `(n_queries, k)`, in no order."""
        self._shorten()
        return self.keys[:, : self.k]

    def _add(self, places: Integers, queries: Integers, scores: Floats, rows: Integers) -> bool:
        """Keep scores at these (places, queries); False, and none is kept, if there is no room."""
        counts = np.bincount(queries, minlength=len(self.keys))
        if (self.filled + counts).max() > self.keys.shape[1]:
            self._shorten()
            if (self.filled + counts).max() > self.keys.shape[1]:
                return False
        order = np.argsort(queries.astype(np.uint16), kind="stable")
        to = np.arange(len(order)) + np.repeat(self.filled - np.cumsum(counts) + counts, counts)
        places, queries = places[order], queries[order]
        self.keys[queries, to] = _keys(scores[places, queries], rows[places])
        self.filled += counts
        return True

    def _add_all(self, scores: Floats, rows: Integers) -> None:
        pool = np.concatenate([self.keys, _keys(scores.T, rows)], axis=1)
        self.keys[:, : self.k] = np.partition(pool, self.k - 1, axis=1)[:, : self.k]
        self._shortened(len(rows))

    def _shorten(self) -> None:
        self.keys[:, : self.k] = np.partition(self.keys, self.k - 1, axis=1)[:, : self.k]
        self._shortened(0)

    def _shortened(self, more: int) -> None:
        self.keys[:, self.k :] = NONE
        self.filled = np.minimum(self.filled + more, self.k)
        worst = self.keys[:, : self.k].max(axis=1)
        self._raise(np.where(worst == NONE, np.float32(-np.inf), _scores(worst)))

    def _raise(self, cut: Floats) -> None:
        np.maximum(self.cut, cut, out=self.cut)  # another thread's may be lost: then more than needed is kept


class Kept:
    """The best `k` of all, written where they belong as soon as they are known."""

    def __init__(self, n_queries: int, n_gallery: int, k: int) -> None:
        check_depth(k, n_gallery)
        self.items = np.empty((n_queries, k), dtype=np.int32)
        self.scores = np.empty((n_queries, k), dtype=np.float32)
        self.cuts = np.full(n_queries, -np.inf, dtype=np.float32)

    def taker(self, queries: slice) -> Best:
        """What keeps the best of some queries."""
        return Best(self.items.shape[1], self.cuts[queries])

    def add(self, queries: slice, parts: Sequence[Best]) -> None:
        """Rank what each thread has kept for some queries."""
        k = self.items.shape[1]
        keys = np.sort(np.concatenate([part.best() for part in parts], axis=1), axis=1)[:, :k]
        self.items[queries] = keys & np.uint64(2**32 - 1)
        self.scores[queries] = _scores(keys)

    def rankings(self) -> Rankings:
        """All of them, best first."""
        return Rankings(self.items, self.scores)


def _keys(scores: Floats, rows: Integers) -> Keys:
    """One whole number for each score and row, the less the better its place."""
    check_numbers(scores)
    bits = (scores + np.float32(0)).view(np.uint32)  # -0.0 becomes 0.0, which equals it
    behind = np.where(bits >> np.uint32(31), bits, np.uint32(2**31 - 1) - bits)
    return np.asarray(behind.astype(np.uint64) << np.uint64(32) | rows.astype(np.uint64))


def _scores(keys: Keys) -> Floats:
    """The scores in keys of `_keys`."""
    behind = (keys >> np.uint64(32)).astype(np.uint32)
    bits = np.where(behind >> np.uint32(31), behind, np.uint32(2**31 - 1) - behind)
    return np.ascontiguousarray(bits).view(np.float32)


def _beyond(scores: Floats, cut: Floats) -> tuple[Integers, Integers] | None:
    """The (places, queries) of scores not below the cut; None if there are many."""
    whole = len(scores) - len(scores) % TOGETHER
    tiles = scores[:whole].reshape(-1, TOGETHER, scores.shape[1])
    blocks, queries = np.nonzero(~(tiles.max(axis=1) < cut))  # not a number is not below either
    if len(queries) > scores.size // (4 * TOGETHER):
        return None
    which, inside = np.nonzero(~(tiles[blocks, :, queries] < cut[queries, None]))
    rest, of = np.nonzero(~(scores[whole:] < cut))
    places = np.concatenate([blocks[which] * TOGETHER + inside, whole + rest])
    return places, np.concatenate([queries[which], of])
