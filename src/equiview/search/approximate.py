"""Approximate search: the best `k` that an index of faiss finds, which may miss some (extra `approximate`).

Never a default. An index is built by one thread with a seed of its own, so that the same vectors give the
same lists. What it finds is scored anew, as the exact search scores it, and equal scores stand in row order:
lists differ from the exact ones in what was missed, and in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equiview.data.rankings import Rankings
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.progress import Progress, silent
from equiview.search.kept import check_depth
from equiview.search.products import LARGE
from equiview.search.scaling import Gallery
from equiview.search.topk import check_widths
from equiview.search.within import rescored

EXTRA = "approximate"
TOGETHER = 256
"""Queries that the index is asked at once."""
PER_CELL = 39
"""Vectors that each cell of an IVF index needs for its centre to be found; with fewer faiss warns."""


@dataclass(frozen=True)
class Index:
    """An index of faiss, by the names that faiss gives its parameters.

    `hnsw` is a graph of neighbours (Malkov and Yashunin): `m` links an item, `ef_construction` candidates
    while it is built, `ef_search` while it is searched. `ivf` searches the `nprobe` nearest of `nlist` cells,
    whose centres are k-means of the gallery; None: 4 for the square root of the gallery.
    """

    kind: Literal["hnsw", "ivf"]
    m: int = 32
    ef_construction: int = 200
    ef_search: int = 256
    nlist: int | None = None
    nprobe: int = 32
    seed: int = 0

    @property
    def about(self) -> str:
        """The index and its parameters, in words.

        >>> Index("ivf", nlist=100, nprobe=8).about
        'IVF, nlist 100, nprobe 8'
        """
        if self.kind == "ivf":
            return f"IVF, nlist {self.nlist or '4 sqrt n'}, nprobe {self.nprobe}"
        return f"HNSW, M {self.m}, efConstruction {self.ef_construction}, efSearch {self.ef_search}"


def approximate_top_k(
    queries: NDArray[np.float32],
    gallery: Gallery,
    k: int,
    index: Index,
    progress: Progress = silent,
    built: Any = None,
) -> Rankings:
    """The best `k` of those gallery rows that the index finds for each query, by dot product.

    `queries` is `(n_queries, width)`, `gallery` `(n_gallery, width)`, which is copied into the index, unless
    that was `built` before (`built_of`). Scores are those of `top_k`. InputError where faiss is missing, and
    where fewer than `k` are found for a query.
    """
    check_depth(k, len(gallery))
    check_widths(queries, gallery)
    found = np.empty((len(queries), k), dtype=np.int64)
    built = built_of(gallery, index, progress) if built is None else built
    for start in range(0, len(queries), TOGETHER):
        part = np.ascontiguousarray(queries[start : start + TOGETHER], dtype=np.float32)
        with _threads(blas_alone=True):
            found[start : start + len(part)] = built.search(part, k)[1]
        progress("searching the index", start + len(part), len(queries))
    if (missed := found < 0).any():
        query = int(missed.any(axis=1).argmax())
        wider = "hnsw_ef_search, or hnsw_m" if index.kind == "hnsw" else "ivf_nprobe"
        raise InputError(
            f"approximate search ({index.about}): finds only {k - int(missed[query].sum())} of the {k} items "
            f"asked for by query {query + 1}, and fewer than {k} for {int(missed.any(axis=1).sum())} of "
            f"{len(queries)} queries; raise {wider}, or search exactly"
        )
    return rescored(queries, gallery, found, k)


def built_of(gallery: Gallery, index: Index, progress: Progress = silent) -> Any:
    """The index of all rows, of faiss, built by one thread."""
    faiss, (count, width) = require("faiss", EXTRA), gallery.shape
    with _threads():
        if index.kind == "hnsw":
            built = faiss.IndexHNSWFlat(width, index.m, faiss.METRIC_INNER_PRODUCT)
            built.hnsw.rng = faiss.RandomGenerator(index.seed)
            built.hnsw.efConstruction, built.hnsw.efSearch = index.ef_construction, index.ef_search
        else:
            nlist = index.nlist or max(1, min(round(4 * count**0.5), count // PER_CELL))
            if nlist * PER_CELL > count and nlist > 1:
                raise InputError(
                    f"an IVF index of {nlist} cells needs {nlist * PER_CELL:,} items, and there are "
                    f"{count:,}; give ivf_nlist up to {max(1, count // PER_CELL)}, or leave it out"
                )
            built = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, nlist, faiss.METRIC_INNER_PRODUCT)
            built.cp.seed, built.nprobe = index.seed, min(index.nprobe, nlist)
            step = max(1, count // (built.cp.max_points_per_centroid * nlist))  # no more are used
            built.train(np.ascontiguousarray(gallery[::step], dtype=np.float32))
        for start in range(0, count, LARGE):
            built.add(np.ascontiguousarray(gallery[start : start + LARGE], dtype=np.float32))
            progress("building the index", min(start + LARGE, count), count)
    return built


def _threads(*, blas_alone: bool = False) -> Any:
    """One thread within, of libraries of products alone or of all; looked up now, as faiss brings its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().limit(limits=1, user_api="blas" if blas_alone else None)
