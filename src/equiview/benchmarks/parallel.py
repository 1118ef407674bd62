"""Parallel captions: which captions of an image are compared across languages.

Slot s of a language is its s-th caption of an image. Slots of two languages are parallel only as far as the
data make them so: the first English caption of an image of Flickr30K is its longest, the first German one of
Multi30K's independent captions its shortest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks.base import Benchmark
from equiview.errors import InputError, NotApplicableError

Choice = Literal["each", "first", "length"]
CHOICE_ABOUT = (
    "captions of an image that are compared: every slot in turn, the first alone, or in each language "
    "the one nearest that language's mean length"
)


@dataclass(frozen=True)
class Captions:
    """`rows`, `(n_slots, n_languages, n_images)`: the text row of each slot, -1 where there is none."""

    languages: list[str]
    rows: NDArray[np.int64]

    @property
    def n_slots(self) -> int:
        """How many captions an image has at most in one language."""
        return int(self.rows.shape[0])

    @property
    def complete(self) -> NDArray[np.int64]:
        """Images that have a caption in every language, by row."""
        return np.flatnonzero((self.rows >= 0).any(axis=0).all(axis=0))


def captions_of(benchmark: Benchmark, choice: Choice, languages: tuple[str, ...] = ()) -> Captions:
    """The captions of every image by slot and language, in the order of the texts (or of `slot`).

    `languages` restricts them, and raises InputError for one that the texts do not have; empty takes all.
    Raises InputError if fewer than two languages caption anything, or if there are no texts at all.
    """
    texts, relevance = benchmark.need_texts().table, benchmark.need_relevance()
    known = sorted(texts["language"].unique())
    if absent := sorted(set(languages) - set(known)):
        raise InputError(
            f"benchmark {benchmark.name!r} has no text in {', '.join(absent)}; it has {', '.join(known)}"
        )
    described = texts.select(
        "language",
        row=pl.int_range(pl.len(), dtype=pl.Int64),
        length=pl.col("text").str.len_chars().clip(1).log(),
        place=pl.col("slot") if "slot" in texts.columns else pl.lit(0),
    )
    pairs = pl.DataFrame({"image": relevance.queries, "row": relevance.items}).join(
        described, on="row", maintain_order="left"
    )
    if languages:
        pairs = pairs.filter(pl.col("language").is_in(languages))
    codes = sorted(pairs["language"].unique())
    if len(codes) < 2:
        raise NotApplicableError(
            f"benchmark {benchmark.name!r} captions images in {codes or 'no language'}; "
            "comparing languages takes two or more"
        )
    key = ["image", "language"]
    if choice == "length":
        # Scripts differ in how many letters a word takes, so a caption is long or short for its language.
        distance = (pl.col("length") - pl.col("length").mean().over("language")).abs().round(9)
        pairs = pairs.with_columns(place=distance)
    pairs = pairs.sort(*key, "place", "row").with_columns(slot=pl.int_range(pl.len()).over(key))
    if choice != "each":
        pairs = pairs.filter(slot=0)
    n_slots = int(pairs["slot"].max()) + 1  # type: ignore[arg-type]
    rows = np.full((n_slots, len(codes), len(benchmark.images)), -1, dtype=np.int64)
    language = pairs["language"].cast(pl.Enum(codes)).to_physical().to_numpy()
    rows[pairs["slot"].to_numpy(), language, pairs["image"].to_numpy()] = pairs["row"].to_numpy()
    return Captions(codes, rows)
