"""The part of a benchmark that a model can read, when unreadable pictures are excluded."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.store.encoder import StoredEncoder, reported
from equiview.subjects import Answerer, Subject
from equiview.subjects.trained import Derived


def readable_part(
    subject: Subject, benchmark: Benchmark, progress: Progress = silent
) -> tuple[Benchmark, pl.DataFrame]:
    """The benchmark without the images that cannot be read, and those images: row (from 1), id, reason.

    With a store of vectors this encodes what is missing, so nothing is decoded twice; without, every picture
    is decoded once as a test. A subject that is not a model, or has its answers or vectors already, needs no
    picture, and the whole benchmark is returned.
    """
    images = benchmark.images
    encoder = (subject.encoder if isinstance(subject, Answerer) else None) or subject
    while isinstance(encoder, Derived):  # of a corrected or re-ranked system it is the one within that looks
        encoder = encoder.inner
    if isinstance(encoder, StoredEncoder):
        bad = encoder.fill(images, progress)
    else:
        bad = reported(images, _unreadable(images, progress) if encoder.looks else ())
    return without_images(benchmark, bad["id"]), bad


def _unreadable(images: Items, progress: Progress) -> Iterator[tuple[int, InputError]]:
    for row in range(len(images)):
        try:
            images.pictures([row])
        except InputError as error:
            yield row, error
        progress("reading pictures", row + 1, len(images))
