"""Training data: pairs of an image and a caption, of D and of D' (O, section 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL.Image import Image

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.removals import REMOVALS, WRITTEN
from equiview.data.items import Items
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.tables import read_table
from equiview.making.card import CARD, Card


@dataclass(frozen=True)
class Pairs:
    """Pairs of an image and a caption: `image` `(n_pairs,)` has rows of `images`, `texts` the captions."""

    name: str
    images: Items
    image: NDArray[np.int64]
    texts: tuple[str, ...]
    source: str = ""
    licence: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the images in use, the captions, and the image of each caption."""
        used, places = np.unique(self.image, return_inverse=True)
        return fingerprint(self.images.take(used).fingerprint, places.tobytes(), *self.texts)


@dataclass(frozen=True)
class Mixture:
    """The pairs of D, then those drawn from D'. A pair is identified by its row."""

    real: Pairs
    synthetic: Pairs | None = None

    def __len__(self) -> int:
        return sum(map(len, self.sides.values()))

    @property
    def sides(self) -> dict[str, Pairs]:
        """D as `real`, and D', if any, as `synthetic`."""
        return {"real": self.real} | ({"synthetic": self.synthetic} if self.synthetic else {})

    @cached_property
    def texts(self) -> list[str]:
        """The caption of each pair."""
        return [text for side in self.sides.values() for text in side.texts]

    @cached_property
    def image(self) -> NDArray[np.int64]:
        """The image of each pair as a number, those of D' after those of D, `(n_pairs,)`."""
        if self.synthetic is None:
            return self.real.image
        return np.concatenate([self.real.image, self.synthetic.image + len(self.real.images)])

    @cached_property
    def text(self) -> NDArray[np.int64]:
        """The caption of each pair as a number, equal for equal captions, `(n_pairs,)`."""
        number = {text: row for row, text in enumerate(dict.fromkeys(self.texts))}
        return np.array([number[text] for text in self.texts], dtype=np.int64)

    def picture(self, row: int) -> Image:
        """The picture of a pair; InputError when it cannot be read."""
        image = int(self.image[row])
        past = image - len(self.real.images)
        if past < 0 or self.synthetic is None:
            return self.real.images.pictures([image])[0]
        return self.synthetic.images.pictures([past])[0]


def load_pairs(name: str) -> Pairs:
    """D: every caption of a benchmark that is relevant to an image, with that image."""
    return pairs_of(load_benchmark(name))


def pairs_of(benchmark: Benchmark) -> Pairs:
    """Every text that is relevant to an image, with that image; InputError where there is none.

    >>> pairs = pairs_of(load_benchmark("pictograms"))
    >>> len(pairs) == len(pairs.image)
    True
    """
    relevance, texts = benchmark.relevance, benchmark.texts
    if texts is None or relevance is None or not len(relevance.items):
        raise InputError(
            f"benchmark {benchmark.name!r} has no captions of its images; fine-tuning learns from images "
            "with captions"
        )
    said = texts.texts
    captions = tuple(said[row] for row in relevance.items)
    return Pairs(
        *(benchmark.name, benchmark.images, relevance.queries, captions),
        source=benchmark.source,
        licence=benchmark.licence,
    )


def load_synthetic(name: str) -> Pairs:
    """D': a folder that `equiview build removal` wrote, or a benchmark.

    Of a benchmark with a table `removals` the synthetic images are taken, with that table's `captions`; of
    any other every caption that is relevant to an image. InputError where synthetic images have no captions.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _written(folder)
    benchmark = load_benchmark(name)
    if REMOVALS.name not in benchmark.tables:
        return pairs_of(benchmark)
    table = benchmark.tables[REMOVALS.name]
    rows = benchmark.images.rows_of(table["image_id"])
    pairs = _listed(f"benchmark {benchmark.name!r}", benchmark.images, rows, table)
    return replace(pairs, name=benchmark.name, source=benchmark.source, licence=benchmark.licence)


def _written(folder: Path) -> Pairs:
    path = folder / WRITTEN.name
    if not path.is_file():
        raise InputError(f"{folder}: holds no {path.name}; `equiview build removal` writes one")
    table = read_table(path, WRITTEN)
    files = [str(folder / file) for file in table["path"]]
    images = Items("image", pl.DataFrame({"id": table["id"], "path": files}), str(folder))
    pairs = _listed(str(folder), images, pl.Series(range(len(table))), table)
    made = (folder / CARD).is_file()
    return replace(pairs, source=f"made from {Card.read(folder).made_from}") if made else pairs


def _listed(name: str, images: Items, rows: pl.Series, table: pl.DataFrame) -> Pairs:
    """Pairs from the list of captions of each image, which is in `rows` of `images`."""
    none = pl.Series([[]] * len(table), dtype=pl.List(pl.String))
    listed = pl.DataFrame({"image": rows, "text": table.get_column("captions", default=none)})
    listed = listed.explode("text", empty_as_null=True).drop_nulls()
    if not len(listed):
        raise InputError(
            f"{name} has no captions of its synthetic images, from which fine-tuning learns; name a folder "
            "of `equiview build removal`, which writes them"
        )
    return Pairs(name, images, listed["image"].to_numpy(), tuple(listed["text"]))


def mixed(real: Pairs, synthetic: Pairs | None, ratio: float | None, seed: int) -> Mixture:
    """D and as many pairs of D' as `ratio` times |D|, drawn by the seed; all of D' where `ratio` is None.

    The sample of a lower ratio is part of that of a higher one. InputError for a ratio that is
    below 0, is above 0 without D', or asks for more than D' has.
    """
    if ratio is not None and not (math.isfinite(ratio) and ratio >= 0):
        raise InputError(f"the ratio of D' to D is {ratio:g}; expected a number from 0, such as 0.1")
    if synthetic is None:
        if ratio:
            raise InputError(f"a ratio of {ratio:g} needs synthetic data; name them with --synthetic")
        return Mixture(real)
    wanted = len(synthetic) if ratio is None else round(ratio * len(real))
    if wanted > len(synthetic):
        most = len(synthetic) / len(real)
        raise InputError(
            f"a ratio of {ratio:g} needs {wanted} synthetic pairs beside the {len(real)} of {real.name!r}; "
            f"{synthetic.name!r} has {len(synthetic)}, enough for {math.floor(most * 1000) / 1000:g}"
        )
    if not wanted:
        return Mixture(real)
    order = np.random.default_rng(seed_for(seed, "synthetic")).permutation(len(synthetic))
    rows = np.sort(order[:wanted])
    texts = tuple(synthetic.texts[row] for row in rows)
    return Mixture(real, replace(synthetic, image=synthetic.image[rows], texts=texts))
