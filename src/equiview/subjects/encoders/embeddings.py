"""`embeddings:DIR` and arrays: stored vectors, looked up by the ids of the items.

The folder holds `images.npy` beside `images.csv` and `texts.npy` beside `texts.csv` (tables in any form of
`equiview.io.tables`); row i of an array is the vector of row i of its table. A kind that an audit does not
need may be absent. Whole numbers (int8) are multiplied by `images.scale.npy` (`equiview.io.arrays`).
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.benchmarks.folder import read_images, read_texts
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.arrays import read_vectors
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.io.remote import local
from equiview.io.tables import TABLES, checksum
from equiview.subjects.encoders.base import Encoder, checked_vectors

ENDINGS = (".npy", ".scale.npy", *TABLES)
FILES = {f"{kind}{ending}" for kind in ("images", "texts") for ending in ENDINGS}


class Embeddings(Encoder):
    """Vectors read from disk in place of a model."""

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise InputError("subject 'embeddings' needs a folder: embeddings:DIR")
        super().__init__(argument)
        self.folder = local(argument)
        if not self.folder.is_dir():
            raise InputError(f"{self.folder}: no such folder")

    @property
    def fingerprint(self) -> str:
        """A hash of the arrays and of the tables that name their rows."""
        paths = sorted(path for path in self.folder.iterdir() if path.name in FILES and path.is_file())
        return fingerprint(*(part for path in paths for part in (path.name, checksum(path))))

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """The stored vector of each item; InputError names an item that has none."""
        path = self.folder / f"{items.kind}s.npy"
        table = read_images(self.folder) if items.kind == "image" else read_texts(self.folder)
        if not os.path.lexists(path):
            raise InputError(f"{path}: no such file; the audit needs these vectors")
        return _looked_up(read_vectors(path), table, items, str(path))


class Arrays(Encoder):
    """Vectors in memory in place of a model: row i of an array is the vector of row i of its items.

    InputError for an array that does not fit its items.
    """

    def __init__(self, images: ArrayLike, texts: ArrayLike, items: tuple[Items, Items]) -> None:
        super().__init__()
        self.held = {
            table.kind: (_as_vectors(vectors, table), table)
            for vectors, table in zip((images, texts), items, strict=True)
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the arrays and of the ids of their rows."""
        parts = [(vectors.tobytes(), "\n".join(table.ids)) for vectors, table in self.held.values()]
        return fingerprint("arrays", *(part for pair in parts for part in pair))

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """The vector of each item; InputError names an item that has none."""
        vectors, table = self.held[items.kind]
        return _looked_up(vectors, table, items, f"the array of {items.kind}s")


def _as_vectors(vectors: ArrayLike, items: Items) -> NDArray[np.float32]:
    try:
        array = np.asarray(vectors)
        if array.dtype == object and array.ndim == 1:  # a table's column, each of whose cells is a vector
            array = np.asarray([np.asarray(cell, dtype=np.float32) for cell in array])
        array = array.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the vectors of {items.kind}s are no array of numbers ({error})") from None
    return checked_vectors(np.ascontiguousarray(array), items, f"the array of {items.kind}s")


def _looked_up(vectors: NDArray[np.float32], table: Items, items: Items, source: str) -> NDArray[np.float32]:
    """The vectors of items by the ids of `table`, of whose rows they are; InputError for one without."""
    stored = checked_vectors(vectors, table, source)
    rows = table.rows_of(items.ids)
    if rows.null_count():
        missing = rows.is_null().arg_true()
        raise InputError(
            f"{source}: has no vector for {items.kind} {items.ids[missing[0]]!r} of {items.source} "
            f"({len(missing)} of {len(items)} are missing)"
        )
    places = rows.to_list()
    return stored if places == list(range(len(stored))) else stored[places]
