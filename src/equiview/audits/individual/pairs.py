"""Captions of one image in two languages, compared: gaps and distances of pairs, and a sample of them.

Gaps are in similarity to the image that is captioned (`matched`) and to a wrong one (`shuffled`). Distances
are of the vectors as the encoder gives them (`distance`, raw) and of their directions (`chord`, unit).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.benchmarks.parallel import Captions
from equiview.errors import InputError
from equiview.metrics import similarity_gap, text_distance

Floats = NDArray[np.float64]
BLOCK_BYTES = 32 * 2**20
"""Memory for the captions of one slot that are compared together, scaled and not."""
IMAGES = ("matched", "shuffled")
VECTORS = {"raw": ("ratio", "distance"), "unit": ("unit_ratio", "chord")}
"""For raw and for unit vectors: the ratio of gap to distance, and the distance."""
EQUAL = 1e-6
"""Vectors whose lengths differ from 1 by no more than this are unit vectors, whatever their precision."""
LEAST = 3
"""With fewer languages, or pairs of them, a matrix or extremes mean nothing."""


@dataclass(frozen=True)
class Pairs:
    """Captions of `(n,)` images in two languages: numbers of each pair, all `(n,)`.

    `pair` counts pairs of languages, `slot` captions of an image, `images` are rows. `numbers` has
    `distance`, `chord`, `length` and `other_length` (of the raw vectors); `gaps` has a gap by kind of image.
    """

    slot: int
    pair: int
    images: NDArray[np.int64]
    numbers: dict[str, Floats]
    gaps: dict[str, Floats]

    def take(self, rows: NDArray[np.int64]) -> Pairs:
        """Some of the pairs."""
        numbers = {name: values[rows] for name, values in self.numbers.items()}
        gaps = {kind: values[rows] for kind, values in self.gaps.items()}
        return Pairs(self.slot, self.pair, self.images[rows], numbers, gaps)


@dataclass(frozen=True)
class Block:
    """The captions of one slot of `n` images that follow each other.

    `raw`, `(n_languages, n, width)`, are vectors of captions; `exists`, `(n_languages, n)`, says which there
    are. `seen` has the directions of the images they are held against, `(n, width)`, by kind.
    """

    slot: int
    images: slice
    raw: Floats
    exists: NDArray[np.bool_]
    seen: Mapping[str, Floats]

    @cached_property
    def lengths(self) -> Floats:
        """Lengths of the captions' vectors, `(n_languages, n)`."""
        return np.asarray(np.linalg.norm(self.raw, axis=-1))

    @cached_property
    def units(self) -> Floats:
        """Their directions, `(n_languages, n, width)`."""
        return np.asarray(self.raw / self.lengths[..., None])

    def similarity(self, kind: str) -> Floats:
        """Cosine of each caption and its image, `(n_languages, n)`; 0 where there is no caption."""
        return np.where(self.exists, np.einsum("lij,ij->li", self.units, self.seen[kind]), 0.0)

    def compare(self, pair: int, language: int, other: int) -> Pairs | None:
        """The pairs of two languages, or None where no image has a caption in both."""
        rows = np.flatnonzero(self.exists[language] & self.exists[other])
        if not len(rows):
            return None
        texts, others = self.units[language][rows], self.units[other][rows]
        numbers = {
            "distance": text_distance(self.raw[language][rows], self.raw[other][rows], normalised=True),
            "chord": text_distance(texts, others, normalised=True),
            "length": self.lengths[language][rows],
            "other_length": self.lengths[other][rows],
        }
        gaps = {
            kind: similarity_gap(seen[rows], texts, others, normalised=True)
            for kind, seen in self.seen.items()
        }
        return Pairs(self.slot, pair, self.images.start + rows, numbers, gaps)


def blocks_of(n_images: int, n_languages: int, width: int) -> Iterator[slice]:
    """Slices of images whose captions fit in `BLOCK_BYTES`, one image at least."""
    size = max(1, BLOCK_BYTES // (16 * width * n_languages))
    for start in range(0, n_images, size):
        yield slice(start, min(start + size, n_images))


class Sample:
    """Pairs that are kept one by one: `size` of all slots, pairs of languages and images, drawn by `seed`."""

    def __init__(self, size: int, captions: Captions, pairs: Sequence[tuple[int, int]], seed: int) -> None:
        self.captions = captions
        self.pairs = pairs
        n_images = captions.rows.shape[-1]
        total = captions.n_slots * len(pairs) * n_images
        rng = np.random.default_rng(seed)
        drawn = np.sort(rng.choice(total, size, replace=False)) if size < total else np.arange(total)
        self._places, self._images = np.divmod(drawn, n_images)  # place: slot, then pair of languages
        self._kept: list[Pairs] = []

    def add(self, pairs: Pairs) -> None:
        """Keep those of `pairs` that are drawn."""
        place = pairs.slot * len(self.pairs) + pairs.pair
        first, last = np.searchsorted(self._places, [place, place + 1])
        drawn = np.flatnonzero(np.isin(pairs.images, self._images[first:last], assume_unique=True))
        if len(drawn):
            self._kept.append(pairs.take(drawn))

    def table(self, benchmark: Benchmark) -> pl.DataFrame:
        """A row for each pair and kind of image, with the captions themselves.

        Raises InputError when no pair was drawn, where few images have captions in two languages.
        """
        if not self._kept:
            raise InputError(
                f"none of the pairs of captions drawn by seed is of captions that benchmark "
                f"{benchmark.name!r} has: it has few images captioned in two languages; increase the setting "
                "individual.sample"
            )
        parts = [self._rows(pairs, kind, benchmark) for pairs in self._kept for kind in IMAGES]
        return pl.concat(parts).sort("images", "language", "other", maintain_order=True)

    def _rows(self, pairs: Pairs, kind: str, benchmark: Benchmark) -> pl.DataFrame:
        language, other = self.pairs[pairs.pair]
        texts = benchmark.need_texts().table["text"]
        rows = self.captions.rows[pairs.slot]
        n = len(pairs.images)
        return pl.DataFrame(
            {
                "query_id": benchmark.images.ids[pairs.images],
                "language": [self.captions.languages[language]] * n,
                "other": [self.captions.languages[other]] * n,
                "text": texts[rows[language][pairs.images]],
                "other_text": texts[rows[other][pairs.images]],
                **pairs.numbers,
                "images": [kind] * n,
                "gap": pairs.gaps[kind],
            }
        )
