"""Files of the store: each holds the vectors of some items, is written whole, and is never changed.

A file holds three arrays, one after the other, as `numpy.save` writes them: a row for each item (its key, the
CRC-32 of its vectors, and where an item has several vectors their number), one number, the CRC-32 of all that
and of all vectors, then the vectors, `(n, width)`. The one number is checked whenever vectors are read, which
takes a tenth of the time; the checksums of the items tell which ones are damaged.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.io.tables import atomic

ITEM = np.dtype([("key", "V16"), ("crc", "<u4")])
ITEM_OF_SEVERAL = np.dtype([*ITEM.descr, ("count", "<u4")])


@dataclass(frozen=True, eq=False)
class VectorFile:
    """The content of a file: `items` has a row for each item, `shape` is the shape of their vectors."""

    path: Path
    items: NDArray[np.void]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    start: int
    """Where the vectors begin, in bytes."""
    crc: int
    """The CRC-32 of the items and their vectors when they were written."""
    lost: int = 0
    """The number of items whose vectors are missing at the end, because the file was truncated."""

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """The vectors of its items, `(n, width)`, mapped from disk; FileNotFoundError when it is gone."""
        # Not cached: a mapping keeps a file open, and a process may have only a thousand open files.
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    @property
    def several(self) -> bool:
        """Whether items have one vector a token."""
        return "count" in (self.items.dtype.names or ())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many vectors each item has."""
        counts = self.items["count"] if self.several else np.ones(len(self.items))
        return np.asarray(counts, dtype=np.int64)

    def is_whole(self) -> bool:
        """Whether items and vectors (of a truncated file the remaining ones) are as they were written."""
        return not self.damaged() if self.lost else self.crc == _checksum(self.items, self.values)

    def check(self) -> None:
        """InputError when the file does not hold what was written; FileNotFoundError when it is gone."""
        if not self.is_whole():
            raise InputError(
                f"{self.path}: stored vectors differ from their checksum; delete this file (or all like it "
                "with `equiview cache prune --damaged`) and run again"
            )

    def damaged(self) -> int:
        """How many items differ from their checksum."""
        return int(np.count_nonzero(self.items["crc"] != checksums(self.values, self.counts)))


def checksums(values: NDArray[np.floating[Any]], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The CRC-32 of each item's vectors, which follow one another in `values`."""
    content = values.data.cast("B")
    ends = (np.cumsum(counts) * values.itemsize * values.shape[1]).tolist()
    sums = [zlib.crc32(content[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return np.asarray(sums, dtype=np.uint32)


def _checksum(items: NDArray[np.void], values: NDArray[np.floating[Any]]) -> int:
    return zlib.crc32(values.data.cast("B"), zlib.crc32(items.tobytes()))


def write(
    path: Path,
    keys: Sequence[bytes],
    values: NDArray[np.floating[Any]],
    counts: NDArray[np.int64] | None = None,
) -> None:
    """Write a file, whole or not at all, of items with these keys (16 bytes each) and vectors `(n, width)`.

    `counts` says how many vectors each item has, if not one.
    """
    items = np.empty(len(keys), dtype=ITEM if counts is None else ITEM_OF_SEVERAL)
    items["key"] = np.frombuffer(b"".join(keys), dtype="V16")
    if counts is not None:
        items["count"] = counts
    items["crc"] = checksums(values, np.ones(len(keys), dtype=np.int64) if counts is None else counts)
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, items)
        np.save(stream, np.array([_checksum(items, values)], dtype="<u4"))
        np.save(stream, values)


def keys_of_beginning(content: bytes) -> set[bytes] | None:
    """The keys of the items of a file that begins so; None where that is cut off before their end."""
    try:
        items = npy.read_array(io.BytesIO(content), allow_pickle=False)
        return {key.tobytes() for key in items["key"]}
    except (ValueError, IndexError):
        return None


def read(path: Path) -> VectorFile:
    """All of a file but its vectors; InputError when it is not one, FileNotFoundError when it is gone."""
    try:
        with path.open("rb") as stream:
            items = npy.read_array(stream, allow_pickle=False)
            (crc,) = npy.read_array(stream, allow_pickle=False).tolist()
            npy.read_magic(stream)
            (count, width), _, dtype = npy.read_array_header_1_0(stream)
            start, size = stream.tell(), os.fstat(stream.fileno()).st_size
        if items.dtype not in (ITEM, ITEM_OF_SEVERAL) or dtype.kind != "f" or not width:
            raise ValueError("it holds other arrays")
    except FileNotFoundError:
        raise
    except (ValueError, TypeError, OSError) as error:
        raise InputError(f"cannot be read ({str(error).splitlines()[0]})") from None
    file = VectorFile(path, items, (count, width), dtype, start, crc)
    ends = np.cumsum(file.counts)
    kept = int(np.searchsorted(ends, (size - start) // (dtype.itemsize * width), side="right"))
    if kept == len(items):
        return file
    rows = int(ends[kept - 1]) if kept else 0
    return replace(file, items=items[:kept], shape=(rows, width), lost=len(items) - kept)
