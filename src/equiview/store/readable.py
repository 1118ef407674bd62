"""What of a benchmark a model can read, when pictures that cannot be read are to be excluded."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.store.answerer import StoredAnswerer
from equiview.store.encoder import StoredEncoder, reported
from equiview.subjects import Answerer, EmbeddingModel, Subject
from equiview.subjects.chat.choice import Choice
from equiview.subjects.chat.connector import Connector


def readable_part(
    subject: Subject, benchmark: Benchmark, progress: Progress = silent
) -> tuple[Benchmark, pl.DataFrame]:
    """The benchmark without the images that cannot be read, and those images: row (from 1), id, reason.

    With a store of vectors this encodes what is missing, so nothing is decoded twice; without, every picture
    is decoded once to see. A subject that is no model, or has its answers or vectors already, needs no
    picture, and all of the benchmark is returned.
    """
    images = benchmark.images
    model = subject.inner if isinstance(subject, StoredAnswerer) else subject
    if isinstance(model, Choice | Connector):
        model = model.encoder
    if isinstance(model, StoredEncoder):
        bad = model.fill(images, progress)
    else:
        bad = reported(images, _unreadable(images, progress) if _looks(model) else ())
    return without_images(benchmark, bad["id"]), bad


def _looks(model: Subject) -> bool:
    """Whether it looks at pictures itself."""
    if isinstance(model, Answerer):
        return not model.looks_up
    return isinstance(model, EmbeddingModel) and type(model).embed is EmbeddingModel.embed


def _unreadable(images: Items, progress: Progress) -> Iterator[tuple[int, InputError]]:
    for row in range(len(images)):
        try:
            images.pictures([row])
        except InputError as error:
            yield row, error
        progress("reading pictures", row + 1, len(images))
