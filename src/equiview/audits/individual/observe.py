"""Hold every two languages' captions of an image against that image, and against a wrong one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.individual.levels import Levels
from equiview.audits.individual.pairs import IMAGES, Block, Floats, Sample, blocks_of
from equiview.audits.individual.settings import IndividualSettings
from equiview.audits.individual.totals import Totals
from equiview.benchmarks import Benchmark
from equiview.benchmarks.parallel import Captions, captions_of
from equiview.data.observations import Observations
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError, NotApplicableError
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.subjects import Encoder

_RATIOS = (
    Column("ratio", pl.Float64, "mean of gap over distance, equal captions left out", nullable=True),
    Column("unit_ratio", pl.Float64, "mean of gap over chord, likewise", nullable=True),
    Column("largest_ratio", pl.Float64, "largest gap over distance", nullable=True),
    Column("largest_unit_ratio", pl.Float64, "largest gap over chord", nullable=True),
)
_WHICH = Column("images", pl.String, " or ".join(IMAGES))
SCHEMAS = schemas(
    languages=(
        Column("query_id", pl.String, "the image that is captioned"),
        Column("language", pl.String, "a language of its captions"),
        _WHICH,
        Column("pairs", pl.Int64, "pairs with captions in other languages"),
        Column("similarity", pl.Float64, "cosine of caption and image"),
        Column("gap", pl.Float64, "mean similarity gap to the other languages"),
        Column("distance", pl.Float64, "mean distance of the vectors as the encoder gives them"),
        Column("chord", pl.Float64, "mean distance of the vectors scaled to length 1"),
        *_RATIOS,
    ),
    captions=(
        Column("query_id", pl.String, "the image that is captioned"),
        Column("language", pl.String, "a language of its captions"),
        Column("captions", pl.Int64, "how many captions it has in it"),
        Column("similarity", pl.Float64, "mean cosine of these captions and the image"),
        Column("others", pl.Float64, "mean cosine of these captions and all other images"),
        Column("same", pl.Float64, "mean similarity gap between two of these captions", nullable=True),
        Column("apart", pl.Float64, "mean gap to captions in other languages, in other slots", nullable=True),
    ),
    pairings=(
        Column("language", pl.String, "one language"),
        Column("other", pl.String, "another"),
        _WHICH,
        Column("pairs", pl.Int64, "pairs of captions"),
        Column("equal", pl.Int64, "of these, with one and the same vector"),
        Column("gap", pl.Float64, "mean similarity gap"),
        Column("gap_sd", pl.Float64, "its standard deviation"),
        Column("distance", pl.Float64, "mean distance of the vectors as they are"),
        Column("distance_sd", pl.Float64, "its standard deviation"),
        Column("chord", pl.Float64, "mean distance of the vectors scaled to length 1"),
        Column("chord_sd", pl.Float64, "its standard deviation"),
        *_RATIOS,
        Column("slope", pl.Float64, "largest ratio that the vectors' lengths allow, 2 / (|t| + |t'|)"),
    ),
    pairs=(
        Column("query_id", pl.String, "the image that is captioned"),
        Column("language", pl.String, "one language"),
        Column("other", pl.String, "another"),
        _WHICH,
        Column("text", pl.String, "the caption in the first"),
        Column("other_text", pl.String, "the caption in the other"),
        Column("gap", pl.Float64, "similarity gap"),
        Column("distance", pl.Float64, "distance of the vectors as they are"),
        Column("chord", pl.Float64, "distance of the vectors scaled to length 1; bounds the gap"),
        Column("length", pl.Float64, "length of the first vector"),
        Column("other_length", pl.Float64, "length of the other"),
    ),
)


def observe(
    subject: Encoder, benchmark: Benchmark, settings: IndividualSettings, progress: Progress
) -> Observations:
    """Compare the captions of every image, two languages at a time.

    Raises InputError for fewer than two images or languages, where no image has captions in two languages or
    no pair is drawn for the sample, and for an encoder with one vector a token.
    """
    captions, n_images = compared_captions(benchmark, settings), len(benchmark.images)
    image_vectors = _one_each(subject.embed(benchmark.images, progress))
    used = np.unique(captions.rows[captions.rows >= 0])
    text_vectors = _one_each(subject.embed(benchmark.need_texts().take(used), progress))
    wrong = _shuffled(n_images, settings.seed_of("shuffled"))

    totals = Totals(captions.languages, n_images)
    blocks = list(blocks_of(n_images, len(captions.languages), image_vectors.shape[1]))
    every = sum(_directions(image_vectors[images]).sum(axis=0) for images in blocks)
    levels = Levels(captions.languages, captions.n_slots, n_images, np.asarray(every))
    sample = Sample(settings.sample, captions, totals.pairs, settings.seed_of("sample"))
    for images in blocks:
        directions = (_directions(image_vectors[rows]) for rows in (images, wrong[images]))
        seen = dict(zip(IMAGES, directions, strict=True))
        for block in _blocks(captions, images, used, text_vectors, seen):
            totals.add_similarity(block)
            levels.add(block)
            for pair, (language, other) in enumerate(totals.pairs):
                if (pairs := block.compare(pair, language, other)) is not None:
                    totals.add(pairs)
                    sample.add(pairs)
        progress("comparing captions", images.stop, n_images)
    return Observations(
        {
            "languages": totals.by_language(benchmark.images.ids),
            "captions": levels.table(benchmark.images.ids),
            "pairings": totals.by_pair(),
            "pairs": sample.table(benchmark),
        }
    )


def compared_captions(benchmark: Benchmark, settings: IndividualSettings) -> Captions:
    """The captions that are compared; InputError where there is nothing to compare."""
    captions = captions_of(benchmark, settings.captions, settings.languages)
    if len(benchmark.images) < 2:
        raise NotApplicableError(f"benchmark {benchmark.name!r} has one image; shuffling takes two or more")
    if not ((captions.rows[0] >= 0).sum(axis=0) >= 2).any():
        raise NotApplicableError(
            f"no image of benchmark {benchmark.name!r} has captions in two languages, of "
            f"{', '.join(captions.languages)}: there is nothing to compare"
        )
    return captions


def _one_each(vectors: Vectors) -> NDArray[np.float32]:
    if isinstance(vectors, TokenVectors):
        raise InputError(
            "individual fairness is of one vector a caption; this encoder has one for each token"
        )
    return vectors


def _shuffled(n_images: int, seed: int) -> NDArray[np.int64]:
    """A wrong image for each, by row: one long cycle, so that no image keeps its own captions."""
    order = np.random.default_rng(seed).permutation(n_images)
    wrong = np.empty(n_images, dtype=np.int64)
    wrong[order] = np.roll(order, 1)
    return wrong


def _blocks(
    captions: Captions,
    images: slice,
    used: NDArray[np.int64],
    text_vectors: NDArray[np.float32],
    seen: dict[str, Floats],
) -> Iterator[Block]:
    """The captions of these images slot by slot; `text_vectors` has those of the texts `used`."""
    for slot in range(captions.n_slots):
        rows = captions.rows[slot][:, images]
        raw = text_vectors[np.searchsorted(used, np.maximum(rows, 0))].astype(np.float64)
        yield Block(slot, images, raw, rows >= 0, seen)


def _directions(vectors: NDArray[np.float32]) -> Floats:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=-1, keepdims=True))
