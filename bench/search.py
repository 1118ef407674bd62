"""Search: the exact best of a gallery, MaxSim, and how their cost grows."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.contest import OURS, Contest, Way, as_it_is, cost_of, largest_difference
from equiview.data.vectors import TokenVectors
from equiview.search import Targets, best, ranked_within, score_blocks, top_k
from equiview.search.workers import one_thread_each

Array = np.ndarray[Any, Any]
SHAPES = {"small": (64, 9000, 96), "medium": (1800, 65_000, 768), "full": (3600, 260_000, 768)}
K = 100
BLOCK = 256
"""Queries that the peers score at a time, so that scores fit in memory."""


def vectors(count: int, width: int, seed: int = 0) -> Array:
    """Random vectors of length 1."""
    drawn = np.random.default_rng(seed).standard_normal((count, width), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def exact(size: str) -> Contest:
    """The best 100 of a gallery for each query."""
    n_queries, n_gallery, width = SHAPES[size]
    queries, gallery = vectors(n_queries, width), vectors(n_gallery, width, 1)
    scratch = np.ones((n_queries, 16_384), dtype=np.float32)

    def product() -> None:
        for start in range(0, n_gallery, 16_384):
            part = gallery[start : start + 16_384]
            np.matmul(queries, part.T, out=scratch[:, : len(part)])

    def plain() -> Array:
        found = []
        for start in range(0, n_queries, BLOCK):
            scores = queries[start : start + BLOCK] @ gallery.T
            best = np.argpartition(scores, -K, axis=1)[:, -K:]
            kept = np.take_along_axis(scores, best, axis=1)
            found.append(-np.sort(-kept, axis=1))
        return np.concatenate(found)

    ways = [
        Way("sgemm of the shape", product),
        Way(OURS, lambda: top_k(queries, gallery, K).scores, as_it_is),
        Way("NumPy, product and argpartition", plain, as_it_is),
    ]
    missing = []
    if importlib.util.find_spec("numba"):
        scan = _scan()

        def scanned() -> Array:
            found = np.full((n_queries, K), -np.inf, dtype=np.float32)
            for start in range(0, n_gallery, 16_384):
                part = gallery[start : start + 16_384]
                np.matmul(queries, part.T, out=scratch[:, : len(part)])
                scan(scratch[:, : len(part)], found)
            return -np.sort(-found, axis=1)

        ways.append(Way("NumPy product, scan by Numba", scanned, as_it_is))
    else:
        missing.append("numba")
    if importlib.util.find_spec("faiss"):
        faiss = importlib.import_module("faiss")
        index = faiss.IndexFlatIP(width)
        index.add(gallery)
        ways.append(Way("faiss, IndexFlatIP", lambda: index.search(queries, K)[0], as_it_is))
    else:
        missing.append("faiss")
    if importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
        asked, offered = torch.from_numpy(queries), torch.from_numpy(gallery)

        def of_torch() -> Array:
            parts = [
                torch.topk(asked[start : start + BLOCK] @ offered.T, K).values
                for start in range(0, n_queries, BLOCK)
            ]
            return np.asarray(torch.cat(parts).numpy())

        ways.append(Way("torch, product and topk", of_torch, as_it_is))
    else:
        missing.append("torch")
    work = f"exact best {K}, {n_queries:,} x {n_gallery:,} x {width}"
    return Contest(work, ways, largest_difference, 1e-5, "largest difference of a score at its rank", missing)


def _scan() -> Callable[[Array, Array], None]:
    """Compiled: puts scores into the heap of the best so far of their row, whose least is first."""
    numba = importlib.import_module("numba")

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def scan(scores: Array, best: Array) -> None:
        size = best.shape[1]
        for row in numba.prange(len(scores)):
            heap = best[row]
            for score in scores[row]:
                if score > heap[0]:
                    place = 0
                    while True:
                        child = 2 * place + 1
                        if child >= size:
                            break
                        if child + 1 < size and heap[child + 1] < heap[child]:
                            child += 1
                        if heap[child] >= score:
                            break
                        heap[place] = heap[child]
                        place = child
                    heap[place] = score

    return scan  # type: ignore[no-any-return]


def ranked(size: str) -> Contest:
    """Lists and ranks within 36 languages in one pass, beside the lists alone."""
    n_queries, n_gallery, width = SHAPES[size]
    queries, gallery = vectors(n_queries, width), vectors(n_gallery, width, 1)
    groups = np.random.default_rng(2).integers(36, size=n_gallery)
    rows = np.sort(np.arange(n_gallery) % n_queries)
    items = np.argsort(np.arange(n_gallery) % n_queries, kind="stable")
    targets = Targets(rows, items, groups)

    def apart() -> Array:
        """The ranks as anybody would count them: all scores, language by language."""
        ranks = np.empty(n_gallery, dtype=np.int64)
        columns_of = [np.flatnonzero(groups == group) for group in range(36)]
        for start, scores in score_blocks(queries, gallery):
            here = targets.where(start, start + len(scores))
            for row, item, place in zip(rows[here], items[here], range(here.start, here.stop), strict=True):
                columns = columns_of[groups[item]]
                of_language, own = scores[row - start, columns], scores[row - start, item]
                ties = (of_language == own) & (columns < item)
                ranks[place] = 1 + (of_language > own).sum() + ties.sum()
        return ranks

    ways = [
        Way("the lists alone", lambda: top_k(queries, gallery, K)),
        Way(OURS, lambda: ranked_within(queries, gallery, K, targets)[1], as_it_is),
        Way("ranks alone, counted one by one", apart, as_it_is),
    ]
    work = f"lists and {n_gallery:,} ranks within 36 languages, {n_queries:,} x {n_gallery:,} x {width}"
    return Contest(work, ways, largest_difference, 0.0, "largest difference of a rank")


def late(size: str) -> Contest:
    """MaxSim of every query with every item; items have unlike numbers of tokens."""
    n_queries, n_items, most, width = {"small": (4, 12, 40, 64), "medium": (32, 250, 700, 128)}.get(
        size, (100, 1000, 700, 128)
    )
    rng = np.random.default_rng(0)
    queries = TokenVectors.of([vectors(32, width, seed) for seed in range(n_queries)])
    lengths = rng.integers(most // 2, most + 1, n_items)
    gallery = TokenVectors.of([vectors(int(n), width, 1000 + row) for row, n in enumerate(lengths)])

    def ours() -> Array:
        return np.concatenate([scores for _, scores in score_blocks(queries, gallery)])

    scratch = np.ones((2048, min(len(queries.values), 1024)), dtype=np.float32)

    def product() -> None:
        with one_thread_each():
            for start in range(0, len(gallery.values), len(scratch)):
                part = gallery.values[start : start + len(scratch)]
                for first in range(0, len(queries.values), scratch.shape[1]):
                    some = queries.values[first : first + scratch.shape[1]]
                    np.matmul(part, some.T, out=scratch[: len(part), : len(some)])

    def plain() -> Array:
        tokens = np.asarray(queries.values)
        columns = []
        for row in range(n_items):
            near = tokens @ gallery[row].T
            columns.append(np.add.reduceat(near.max(axis=1), queries.offsets[:-1]))
        return np.stack(columns, axis=1)

    ways = [
        Way("sgemm of the shape", product),
        Way(OURS, ours, as_it_is),
        Way("NumPy, item by item", plain, as_it_is),
    ]
    missing = []
    asked, offered = list(queries), list(gallery)
    for name, module, call in (
        ("sentence-transformers", "sentence_transformers.util", lambda of: of.maxsim),
        ("mteb", "mteb.similarity_functions", lambda of: of.max_sim),
        ("colpali-engine", "colpali_engine.utils.processing_utils", _of_colpali),
    ):
        try:
            theirs = call(importlib.import_module(module))
        except (ImportError, RuntimeError):  # torchvision raises the latter beside a torch of another build
            missing.append(name)
            continue
        ways.append(Way(name, partial(_by_torch, theirs, asked, offered), as_it_is))
    work = f"MaxSim, {n_queries} x {n_items:,} of 32 x {most // 2} to {most} tokens, {width} wide"
    return Contest(work, ways, largest_difference, 1e-3, "largest difference of a score", missing)


def _of_colpali(module: Any) -> Callable[..., Any]:
    """Its MaxSim, which is a method of what makes its pictures ready."""
    return partial(module.BaseVisualRetrieverProcessor.score_multi_vector, device="cpu")


def _by_torch(maxsim: Callable[..., Any], asked: list[Array], offered: list[Array]) -> Array:
    import torch

    with torch.inference_mode():
        found = maxsim(
            [torch.from_numpy(item) for item in asked], [torch.from_numpy(item) for item in offered]
        )
    return np.asarray(found.numpy())


def late_lists(size: str) -> Contest:
    """The best by MaxSim, of items that have subjects: exact scores of all, and of those in doubt alone."""
    shapes = {
        "small": (24, 300, 24, 64, 5),
        "medium": (64, 500, 350, 128, 10),
        "full": (100, 1000, 700, 128, 10),
    }
    n_queries, n_items, most, width, k = shapes[size]
    rng = np.random.default_rng(0)
    words = vectors(3000, width, 1)
    subjects = rng.integers(len(words), size=(max(1, n_items // 10), most // 4))

    def item(length: int, subject: int) -> Array:
        """Words of a subject, and others, each said in its own way."""
        drawn = rng.integers(len(words), size=length)
        of_subject = subjects[subject, rng.integers(subjects.shape[1], size=length)]
        tokens = words[np.where(rng.random(length) < 0.6, of_subject, drawn)]
        tokens = tokens + 0.7 * vectors(length, width, int(rng.integers(2**31)))
        return np.asarray(tokens / np.linalg.norm(tokens, axis=1, keepdims=True))

    queries = TokenVectors.of([item(32, row % len(subjects)) for row in range(n_queries)])
    lengths = rng.integers(most // 2, most + 1, n_items)
    gallery = TokenVectors.of([item(int(n), row % len(subjects)) for row, n in enumerate(lengths)])

    def all_exact() -> Array:
        return np.concatenate([best(scores, k).scores for _, scores in score_blocks(queries, gallery)])

    ways = [
        Way("all scores exact", all_exact, as_it_is),
        Way(OURS, lambda: top_k(queries, gallery, k).scores, as_it_is),
    ]
    missing = []
    if importlib.util.find_spec("torch"):
        importlib.import_module("torch")  # as whatever makes such vectors has
    else:
        missing.append("torch")
    work = f"best {k} by MaxSim, {n_queries} x {n_items:,} of 32 x {most // 2} to {most} tokens, {width} wide"
    return Contest(work, ways, largest_difference, 0.0, "largest difference of a score at its rank", missing)


def growth(size: str) -> list[dict[str, Any]]:
    """Cost of the pass over a gallery by queries, gallery and languages, one of them changed at a time."""
    n_queries, n_gallery, width = {"small": (32, 8192, 64), "medium": (512, 32_768, 384)}.get(
        size, (1024, 65_536, 768)
    )

    def run(queries: int, gallery: int, languages: int) -> Callable[[], Any]:
        asked, offered = vectors(queries, width), vectors(gallery, width, 1)
        own = 2 * languages  # two captions in each language are ranked for each query
        rows, items = np.repeat(np.arange(queries), own), np.arange(queries * own) % gallery
        targets = Targets(rows, items, np.arange(gallery) % languages)
        return lambda: ranked_within(asked, offered, K, targets)

    found = []
    steps = (1, 2, 4)
    for what, values, arguments in (
        ("queries", [n_queries * step for step in steps], lambda n: (n, n_gallery, 36)),
        ("gallery", [n_gallery * step for step in steps], lambda n: (n_queries, n, 36)),
        ("languages", [9 * step for step in steps], lambda n: (n_queries, n_gallery, n)),
    ):
        costs = []
        for value in values:
            costs.append(cost_of(run(*arguments(value))))
        found.append({"of": "lists and ranks", "by": what, "sizes": values, "costs": costs})
    return found
