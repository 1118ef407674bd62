"""The weight of a calibration, chosen by whom neutral prompts show (NDKL), at a price in what is found.

Chuang et al. give one weight for all; choosing it by NDKL, on the part that is fitted on, is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.social.settings import SocialSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.neutral import neutral_prompts_of
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.metrics import ndkl
from equiview.search.topk import ranks_within, top_k
from equiview.subjects.correction import Correction
from equiview.subjects.mitigated import Sides

Floats = NDArray[np.float32]
DEPTH = SocialSettings.model_fields["recall_k"].default
"""Cutoff of the recall that is the price, that of the social audit."""


BLOCK = 256
"""Captions that are held beside all images at once."""


@dataclass(frozen=True)
class Asked:
    """What a weight is judged by: neutral prompts and captions, of the part that is fitted on.

    `shown` are pairs of a caption's row and its image's, in order of captions.
    """

    prompts: Items
    captions: Items
    shown: NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """Vectors `(n, width)` of what is asked and of images; `groups` are codes by attribute, -1 unknown."""

    prompts: Floats
    captions: Floats
    images: Floats
    shown: NDArray[np.int64]
    groups: Sequence[NDArray[np.int64]]
    sides: Sides

    def of(self, correction: Correction) -> tuple[float, float]:
        """NDKL, the mean of prompts and then of attributes, and R@5 of captions, after a correction."""
        prompts, captions = (
            self._corrected(correction, part, "text") for part in (self.prompts, self.captions)
        )
        images = self._corrected(correction, self.images, "image")
        divergences = []
        for codes in self.groups:
            known = np.flatnonzero(codes >= 0)
            found = top_k(prompts, images[known], SocialSettings().depth(len(known)))
            shares = np.bincount(codes[known]) / len(known)
            divergences.append(ndkl(codes[known][found.items], shares).mean())
        hits = np.zeros(len(captions), dtype=bool)
        for start in range(0, len(captions), BLOCK):
            first, last = np.searchsorted(self.shown[:, 0], (start, start + BLOCK))
            caption, image = self.shown[first:last].T
            ranks = ranks_within(captions[start : start + BLOCK] @ images.T, caption - start, image)
            hits[caption[ranks <= DEPTH]] = True
        return float(np.mean(divergences)), float(hits.mean())

    def _corrected(self, correction: Correction, vectors: Floats, side: str) -> Floats:
        if side in self.sides:
            return correction.texts(vectors, [None] * len(vectors))
        return correction.queries(vectors)


def asked_of(benchmark: Benchmark, rows: NDArray[np.int64], languages: Sequence[str]) -> Asked:
    """The neutral prompts of a benchmark in `languages` (none: all), and the captions of images in `rows`.

    Captions are English ones, or of the first language there is. InputError where there are none of either.
    """
    table, source = neutral_prompts_of(benchmark, ())
    table = table.filter(pl.col("language").is_in(languages)) if languages else table
    if not len(table):
        raise InputError(f"{source}: there are no prompts in {', '.join(languages)} (--languages)")
    texts, relevance = benchmark.need_texts(), benchmark.need_relevance()
    spoken = texts.table["language"]
    language = "en" if (spoken == "en").any() else spoken[0]
    place = np.full(len(benchmark.images), -1)
    place[rows] = np.arange(len(rows))
    chosen = (place[relevance.queries] >= 0) & (spoken == language).to_numpy()[relevance.items]
    if not chosen.any():
        raise InputError(
            f"{texts.source}: no image that is fitted on has a caption, by which the price of a weight is "
            "known; give --weight, or raise --share"
        )
    used, caption = np.unique(relevance.items[chosen], return_inverse=True)
    shown = np.column_stack([caption, place[relevance.queries[chosen]]])
    prompts = Items("text", table.rename({"prompt_id": "id"}), source)
    return Asked(prompts, texts.take(used), shown[np.argsort(caption, kind="stable")])


def chosen_weight(
    trial: Trial,
    plain: Correction,
    made: Callable[[float], Correction],
    weights: Sequence[float],
    price: float,
) -> tuple[float, list[dict[str, float]]]:
    """The weight of the least NDKL among those that cost at most `price` of R@5, and all that was tried.

    What was tried has a row for each weight, after one of the encoder as it is. Of two that leave as much
    the smaller is taken. InputError where every weight costs more.
    """
    before = trial.of(plain)
    tried = [{"NDKL": before[0], f"R@{DEPTH}": before[1]}]
    tried += [
        {"weight": weight, "NDKL": divergence, f"R@{DEPTH}": recall}
        for weight in sorted(weights)
        for divergence, recall in [trial.of(made(weight))]
    ]
    cheap = [row for row in tried[1:] if row[f"R@{DEPTH}"] >= before[1] - price - 1e-9]
    if not cheap:
        least = max(tried[1:], key=lambda row: row[f"R@{DEPTH}"])
        raise InputError(
            f"every weight costs more than {price:g} of R@{DEPTH}, which is {before[1]:.3f} before and at "
            f"most {least[f'R@{DEPTH}']:.3f} after; raise --price, or lower --strength"
        )
    best = min(cheap, key=lambda row: row["NDKL"])
    rounded = [{name: round(value, 6) for name, value in row.items()} for row in tried]
    return best["weight"], [row | {"chosen": float(row.get("weight") == best["weight"])} for row in rounded]
