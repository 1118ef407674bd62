"""Search of a gallery that lies on disk, beside reading the file alone, and beside its mapping."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.contest import OURS, Contest, Way, as_it_is, largest_difference
from bench.search import vectors
from equiview.search import top_k
from equiview.search.reading import PAGE

Array = np.ndarray[Any, Any]
SHAPES = {"small": (10, 20_000, 64), "medium": (100, 2_000_000, 512), "full": (100, 20_000_000, 512)}
K, STEP = 100, 50_000
READ = 2**24


@dataclass(frozen=True)
class OnDisk(Contest):
    """A contest over a file, which is deleted after it."""

    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)

    def __exit__(self, *error: object) -> None:
        self.folder.cleanup()


def written(path: Path, count: int, width: int) -> None:
    """Vectors of float16, in which rows of one block come again with other signs."""
    rng, block = np.random.default_rng(0), vectors(min(STEP, count), width).astype(np.float16)
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (count, width)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, count, STEP):
            signs = rng.choice(np.array([-1, 1], dtype=np.float16), width)
            file.write((block[: count - start] * signs).tobytes())
        file.flush()
        os.fsync(file.fileno())


def forget(path: Path) -> None:
    """Have the system drop what it keeps of the file, so that it is read from the disk."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def contest(size: str) -> Contest:
    """The best 100 of the file's vectors for some queries, the file not in the system's cache."""
    n_queries, count, width = SHAPES[size]
    folder = tempfile.TemporaryDirectory(prefix="equiview-bench-", dir=os.environ.get("EQUIVIEW_BENCH_DISK"))
    path = Path(folder.name) / "vectors.npy"
    written(path, count, width)
    queries = vectors(n_queries, width, 1)
    scratch, some = np.ones((4096, n_queries), dtype=np.float32), vectors(4096, width, 2)

    def product() -> None:
        for _ in range(0, count, 4096):
            np.matmul(some, queries.T, out=scratch)

    def alone() -> None:
        forget(path)
        room = np.empty(READ + PAGE, dtype=np.uint8)
        begin = -room.ctypes.data % PAGE
        file = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
        at = 0
        while got := os.preadv(file, [room[begin : begin + READ].data], at):
            at += got
        os.close(file)

    def ours() -> Array:
        forget(path)
        return top_k(queries, np.load(path, mmap_mode="r"), K).scores

    def mapped() -> Array:
        forget(path)
        gallery = np.load(path, mmap_mode="r")
        best = np.full((n_queries, K), -np.inf, dtype=np.float32)
        for start in range(0, count, 4096):
            scores = queries @ gallery[start : start + 4096].astype(np.float32).T
            both = np.concatenate([best, scores], axis=1)
            best = np.partition(both, -K, axis=1)[:, -K:]
        return -np.sort(-best, axis=1)

    ways = [
        Way("sgemm of the shape", product),
        Way("reading the file alone", alone),
        Way(OURS, ours, as_it_is),
        Way("NumPy on the mapping, in parts", mapped, as_it_is),
    ]
    size_gb = path.stat().st_size / 1e9
    work = f"exact best {K} of a file of {size_gb:.2f} GB, {n_queries} x {count:,} x {width} of float16"
    return OnDisk(
        work, ways, largest_difference, 1e-5, "largest difference of a score at its rank", folder=folder
    )
