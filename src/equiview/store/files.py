"""Files of the store: each holds the vectors of some items, is written whole, and is never changed.

A file holds two arrays, one after the other, as `numpy.save` writes them: a row for each item (its key, the
CRC-32 of its vectors, and where an item has several vectors their number), then the vectors, `(n, width)`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from equiview.data.tables import atomic
from equiview.errors import InputError

ITEM = np.dtype([("key", "V16"), ("crc", "<u4")])
ITEM_OF_SEVERAL = np.dtype([*ITEM.descr, ("count", "<u4")])


@dataclass(frozen=True, eq=False)
class VectorFile:
    """An open file: `items` has a row for each item, `values` `(n, width)` are their vectors, mapped."""

    path: Path
    items: NDArray[np.void]
    values: NDArray[np.floating[Any]]
    lost: int = 0
    """Items at the end of the file whose vectors it no longer holds, because it was shortened."""

    @property
    def several(self) -> bool:
        """Whether items have one vector a token."""
        return "count" in (self.items.dtype.names or ())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many vectors each item has."""
        counts = self.items["count"] if self.several else np.ones(len(self.items))
        return np.asarray(counts, dtype=np.int64)

    @property
    def kind(self) -> tuple[int, bool]:
        """What the vectors of one file have in common: their width, and whether items have several."""
        return int(self.values.shape[1]), self.several

    def damaged(self) -> int:
        """How many items differ from their checksum."""
        return int(np.count_nonzero(self.items["crc"] != checksums(self.values, self.counts)))


def new_items(
    keys: Sequence[bytes], values: NDArray[np.floating[Any]], counts: NDArray[np.int64] | None
) -> NDArray[np.void]:
    """The rows of new items with these keys (16 bytes each); `counts` where items have several vectors."""
    items = np.empty(len(keys), dtype=ITEM if counts is None else ITEM_OF_SEVERAL)
    items["key"] = np.frombuffer(b"".join(keys), dtype="V16")
    if counts is not None:
        items["count"] = counts
    items["crc"] = checksums(values, np.ones(len(keys), dtype=np.int64) if counts is None else counts)
    return items


def checksums(values: NDArray[np.floating[Any]], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The CRC-32 of each item's vectors, which stand one after the other in `values`."""
    content = values.data.cast("B")
    ends = (np.cumsum(counts) * values.itemsize * values.shape[1]).tolist()
    sums = [zlib.crc32(content[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return np.asarray(sums, dtype=np.uint32)


def write(path: Path, items: NDArray[np.void], parts: Sequence[NDArray[np.floating[Any]]]) -> None:
    """Write a file of `items`, whose vectors are `parts` one below the other; whole or not at all."""
    shape = (sum(map(len, parts)), parts[0].shape[1])
    header = {"descr": npy.dtype_to_descr(parts[0].dtype), "fortran_order": False, "shape": shape}
    with atomic(path) as temporary, temporary.open("wb") as stream:
        npy.write_array(stream, items)
        npy.write_array_header_1_0(stream, header)
        for part in parts:
            stream.write(part.data)


def read(path: Path) -> VectorFile:
    """Open a file; InputError when it is not one, FileNotFoundError when it is gone."""
    try:
        with path.open("rb") as stream:
            items = npy.read_array(stream, allow_pickle=False)
            npy.read_magic(stream)
            (count, width), _, dtype = npy.read_array_header_1_0(stream)
            start, size = stream.tell(), os.fstat(stream.fileno()).st_size
        whole = min(count, (size - start) // (dtype.itemsize * width))
        values = np.memmap(path, dtype, "r", start, (whole, width))
    except FileNotFoundError:
        raise
    except (ValueError, TypeError, OSError, EOFError) as error:
        raise InputError(f"cannot be read ({str(error).splitlines()[0]})") from None
    file = VectorFile(path, items, values)
    kept = int(np.searchsorted(np.cumsum(file.counts), whole, side="right"))
    return file if kept == len(items) else VectorFile(path, items[:kept], values, len(items) - kept)
