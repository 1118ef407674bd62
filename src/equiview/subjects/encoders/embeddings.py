"""`embeddings:DIR`: stored vectors, looked up by the ids of the items.

The folder holds `images.npy` beside `images.csv` and `texts.npy` beside `texts.csv` (tables in any form of
`equiview.io.tables`); row i of an array is the vector of row i of its table. A kind that an audit does not
need may be absent. Whole numbers (int8) are multiplied by `images.scale.npy` (`equiview.io.arrays`).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equiview.benchmarks.folder import read_images, read_texts
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.arrays import read_vectors
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.io.tables import TABLES, checksum
from equiview.subjects.base import register
from equiview.subjects.encoders.base import Encoder, checked_vectors

ENDINGS = (".npy", ".scale.npy", *TABLES)
FILES = {f"{kind}{ending}" for kind in ("images", "texts") for ending in ENDINGS}


@register(
    "embeddings", usage=("embeddings:DIR",), about="vectors you already have, in a folder of .npy files"
)
class Embeddings(Encoder):
    """Vectors read from disk in place of a model."""

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise InputError("subject 'embeddings' needs a folder: embeddings:DIR")
        super().__init__(argument)
        self.folder = Path(argument)
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
        stored = checked_vectors(read_vectors(path), table, str(path))
        rows = table.rows_of(items.ids)
        if rows.null_count():
            missing = rows.is_null().arg_true()
            raise InputError(
                f"{path}: has no vector for {items.kind} {items.ids[missing[0]]!r} of {items.source} "
                f"({len(missing)} of {len(items)} are missing)"
            )
        places = rows.to_list()
        return stored if places == list(range(len(stored))) else stored[places]
