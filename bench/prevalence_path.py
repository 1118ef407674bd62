"""Memory and time of the prevalence audit at the size of Crossmodal-3600, from stored vectors.

One process fills a store with synthetic vectors; another, fresh one looks them up, and observes and measures
the audit. Memory is that process's own peak, files mapped into it included.
"""

from __future__ import annotations

import hashlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from equiview.audits import AUDITS
from equiview.benchmarks import Benchmark, same_image
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import silent
from equiview.search import comparable, top_k
from equiview.store import Store, stored
from equiview.subjects import EmbeddingModel, Encoder

STEP = 8192


class Seeded(EmbeddingModel):
    """Vectors of noise, drawn by the number in each item: captions lie near their image."""

    def __init__(self, width: int, images: int, *, may_encode: bool) -> None:
        super().__init__(f"{width}")
        self.width, self.images, self.may_encode = width, images, may_encode

    @cached_property
    def centres(self) -> NDArray[np.float32]:
        """Around which captions lie; the process that is measured never asks for them."""
        return np.random.default_rng(0).normal(size=(self.images, self.width)).astype(np.float32)

    @property
    def fingerprint(self) -> str:
        """The noise follows from its width and the number of images."""
        return fingerprint("seeded", self.width, self.images)

    def encode_images(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """The centre whose row is written in the first two channels of the pixel."""
        rows = [pixel[0] * 256 + pixel[1] for pixel in (image.getpixel((0, 0)) for image in images)]  # type: ignore[index]
        self._only_if_allowed()
        return self.centres[rows]

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Noise around the centre that the text names."""
        self._only_if_allowed()
        rows = [int(text.split()[0]) for text in texts]
        seed = int(hashlib.sha256(texts[0].encode()).hexdigest()[:8], 16)
        noise = np.random.default_rng(seed).normal(size=(len(texts), self.width)).astype(np.float32)
        return np.asarray(self.centres[rows] + 3 * noise)

    def _only_if_allowed(self) -> None:
        if not self.may_encode:
            refuse()


def refuse() -> NoReturn:
    """The measured process must find every vector in the store."""
    raise SystemExit("a vector is missing from the store")


def picture(row: int) -> bytes:
    """A picture of one pixel that says which it is."""
    buffer = io.BytesIO()
    Image.new("RGB", (1, 1), (row // 256, row % 256, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def benchmark(images: int, captions: int) -> Benchmark:
    """Captions assigned to images and languages in turn."""
    codes, ids = languages()["code"], [f"{row:016x}" for row in range(images)]
    rows = np.arange(captions)
    known = pl.DataFrame(
        {
            "row": rows,
            "image": rows % images,
            "language": codes[rows // images % len(codes)],
            "image_id": pl.Series(ids)[rows % images],
        }
    )
    table = known.select(
        "language",
        "image_id",
        id=pl.format("{}-{}-{}", "image_id", "language", "row"),
        text=pl.format("{} caption {}", "image", "row"),
    )
    pictures = Items("image", pl.DataFrame({"id": ids, "picture": [picture(row) for row in range(images)]}))
    texts = Items("text", table)
    return Benchmark("synthetic", pictures, texts, same_image(pictures, texts))


def parts(size: str) -> dict[str, Any]:
    """What each part of the audit takes, from vectors that another process has stored."""
    images, captions, width = {"small": (120, 9000, 64), "medium": (1800, 65_000, 768)}.get(
        size, (3600, 261_000, 768)
    )
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "bench.prevalence_path", folder, *map(str, (images, captions, width))]
        subprocess.run([*words, "fill"], check=True)
        said = subprocess.run([*words, "measure"], check=True, capture_output=True, text=True).stdout
    return dict(json.loads(said))


def measured(folder: str, images: int, captions: int, width: int, step: str) -> dict[str, Any] | None:
    """Fill a store, or run the audit from it and say what it took."""
    items = benchmark(images, captions)
    inner = Seeded(width, images, may_encode=step == "fill")
    inner.text_batch = STEP
    subject = stored(inner, Store(Path(folder)))
    if step == "fill":
        for kind in (items.images, items.need_texts()):
            subject.embed(kind)
        return None
    assert isinstance(subject, Encoder)
    vectors = 4 * width * (images + captions) / 1e6
    before = highest()
    audit = AUDITS.get("prevalence")
    settings = audit.configure({})
    marks = [(time.perf_counter(), time.process_time(), before)]

    def mark() -> None:
        marks.append((time.perf_counter(), time.process_time(), highest()))

    observations = audit.observe(subject, items, settings, silent)
    mark()
    audit.measure(audit.view(observations, settings), settings)
    mark()
    gallery, queries = comparable(subject, items.need_texts()), comparable(subject, items.images)
    alone = time.process_time()
    top_k(queries, gallery, settings.depth)
    alone = time.process_time() - alone
    (start, observed, estimated) = marks
    return {
        "work": f"{images:,} images, {captions:,} captions in 36 languages, {width} wide",
        "vectors_mb": round(vectors, 1),
        "before_mb": round(before, 1),
        "observe": _between(start, observed, vectors),
        "measure": _between(observed, estimated, vectors),
        "top_k_processor": round(alone, 3),
    }


def _between(
    start: tuple[float, float, float], stop: tuple[float, float, float], vectors: float
) -> dict[str, float]:
    return {
        "seconds": round(stop[0] - start[0], 3),
        "processor": round(stop[1] - start[1], 3),
        "peak_above_vectors_mb": round(stop[2] - vectors, 1),
    }


def highest() -> float:
    """The highest resident size of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)


if __name__ == "__main__":
    images, captions, width = map(int, sys.argv[2:5])
    found = measured(sys.argv[1], images, captions, width, sys.argv[5])
    if found is not None:
        print(json.dumps(found))
