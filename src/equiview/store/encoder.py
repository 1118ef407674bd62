"""An encoder with a store: what is stored is looked up, and only what is missing is encoded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from equiview.data.items import Items
from equiview.data.vectors import Vectors
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress, silent
from equiview.store.vectors import Precision, Shelf, Store, keys_of
from equiview.subjects import EmbeddingModel, Encoder, checked_vectors
from equiview.subjects.base import Subject, of_inner
from equiview.subjects.encoders.base import check_not_empty
from equiview.subjects.trained import Derived

OnError = Literal["stop", "skip"]
TRIES = 3
S = TypeVar("S", bound=Subject)


class StoredEncoder(Encoder):
    """`inner` with a store: `embed` encodes what the store lacks, batch by batch, and returns what it holds.

    Vectors always come from the store, so that the first audit and the second see the same numbers, rounded
    alike where `precision` is float16. Whatever was encoded before an error or a kill is kept.
    """

    copies = True
    about, versions, parent, cuts = map(of_inner, ("about", "versions", "parent", "cuts"))

    def __init__(
        self,
        inner: EmbeddingModel,
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
        self.name = name or inner.name

    @property
    def fingerprint(self) -> str:
        """The inner encoder's; rounding to float16 makes it another subject."""
        return self.inner.fingerprint + ("-float16" if self.precision == "float16" else "")

    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order; InputError for the first item that cannot be read."""
        check_not_empty(items)
        keys = keys_of(items, self.inner.by_language)
        for _ in range(TRIES):
            shelf, _ = self._filled(items, keys, progress, "stop")
            with contextlib.suppress(KeyError, FileNotFoundError):  # another process has pruned it
                return shelf.get([key for key in keys if isinstance(key, bytes)])
        raise InputError(f"{shelf.folder}: stored vectors are gone again; is another process pruning?")

    def fill(self, items: Items, progress: Progress = silent, on_error: OnError = "skip") -> pl.DataFrame:
        """Encode and store what is missing; returns the items that cannot be read: row (from 1), id, reason.

        With `stop` the first such item is an InputError.
        """
        _, bad = self._filled(items, keys_of(items, self.inner.by_language), progress, on_error)
        return reported(items, sorted(bad.items()))

    def missing(self, items: Items) -> list[int]:
        """The rows of items that would be encoded, the first of each distinct one; nothing is written."""
        first: dict[bytes, int] = {}
        for row, key in enumerate(keys_of(items, self.inner.by_language)):
            if isinstance(key, bytes):
                first.setdefault(key, row)
        kept = Shelf(self.store.folder(self._maker(items), self.precision))
        return [first[key] for key in kept.missing(first)]

    def _maker(self, items: Items) -> str:
        """The fingerprint of what makes vectors of these items: of pictures perhaps a part of the encoder."""
        return self.inner.picture_fingerprint if items.kind == "image" else self.inner.fingerprint

    def _filled(
        self, items: Items, keys: list[bytes | InputError], progress: Progress, on_error: OnError
    ) -> tuple[Shelf, dict[int, InputError]]:
        """The shelf with every readable item on it, and the rows that could not be read."""
        bad = {row: key for row, key in enumerate(keys) if isinstance(key, InputError)}
        if bad and on_error == "stop":
            raise next(iter(bad.values()))
        readable = [key for key in keys if isinstance(key, bytes)]
        shelf = self.store.shelf(self._maker(items), self.precision, self.name)
        if missing := shelf.missing(readable):
            shelf.share(missing)
        if not (missing := shelf.missing(readable)):
            return shelf, bad
        places: dict[bytes | InputError, list[int]] = {key: [] for key in missing}
        for row, key in enumerate(keys):
            if key in places:
                places[key].append(row)

        def unreadable(row: int, error: InputError) -> None:
            if on_error == "stop":
                raise error
            bad.update(dict.fromkeys(places.pop(keys[row]), error))

        def tell(label: str, done: int, total: int) -> None:
            progress(label, len(items) - total + done, len(items))

        key_of = {places[key][0]: key for key in missing}
        with shelf.writing():
            for part, vectors in self.inner.batches(
                items, tell, rows=np.asarray(list(key_of), dtype=np.int64), unreadable=unreadable
            ):
                checked_vectors(vectors, items, self.inner.called, part)
                shelf.add([key_of[row] for row in part.tolist()], vectors)
            shelf.refresh()
        return shelf, bad


def stored(
    encoder: S, store: Store | None = None, *, precision: Precision = "float32", name: str = ""
) -> S | Encoder:
    """`encoder` with a store, or as it is where a store would be wrong.

    A model without its own `fingerprint` may change unnoticed, so its vectors are not kept, and a notice says
    so; an encoder with its own `embed` has its vectors already. Of a subject around an encoder that one's
    vectors are kept.
    """
    for part in encoder.parts if isinstance(encoder, Derived) else ():
        if isinstance(inner := getattr(encoder, part), Encoder):
            setattr(encoder, part, stored(inner, store, precision=precision))
    if not isinstance(encoder, EmbeddingModel) or not encoder.looks:
        return encoder
    if not encoder.declares_fingerprint:
        notice(
            f"{encoder.name}: its class declares no `fingerprint`, so its vectors are not kept and every run "
            "encodes again; declare a hash of the weights, or a revision, to keep them"
        )
        return encoder
    return StoredEncoder(encoder, store, precision=precision, name=name)


def reported(items: Items, bad: Iterable[tuple[int, InputError]]) -> pl.DataFrame:
    """Items that cannot be read, by row: row (from 1), id, reason."""
    rows = [(row + 1, items.ids[row], str(error)) for row, error in bad]
    return pl.DataFrame(rows, schema={"row": pl.Int64, "id": pl.String, "reason": pl.String}, orient="row")
