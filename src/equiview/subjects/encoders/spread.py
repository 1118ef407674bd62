"""Batches of an encoder given to the workers of an engine: each loads the model once.

Pictures travel as they are stored and are decoded by the worker, so that no machine but this one needs their
files; what a model reads of its own (weights) each machine reads for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.vectors import Vectors
from equiview.engine import current
from equiview.engine.base import Needs
from equiview.engine.worker import threads_here
from equiview.errors import InputError
from equiview.io.progress import Progress

Rows = NDArray[np.int64]
Unreadable = Callable[[int, InputError], None]


class Spreads(Protocol):
    """What is known here of an `EmbeddingModel`."""

    accelerator: bool
    one_thread: bool

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def fingerprint(self) -> str:
        """What it computes."""

    def rebuilt(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """How to have it again."""

    def batches(
        self, items: Items, progress: Progress = ..., *, unreadable: Unreadable | None = None
    ) -> Iterator[tuple[Rows, Vectors]]:
        """Batches with their vectors."""


@dataclass(frozen=True)
class Batch:
    """Items that are encoded together, by their rows, and those of them whose files cannot be read."""

    items: Items | None
    rows: Rows
    bad: tuple[tuple[int, InputError], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the items."""
        return 0 if self.items is None else int(self.items.table.estimated_size())


def spread(
    model: Spreads, items: Items, batches: Iterable[Rows], unreadable: Unreadable | None
) -> Iterator[tuple[Rows, Vectors]]:
    """Yield (rows, vectors) of each batch in order, encoded by workers; as `EmbeddingModel.batches`.

    InputError where a worker's model is not the one that this process has.
    """
    make, given = model.rebuilt()
    threads = 1 if model.one_thread else threads_here()
    needs = Needs(threads, model.accelerator, threads)
    parts = (_batch(items, rows) for rows in batches)
    results = current().map(
        _encoded,
        parts,
        shared=(make, given, model.fingerprint, model.name),
        start=_loaded,
        needs=needs,
        size=lambda batch: batch.size,
    )
    for bad, encoded in results:
        for row, error in bad:
            seen = _seen_here(items, row, error)
            if unreadable is None:
                raise seen
            unreadable(row, seen)
        yield from encoded


def _batch(items: Items, rows: Rows) -> Batch:
    """The items of a batch without anything that a worker does not need, pictures read."""
    if items.kind == "text":
        return Batch(Items("text", items.table[rows].select("id", "text", "language"), items.source), rows)
    pictures, bad = {}, []
    for row in rows.tolist():
        try:
            pictures[row] = items.encoded(row)
        except InputError as error:
            bad.append((row, error))
    if not pictures:
        return Batch(None, rows[:0], tuple(bad))
    read = np.fromiter(pictures, dtype=np.int64)
    table = pl.DataFrame({"id": items.ids[read], "picture": pl.Series(pictures.values(), dtype=pl.Binary)})
    return Batch(Items("image", table, items.source), read, tuple(bad))


def _loaded(make: Callable[..., Any], given: tuple[Any, ...], fingerprint: str, name: str) -> Any:
    """The model in a worker; InputError where it is another one there."""
    try:
        model = make(*given)
    except (TypeError, AttributeError, ImportError) as error:
        raise InputError(
            f"{name}: cannot be loaded by a worker ({type(error).__name__}: {error}); a class of your own "
            "must be importable there, and take nothing or one argument"
        ) from None
    model.name = name
    if model.fingerprint != fingerprint:
        raise InputError(
            f"{name}: is another model on a worker than here: other files are there, or another precision; "
            "if only workers have accelerators, name the precision in the model's options"
        )
    return model


def _encoded(batch: Batch, model: Spreads) -> tuple[list[tuple[int, InputError]], list[tuple[Rows, Vectors]]]:
    """The rows of a batch that cannot be read, in order, and the vectors of the others."""
    bad = list(batch.bad)

    def unreadable(place: int, error: InputError) -> None:
        bad.append((int(batch.rows[place]), error))

    encoded = []
    if batch.items is not None:
        for places, vectors in model.batches(batch.items, unreadable=unreadable):
            encoded.append((batch.rows[places], vectors))
    return sorted(bad, key=lambda entry: entry[0]), encoded


def _seen_here(items: Items, row: int, error: InputError) -> InputError:
    """The same error with the row and the file as they are here."""
    try:
        items.pictures([row])
    except InputError as here:
        return here
    return error
