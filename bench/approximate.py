"""Approximate search beside the exact one: what an index costs, what it saves, and what it misses.

The gallery is synthetic and shaped as Crossmodal-3600 is: clusters of captions around each image, in 36
languages, each in a cone of its own. Real vectors are clustered in other ways, and recall is of these alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bench.contest import OURS, Contest, Way, as_it_is
from equiview.search import Index, approximate_top_k, top_k, unit
from equiview.search.approximate import built_of

Array = np.ndarray[Any, Any]
SHAPES = {"small": (60, 10, 64), "medium": (3600, 7, 768), "full": (3600, 72, 768)}
"""Images, captions of each, width."""
LANGUAGES, CONE, NOISE = 36, 0.5, 0.9
K = 100


def world(images: int, each: int, width: int) -> tuple[Array, Array]:
    """Images, and captions around them: `(images, width)` and `(images * each, width)`, of length 1."""
    rng = np.random.default_rng(0)
    seen = rng.standard_normal((images, width), dtype=np.float32)
    cones = rng.standard_normal((LANGUAGES, width), dtype=np.float32)
    captions = np.repeat(seen, each, axis=0)
    captions += CONE * cones[np.arange(len(captions)) % LANGUAGES]
    captions += NOISE * rng.standard_normal(captions.shape, dtype=np.float32)
    return unit(seen), unit(captions)


def missed(found: Array, exact: Array) -> float:
    """The share of the exact best that were not found."""
    return float(np.mean([~np.isin(*pair) for pair in zip(exact, found, strict=True)]))


def contest(size: str) -> Contest:
    """Exact search, an index that is built for it, and one that is there already."""
    queries, gallery = world(*SHAPES[size])
    # A graph of the large gallery takes too long to build with the audit's defaults.
    graph = Index("hnsw", m=16, ef_construction=40) if size == "full" else Index("hnsw")
    ways = [Way(OURS, lambda: top_k(queries, gallery, K).items, as_it_is)]
    for index in (Index("ivf"), graph):
        search = partial(approximate_top_k, queries, gallery, K, index, built=built_of(gallery, index))
        ways.append(Way(f"{index.about}: building", partial(built_of, gallery, index)))
        ways.append(Way(f"{index.about}: searching", search, lambda found: found.items))
    work = f"best {K}, {len(queries):,} x {len(gallery):,} x {queries.shape[1]}, synthetic clusters"
    return Contest(work, ways, missed, 1.0, "share of the exact best that is missed")
