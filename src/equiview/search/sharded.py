"""Search by the engine in use: shards of the queries, and of a gallery that is too large to be held at once.

A score depends on the query and the item alone, so shards give the scores that the whole gives. The best of
shards are put together in row order, and a rank is one more than what is ahead in all of them: the results
are those of this process, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.data.vectors import TokenVectors, Vectors, values_of
from equiview.engine import Local, current, current_for
from equiview.extras import cuda_in_use
from equiview.io.progress import Progress, silent
from equiview.search import topk
from equiview.search.scaling import Gallery
from equiview.search.targets import Targets
from equiview.search.topk import BLOCK_BYTES, DEEP, best, deciding_blocks, score_blocks
from equiview.search.within import lists_and_ranks

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
Result = TypeVar("Result")
SHARED_FROM = 2**28
"""Multiplications from which the workers of an engine take part; with fewer, to ask them takes longer."""
CUDA_FROM = 2**34
"""Multiplications from which an accelerator is used."""
TURNS = 4
"""Shards of the queries for each worker, so that none waits long for the last."""
PAIRS_BYTES = 16 * 2**20
"""Of comparisons at a time."""


def top_k(queries: Vectors, gallery: Vectors, k: int, *, block_bytes: int = BLOCK_BYTES) -> Rankings:
    """The best `k` gallery rows for each query by dot product or MaxSim; give `unit` vectors for cosine.

    `queries` is `(n_queries, width)`, `gallery` `(n_gallery, width)`, or both are `TokenVectors`; memory does
    not grow with the product. Done by the engine in use (`equiview.engine`).

    >>> eye = np.eye(3, dtype=np.float32)
    >>> top_k(eye, eye, 1).items.tolist()
    [[0], [1], [2]]
    """
    if _for_cuda(queries, gallery, k):
        return _on_cuda(queries, gallery, k, Targets.none(len(gallery)), silent)[0]
    if not _shareable(queries, gallery) or not 1 <= k <= len(gallery):
        return topk.top_k(queries, gallery, k, block_bytes=block_bytes)
    return _merged(list(_shards_of(queries)), gallery, k, silent)


def ranked_within(
    queries: Vectors,
    gallery: Gallery | TokenVectors,
    k: int,
    targets: Targets,
    progress: Progress = silent,
) -> tuple[Rankings, Rows]:
    """`equiview.search.within.lists_and_ranks`, done by the engine in use.

    The best `k` of the gallery for each query, and each target's rank, from 1, among items of its group.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> among = Targets(np.array([0, 1]), np.array([0, 2]), np.array([0, 1, 1]))
    >>> lists, ranks = ranked_within(eye[:2], eye, 1, among)
    >>> lists.items.tolist(), ranks.tolist()
    ([[0], [1]], [1, 2])
    """
    if _for_cuda(queries, gallery, k):
        return _on_cuda(queries, gallery, k, targets, progress)
    if not _shareable(queries, gallery) or not 1 <= k <= len(gallery):
        return lists_and_ranks(queries, gallery, k, targets, progress)
    shards = list(_shards_of(queries))
    if _fits(gallery, targets):
        found: list[tuple[Rankings, Rows]] = []
        shared = (_part(gallery, 0, len(gallery)), k, targets)
        ranked = current().map(_ranked_shard, shards, shared=shared, size=_size)
        for shard, parts in zip(shards, ranked, strict=True):
            found.append(parts)
            progress("ranking", shard.stop, len(queries))
        return _joined([lists for lists, _ in found]), np.concatenate([ranks for _, ranks in found])
    scores = np.empty(len(targets.queries), dtype=np.float32)
    lists = _merged(shards, gallery, k, progress, targets, scores)
    return lists, 1 + _ahead_of_all(shards, gallery, targets, scores, progress)


@dataclass(frozen=True)
class Block:
    """Scores `(n, n_gallery)` of queries `start` and after.

    Exact in what their best `k` and the ranks of `targets` depend on, whose queries count from `start`.
    """

    start: int
    scores: Floats
    k: int
    targets: Targets


def per_block(
    work: Callable[..., Result],
    queries: Vectors,
    gallery: Vectors,
    k: int,
    targets: Targets | None = None,
    *shared: Any,
) -> Iterator[tuple[int, Result]]:
    """Yield (queries done, `work(block, *shared)`) for the `Block`s of all queries, in their order.

    Done by the engine in use where its workers can hold the gallery, else here. `work` is a function of a
    module, which a worker can import.
    """
    targets = targets or Targets.none(len(gallery))
    given = (gallery, k, targets, work, *shared)
    if not _shareable(queries, gallery) or not _fits(*given):
        yield from _works(Shard(0, len(queries), queries), *given)
        return
    for parts in current().map(_worked, _shards_of(queries), shared=given, size=_size):
        yield from parts


@dataclass(frozen=True)
class Shard:
    """Queries `start` to `stop`."""

    start: int
    stop: int
    queries: Vectors


def _for_cuda(queries: Vectors, gallery: Gallery | TokenVectors, k: int) -> bool:
    """Whether this process has an accelerator for these products, and there are enough to copy them there."""
    if isinstance(queries, TokenVectors) or isinstance(gallery, TokenVectors) or not len(queries):
        return False
    return k <= DEEP and queries.size * len(gallery) >= CUDA_FROM and cuda_in_use()


def _on_cuda(
    queries: Vectors, gallery: Gallery | TokenVectors, k: int, targets: Targets, progress: Progress
) -> tuple[Rankings, Rows]:
    from equiview.search.device import lists_and_ranks_on

    assert not isinstance(queries, TokenVectors)
    assert not isinstance(gallery, TokenVectors)
    return lists_and_ranks_on("cuda", queries, gallery, k, targets, progress)


def _shareable(queries: Vectors, gallery: Gallery | TokenVectors) -> bool:
    """Whether the workers of the engine in use take part.

    Not in what is wrong, where the error is the same everywhere, nor in MaxSim where this process has an
    accelerator for it.
    """
    if not len(queries):
        return False
    several = isinstance(queries, TokenVectors)
    asked, offered = values_of(queries), gallery.values if isinstance(gallery, TokenVectors) else gallery
    if several != isinstance(gallery, TokenVectors) or asked.shape[1] != offered.shape[1]:
        return False
    if several and cuda_in_use():
        return False
    return not isinstance(current_for(asked.size * len(offered), SHARED_FROM), Local)


def _part(vectors: Gallery | TokenVectors, start: int, stop: int) -> Vectors:
    """Vectors of items `start` to `stop`, copied only where they are scaled when they are read."""
    return vectors.part(start, stop) if isinstance(vectors, TokenVectors) else vectors[start:stop]


def _shards_of(queries: Vectors) -> Iterator[Shard]:
    """Queries in shards, `TURNS` for each worker or more."""
    room = current().room // 8  # a few are under way
    step = -(-len(queries) // (TURNS * current().workers))
    step = max(1, min(step, len(queries) * room // max(1, _bytes(queries))))
    for start in range(0, len(queries), step):
        stop = min(start + step, len(queries))
        yield Shard(start, stop, _part(queries, start, stop))


def _bytes(*things: Any) -> int:
    """Bytes of arrays, wherever they are in what is given."""
    total = 0
    for thing in things:
        if isinstance(thing, np.ndarray):
            total += thing.nbytes
        elif isinstance(thing, dict):
            total += _bytes(*thing.values())
        elif isinstance(thing, Sequence) and not isinstance(thing, str | bytes):
            total += _bytes(*thing)
        elif hasattr(thing, "__dict__"):
            total += _bytes(*vars(thing).values())
    return total


def _size(shard: Shard) -> int:
    return _bytes(shard)


def _fits(*shared: Any) -> bool:
    return _bytes(*shared) <= current().room


def _pieces(gallery: Gallery | TokenVectors) -> Iterator[tuple[int, Vectors]]:
    """First row and rows of parts of the gallery that workers can hold."""
    count = -(-2 * _bytes(gallery) // current().room) if not _fits(gallery) else 1
    bounds = np.linspace(0, len(gallery), count + 1).astype(np.int64).tolist()
    for first, last in pairwise(bounds):
        if last > first:
            yield first, _part(gallery, first, last)


def _joined(parts: Sequence[Rankings]) -> Rankings:
    return Rankings(*(np.concatenate([getattr(part, of) for part in parts]) for of in ("items", "scores")))


def _merged(
    shards: Sequence[Shard],
    gallery: Gallery | TokenVectors,
    k: int,
    progress: Progress,
    targets: Targets | None = None,
    scores: Floats | None = None,
) -> Rankings:
    """The best `k` of all parts of the gallery; the scores of targets are written to `scores`."""
    kept: list[Rankings | None] = [None] * len(shards)
    for first, part in _pieces(gallery):
        given = (part, first, min(k, len(part)), targets)
        found = current().map(_best_of_part, shards, shared=given, size=_size)
        for place, (shard, (lists, pairs, their)) in enumerate(zip(shards, found, strict=True)):
            kept[place] = _best_of_both(kept[place], lists, k)
            if scores is not None:
                scores[pairs] = their
            progress("ranking", shard.stop, shards[-1].stop)
    return _joined([lists for lists in kept if lists is not None])


def _best_of_both(before: Rankings | None, after: Rankings, k: int) -> Rankings:
    """The best of two, all rows of the first of which come before those of the second.

    >>> first, second = (Rankings(np.array([[row]], np.int32), np.ones((1, 1), np.float32)) for row in (4, 9))
    >>> _best_of_both(first, second, 1).items.tolist()
    [[4]]
    """
    if before is None:
        return after
    items = np.concatenate([before.items, after.items], axis=1)
    scores = np.concatenate([before.scores, after.scores], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Rankings(np.take_along_axis(items, order, axis=1), np.take_along_axis(scores, order, axis=1))


def _best_of_part(
    shard: Shard, part: Vectors, first: int, k: int, targets: Targets | None
) -> tuple[Rankings, Rows, Floats]:
    """The best `k` of a part that begins at row `first`, and which targets are in it, with their scores."""
    if targets is None:
        lists = topk.top_k(shard.queries, part, k)
        return _moved(lists, first), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    ranked, pairs, their = [], [], []
    for start, scores in score_blocks(shard.queries, part):
        ranked.append(best(scores, k))
        of = shard.start + start, shard.start + start + len(scores)
        here, mine = targets.where(*of), targets.of(*of)
        inside = np.flatnonzero((mine.items >= first) & (mine.items < first + len(part)))
        pairs.append(inside + here.start)
        their.append(scores[mine.queries[inside], mine.items[inside] - first])
    return _moved(_joined(ranked), first), np.concatenate(pairs), np.concatenate(their)


def _moved(lists: Rankings, first: int) -> Rankings:
    return Rankings(lists.items + np.int32(first), lists.scores)


def _ahead_of_all(
    shards: Sequence[Shard],
    gallery: Gallery | TokenVectors,
    targets: Targets,
    scores: Floats,
    progress: Progress,
) -> Rows:
    """How many items of its group are ahead of each target, `(n_targets,)`."""
    ahead = np.zeros(len(targets.queries), dtype=np.int64)
    for first, part in _pieces(gallery):
        given = (part, first, targets, scores)
        for shard, found in zip(
            shards, current().map(_ahead_in_part, shards, shared=given, size=_size), strict=True
        ):
            ahead[targets.where(shard.start, shard.stop)] += found
            progress("ranking in groups", shard.stop, shards[-1].stop)
    return ahead


def _ahead_in_part(shard: Shard, part: Vectors, first: int, targets: Targets, scores: Floats) -> Rows:
    groups = targets.groups[first : first + len(part)]
    counts = []
    for start, found in score_blocks(shard.queries, part):
        of = shard.start + start, shard.start + start + len(found)
        here, mine = targets.where(*of), targets.of(*of)
        count = np.zeros(len(mine.queries), dtype=np.int64)
        of_group = targets.groups[mine.items]
        for group in np.unique(of_group):
            columns, pairs = np.flatnonzero(groups == group), np.flatnonzero(of_group == group)
            step = max(1, PAIRS_BYTES // max(1, 4 * len(columns)))
            for at in range(0, len(pairs), step):
                some = pairs[at : at + step]
                theirs = found[mine.queries[some][:, None], columns]
                own = scores[here][some][:, None]
                ties = (theirs == own) & (columns + first < mine.items[some][:, None])
                count[some] = ((theirs > own) | ties).sum(axis=1)
        counts.append(count)
    return np.concatenate(counts)


def _ranked_shard(shard: Shard, gallery: Vectors, k: int, targets: Targets) -> tuple[Rankings, Rows]:
    return lists_and_ranks(shard.queries, gallery, k, targets.of(shard.start, shard.stop))


def _works(
    shard: Shard, gallery: Vectors, k: int, targets: Targets, work: Callable[..., Result], *shared: Any
) -> Iterator[tuple[int, Result]]:
    mine = targets.of(shard.start, shard.stop)
    for start, scores in deciding_blocks(shard.queries, gallery, k, mine):
        stop = start + len(scores)
        yield shard.start + stop, work(Block(shard.start + start, scores, k, mine.of(start, stop)), *shared)


def _worked(shard: Shard, *given: Any) -> list[tuple[int, Any]]:
    return list(_works(shard, *given))
