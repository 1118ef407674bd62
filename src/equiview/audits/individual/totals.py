"""Sums and maxima over pairs of captions as they come by, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.individual.pairs import IMAGES, VECTORS, Block, Floats, Pairs
from equiview.metrics import gap_ratio

RATIOS = tuple(name for name, _ in VECTORS.values())
SUMS = ("pairs", "unequal", "gap", "distance", "chord", *RATIOS)
SPREAD = ("gap", "distance", "chord")
SQUARED = tuple(f"{name} squared" for name in SPREAD)
LARGEST = tuple(f"largest_{name}" for name in RATIOS)


class Totals:
    """What pairs add up to, for each image and language and for each two languages."""

    def __init__(self, languages: Sequence[str], n_images: int) -> None:
        self.languages = np.asarray(languages)
        self.pairs = list(combinations(range(len(languages)), 2))
        self._of_image = _empty((len(IMAGES), len(languages), n_images), ("similarity", "slots"))
        self._of_pair = _empty((len(IMAGES), len(self.pairs)), (*SQUARED, "slope"))

    def add_similarity(self, block: Block) -> None:
        """Take in how similar the captions of a block are to their images."""
        for which, kind in enumerate(IMAGES):
            self._of_image["similarity"][which, :, block.images] += block.similarity(kind)
            self._of_image["slots"][which, :, block.images] += block.exists

    def add(self, pairs: Pairs) -> None:
        """Take in compared pairs of captions."""
        for which, kind in enumerate(IMAGES):
            numbers = _with_ratios(pairs.numbers | {"gap": pairs.gaps[kind]})
            added = numbers | {name: np.nan_to_num(numbers[name]) for name in RATIOS}
            self._add_to_pair((which, pairs.pair), numbers, added)
            for language in self.pairs[pairs.pair]:
                for name in SUMS:
                    self._of_image[name][which, language, pairs.images] += added[name]
                for name, ratio in zip(LARGEST, RATIOS, strict=True):
                    largest = self._of_image[name][which, language]
                    largest[pairs.images] = np.fmax(largest[pairs.images], numbers[ratio])

    def _add_to_pair(self, at: tuple[int, int], numbers: dict[str, Floats], added: dict[str, Floats]) -> None:
        for name in SUMS:
            self._of_pair[name][at] += added[name].sum()
        for name in SPREAD:
            self._of_pair[f"{name} squared"][at] += (numbers[name] ** 2).sum()
        for name, ratio in zip(LARGEST, RATIOS, strict=True):
            self._of_pair[name][at] = np.fmax(self._of_pair[name][at], np.fmax.reduce(numbers[ratio]))
        slope = (2 / (numbers["length"] + numbers["other_length"])).max()
        self._of_pair["slope"][at] = max(self._of_pair["slope"][at], slope)

    def by_language(self, query_ids: pl.Series) -> pl.DataFrame:
        """A row for each image, kind of image and language that has a pair."""
        sums = self._of_image
        at = np.nonzero(sums["pairs"])
        which, language, image = at
        n = sums["pairs"][at]
        return pl.DataFrame(
            {
                "query_id": query_ids[image],
                "language": self.languages[language],
                "images": np.asarray(IMAGES)[which],
                "pairs": n.astype(np.int64),
                "similarity": sums["similarity"][at] / sums["slots"][at],
                **{name: sums[name][at] / n for name in ("gap", "distance", "chord")},
                **_ratios(sums, at),
            }
        ).sort("images", "language", maintain_order=True)

    def by_pair(self) -> pl.DataFrame:
        """A row for each two languages and kind of image."""
        sums = self._of_pair
        at = np.nonzero(sums["pairs"])
        which, pair = at
        n = sums["pairs"][at]
        language, other = np.asarray(self.pairs)[pair].T
        spread: dict[str, Floats] = {}
        for name in SPREAD:
            mean = sums[name][at] / n
            variance = np.maximum(sums[f"{name} squared"][at] / n - mean**2, 0) * n / np.maximum(n - 1, 1)
            spread |= {name: mean, f"{name}_sd": np.sqrt(variance)}
        return pl.DataFrame(
            {
                "language": self.languages[language],
                "other": self.languages[other],
                "images": np.asarray(IMAGES)[which],
                "pairs": n.astype(np.int64),
                "equal": (n - sums["unequal"][at]).astype(np.int64),
                **spread,
                **_ratios(sums, at),
                "slope": sums["slope"][at],
            }
        )


def _empty(shape: tuple[int, ...], more: Sequence[str]) -> dict[str, Floats]:
    """Empty sums, and empty maxima, which are nan."""
    sums = {name: np.zeros(shape) for name in (*SUMS, *more)}
    return sums | {name: np.full(shape, np.nan) for name in LARGEST}


def _with_ratios(numbers: dict[str, Floats]) -> dict[str, Floats]:
    """The numbers of pairs with their ratios, nan for captions of one and the same vector or direction."""
    unequal = (numbers["chord"] > 0) & (numbers["distance"] > 0)
    ratios = {
        name: np.where(unequal, gap_ratio(numbers["gap"], numbers[distance]), np.nan)
        for name, distance in VECTORS.values()
    }
    return numbers | ratios | {"pairs": np.ones(len(unequal)), "unequal": unequal.astype(np.float64)}


def _ratios(sums: dict[str, Floats], at: tuple[NDArray[np.int64], ...]) -> dict[str, pl.Series]:
    """Mean and largest ratios, null where the captions of every pair are equal."""
    columns = {}
    with np.errstate(invalid="ignore"):
        for name, largest in zip(RATIOS, LARGEST, strict=True):
            columns[name] = pl.Series(sums[name][at] / sums["unequal"][at]).fill_nan(None)
            columns[largest] = pl.Series(sums[largest][at]).fill_nan(None)
    return columns
