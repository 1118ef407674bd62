"""An encoder that remembers: what is stored is looked up, and only what is missing is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.items import Items
from equiview.data.progress import Progress, silent
from equiview.data.vectors import Vectors
from equiview.errors import InputError
from equiview.search.shards import Precision
from equiview.search.store import Shelf, Store, keys_of
from equiview.subjects.base import Encoder, checked_vectors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from PIL.Image import Image

OnError = Literal["stop", "skip"]


class Cached(Encoder):
    """`inner` with a store: `embed` encodes what the store lacks, batch by batch, and returns what it holds.

    Vectors always come from the store, so that the first audit and the second see the same numbers, rounded
    alike where `precision` is float16. Whatever was encoded before an error or a kill is kept.
    """

    def __init__(
        self,
        inner: Encoder,
        store: Store | None = None,
        *,
        precision: Precision = "float32",
        name: str = "",
    ) -> None:
        super().__init__(inner.argument)
        self.inner = inner
        self.similarity = inner.similarity
        self.store = store or Store()
        self.precision: Precision = precision
        self.name = name or f"{type(inner).__name__} {inner.argument}".strip()

    @property
    def fingerprint(self) -> str:
        """The inner encoder's; rounding to float16 makes it another subject."""
        return self.inner.fingerprint + ("-float16" if self.precision == "float16" else "")

    @property
    def about(self) -> str:
        """What the inner encoder says of itself: where vectors are kept changes nothing."""
        return self.inner.about

    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order; InputError for the first item that cannot be read."""
        if not len(items):
            raise InputError(f"{items.source}: has no {items.kind}s, which this audit needs")
        keys = keys_of(items)
        shelf, _ = self._filled(items, keys, progress, "stop")
        return shelf.get([key for key in keys if isinstance(key, str)])

    def fill(self, items: Items, progress: Progress = silent, on_error: OnError = "skip") -> pl.DataFrame:
        """Encode and store what is missing; returns the items that cannot be read: row, id, reason.

        With `stop` the first such item is an InputError.
        """
        _, bad = self._filled(items, keys_of(items), progress, on_error)
        return _reported(items, sorted(bad.items()))

    def _filled(
        self, items: Items, keys: Sequence[str | InputError], progress: Progress, on_error: OnError
    ) -> tuple[Shelf, dict[int, InputError]]:
        """The shelf with every readable item on it, and the rows that could not be read."""
        bad = {row: key for row, key in enumerate(keys) if isinstance(key, InputError)}
        if bad and on_error == "stop":
            raise next(iter(bad.values()))
        shelf = self.store.shelf(self.inner.fingerprint, self.precision, self.name)
        readable = [row for row in range(len(keys)) if row not in bad]
        found = [key for key in keys if isinstance(key, str)]
        rows = np.asarray(readable, dtype=np.int64)[shelf.missing(found)]
        if not len(rows):
            return shelf, bad
        same: dict[str, list[int]] = {}
        for row, key in zip(readable, found, strict=True):
            same.setdefault(key, []).append(row)

        def unreadable(row: int, error: InputError) -> None:
            if on_error == "stop":
                raise error
            bad.update(dict.fromkeys(same[str(keys[row])], error))

        def told(label: str, done: int, total: int) -> None:
            progress(label, len(items) - total + done, len(items))

        name = type(self.inner).__name__
        with shelf.writer() as writer:
            for part, made in self.inner.batches(items, told, rows=rows, unreadable=unreadable):
                writer.append([str(keys[row]) for row in part], checked_vectors(made, items, name, part))
        shelf.refresh()
        return shelf, bad

    def encode_images(self, images: Sequence[Image]) -> ArrayLike:
        """As the inner encoder."""
        return self.inner.encode_images(images)  # type: ignore[return-value]

    def encode_texts(self, texts: Sequence[str]) -> ArrayLike:
        """As the inner encoder."""
        return self.inner.encode_texts(texts)  # type: ignore[return-value]


def cached(
    subject: Encoder, store: Store | None = None, *, precision: Precision = "float32", name: str = ""
) -> Encoder:
    """`subject` with a store, or as it is where a store would be wrong.

    An encoder that does not say what it is made of (`fingerprint`) may change unnoticed, so its vectors are
    not kept; one with its own `embed` has its vectors already.
    """
    kind = type(subject)
    if kind.fingerprint is Encoder.fingerprint or kind.embed is not Encoder.embed:
        return subject
    return Cached(subject, store, precision=precision, name=name)


def readable_part(
    subject: Encoder, benchmark: Benchmark, progress: Progress = silent
) -> tuple[Benchmark, pl.DataFrame]:
    """The benchmark without the images that cannot be read, and those images: row, id, reason.

    With a store this encodes what is missing, so nothing is decoded twice; without, every picture is decoded
    once to see. An encoder with vectors of its own needs no picture, and all of the benchmark is returned.
    """
    images = benchmark.images
    if isinstance(subject, Cached):
        bad = subject.fill(images, progress)
    else:
        rows = range(len(images)) if type(subject).embed is Encoder.embed else range(0)
        found = [(row, error) for row in rows if (error := _error_of(images, row)) is not None]
        bad = _reported(images, found)
    return without_images(benchmark, bad["id"]), bad


def _error_of(images: Items, row: int) -> InputError | None:
    try:
        images.pictures([row])
    except InputError as error:
        return error
    return None


def _reported(items: Items, bad: Iterable[tuple[int, InputError]]) -> pl.DataFrame:
    rows = [(row, items.ids[row], str(error)) for row, error in bad]
    return pl.DataFrame(rows, schema={"row": pl.Int64, "id": pl.String, "reason": pl.String}, orient="row")
