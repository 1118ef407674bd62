"""Memory and time of the prevalence audit at the size of Crossmodal-3600, from stored vectors.

One process fills a store with synthetic vectors (3,600 images, 261,000 captions in 36 languages,
768 wide); another, fresh one looks them up and observes and measures the audit. Memory is that process's own
peak (`getrusage`), files mapped into it included.

    python bench/prevalence_path.py [--images 3600] [--captions 261000] [--width 768] [--precision float32]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from equiview.audits import AUDITS
from equiview.benchmarks import Benchmark, same_image
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.io.fingerprint import fingerprint
from equiview.store import Store, stored
from equiview.subjects import EmbeddingModel

STEP = 8192


class Seeded(EmbeddingModel):
    """Vectors of noise, drawn by the number in each item: captions lie near their image."""

    def __init__(self, width: int, images: int, *, may_encode: bool) -> None:
        super().__init__(f"{width}")
        self.width, self.images, self.may_encode = width, images, may_encode
        self.centres = np.random.default_rng(0).normal(size=(images, width)).astype(np.float32)

    @property
    def fingerprint(self) -> str:
        """The noise follows from its width and the number of images."""
        return fingerprint("seeded", self.width, self.images)

    def encode_images(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """The centre whose row is written in the first two channels of the pixel."""
        rows = [pixel[0] * 256 + pixel[1] for pixel in (image.getpixel((0, 0)) for image in images)]  # type: ignore[index]
        return self._only_if_allowed(self.centres[rows])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Noise around the centre that the text names."""
        rows = [int(text.split()[0]) for text in texts]
        seed = int(hashlib.sha256(texts[0].encode()).hexdigest()[:8], 16)
        noise = np.random.default_rng(seed).normal(size=(len(texts), self.width)).astype(np.float32)
        return self._only_if_allowed(self.centres[rows] + 3 * noise)

    def _only_if_allowed(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if not self.may_encode:
            refuse()
        return vectors


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
    codes = languages()["code"].to_list()
    ids = [f"{row:016x}" for row in range(images)]
    image = [row % images for row in range(captions)]
    languages_of = [codes[row // images % len(codes)] for row in range(captions)]
    table = pl.DataFrame(
        {
            "id": [
                f"{ids[at]}-{code}-{row}"
                for row, (at, code) in enumerate(zip(image, languages_of, strict=True))
            ],
            "text": [f"{at} caption {row}" for row, at in enumerate(image)],
            "language": languages_of,
            "image_id": [ids[at] for at in image],
        }
    )
    pictures = Items("image", pl.DataFrame({"id": ids, "picture": [picture(row) for row in range(images)]}))
    texts = Items("text", table)
    return Benchmark("synthetic", pictures, texts, same_image(pictures, texts))


def megabytes() -> float:
    """The highest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)


def measure(options: argparse.Namespace) -> None:
    """Run the audit in this process and print what it took."""
    begin = time.perf_counter()
    items = benchmark(options.images, options.captions)
    inner = Seeded(options.width, options.images, may_encode=options.fill)
    inner.text_batch = STEP
    subject = stored(inner, Store(options.store), precision=options.precision)
    if options.fill:
        for kind in (items.images, items.need_texts()):
            subject.embed(kind)
        print(f"filled the store in {time.perf_counter() - begin:.1f} s")
        return
    before = megabytes()
    vectors = 4 * options.width * (options.images + options.captions) / 1e6
    marks = {"start": time.perf_counter()}
    cpu = time.process_time()

    def watch(label: str, done: int, total: int) -> None:
        marks.setdefault(f"first {label}", time.perf_counter())
        marks[f"last {label}"] = time.perf_counter()

    audit = AUDITS.get("prevalence")
    settings = audit.configure({})
    observations = audit.observe(subject, items, settings, watch)
    observed, peak, busy = time.perf_counter(), megabytes(), time.process_time() - cpu
    audit.measure(audit.view(observations, settings), settings)
    measured = time.perf_counter()
    print(
        f"{options.images:,} images, {options.captions:,} captions, {options.width} wide, "
        f"{options.precision}\n"
        f"vectors              {vectors:8.0f} MB as float32\n"
        f"before the audit     {before:8.0f} MB (interpreter, libraries, items)\n"
        f"peak, observing      {peak:8.0f} MB, {peak - vectors:.0f} above the vectors\n"
        f"peak, measuring too  {megabytes():8.0f} MB, {megabytes() - vectors:.0f} above the vectors\n"
        f"look-up              {marks['first ranking'] - marks['start']:8.1f} s (with the first block)\n"
        f"ranking              {marks['last ranking'] - marks['first ranking']:8.1f} s\n"
        f"observing in all     {observed - marks['start']:8.1f} s, {busy:.1f} s of processor time\n"
        f"measuring            {measured - observed:8.1f} s"
    )


def main() -> None:
    """Fill a store in one process, measure in another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=3600)
    parser.add_argument("--captions", type=int, default=261_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--precision", choices=("float32", "float16"), default="float32")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.store:
        measure(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        for more in (["--fill"], []):
            subprocess.run([sys.executable, *sys.argv, "--store", folder, *more], check=True)


if __name__ == "__main__":
    main()
