"""Rows of a gallery for passes from its first row to its last, read ahead where they are mapped from a file.

A thread of its own reads a large file in order, into buffers that are used again, while what it has read is
scored. The pages of the mapping are not touched: they would count as memory of this process, and its threads
would wait for one after the other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.search.room import memory_bytes
from equiview.search.scaling import Gallery, as_stored

Rows = NDArray[np.floating[Any]]
Buffer = NDArray[np.uint8]
LEAST_BYTES = 2**26
"""A smaller file is read through its mapping."""
BUFFERS = 8
"""Parts that are read before they are asked for, or not given back yet."""
AHEAD = 2**25
"""Bytes of the file that the system is told of before they are read."""
PAGE = 4096
"""Reading past the system's cache is of whole pages, into memory that begins at one."""
MAPS = Path("/proc/self/maps")


@dataclass
class Part:
    """Rows of the gallery from row `first` in pass `number`; `rows` are as stored, until it is given back."""

    number: int
    first: int
    rows: Rows
    free: SimpleQueue[Buffer | None] | None = None
    buffer: Buffer | None = None

    def give_back(self) -> None:
        """Say that the rows are not needed any more: they may be written over."""
        if self.free is not None:
            self.free.put(self.buffer)


@contextmanager
def parts_in_order(
    gallery: Gallery, firsts: Sequence[int], step: int, passes: int
) -> Iterator[Iterator[Part]]:
    """Within, parts of `step` rows that begin at `firsts`, in their order, as often as there are passes.

    InputError where a mapped file cannot be read to its end.
    """
    stored = as_stored(gallery)
    where = _file_of(stored)
    if where is None:
        yield (
            Part(number, first, stored[first : first + step]) for number in range(passes) for first in firsts
        )
        return
    reader = _Reader(stored, *where, firsts, step, passes)
    reader.thread.start()
    try:
        yield reader.parts()
    finally:
        reader.stop()


class _Reader:
    """A thread that reads parts of a file into buffers, as they become free."""

    def __init__(
        self, stored: Rows, path: Path, start: int, firsts: Sequence[int], step: int, passes: int
    ) -> None:
        self.stored, self.path, self.start = stored, path, start
        self.firsts, self.step, self.passes = firsts, step, passes
        self.row = stored.nbytes // len(stored)
        self.free: SimpleQueue[Buffer | None] = SimpleQueue()
        self.full: SimpleQueue[Part | BaseException | None] = SimpleQueue()
        for _ in range(BUFFERS):
            self.free.put(_pages(step * self.row + 2 * PAGE))
        self.thread = threading.Thread(target=self._read, daemon=True)

    def parts(self) -> Iterator[Part]:
        """What was read, in order; an error of reading is raised here."""
        while (part := self.full.get()) is not None:
            if isinstance(part, BaseException):
                raise part
            yield part

    def stop(self) -> None:
        """Read no more."""
        self.free.put(None)
        self.thread.join()

    def _read(self) -> None:
        try:
            past_cache = 2 * self.stored.nbytes > memory_bytes()
            with _opened(self.path, past_cache=past_cache) as (file, direct):
                for number in range(self.passes):
                    for first in self.firsts:
                        # Whoever stops the search puts None behind the buffers that are free.
                        if (buffer := self.free.get()) is None:
                            return
                        self.full.put(self._part(file, number, first, buffer, not direct))
        except OSError as error:
            self.full.put(InputError(f"{self.path}: cannot be read ({error.strerror or error})"))
        except BaseException as error:
            self.full.put(error)
        else:
            self.full.put(None)

    def _part(self, file: int, number: int, first: int, buffer: Buffer, ahead: bool) -> Part:
        count = min(self.step, len(self.stored) - first)
        begin = self.start + first * self.row
        before = begin % PAGE
        size = before + count * self.row
        whole = -(-size // PAGE) * PAGE
        if ahead:  # into the system's cache
            os.posix_fadvise(file, begin - before + whole, AHEAD, os.POSIX_FADV_WILLNEED)
        done = 0
        while done < size:
            got = os.preadv(file, [buffer[done:whole].data], begin - before + done)
            if not got:
                raise InputError(f"{self.path}: ends before its last vector; was it cut off meanwhile?")
            done += got
        rows = buffer[before:size].view(self.stored.dtype).reshape(count, *self.stored.shape[1:])
        return Part(number, first, rows, self.free, buffer)


@contextmanager
def _opened(path: Path, *, past_cache: bool) -> Iterator[tuple[int, bool]]:
    """The file for reading, and whether it is read past the system's cache, which it does not fit in."""
    file = -1
    if past_cache and hasattr(os, "O_DIRECT"):
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(file, [_pages(PAGE).data], 0)
        except OSError:  # not on this file system
            if file >= 0:
                os.close(file)
            file = -1
    direct = file >= 0
    file = file if direct else os.open(path, os.O_RDONLY)
    try:
        yield file, direct
    finally:
        os.close(file)


def _pages(size: int) -> Buffer:
    """Memory of whole pages that begins at one."""
    wider = np.empty((-(-size // PAGE) + 1) * PAGE, dtype=np.uint8)
    begin = -wider.ctypes.data % PAGE
    return wider[begin : begin + len(wider) - PAGE]


def _file_of(stored: Rows) -> tuple[Path, int] | None:
    """The file of a large mapped array and where in it the array begins; None to read the mapping itself."""
    mapped: Any = stored
    while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or mapped.mode != "r" or mapped.filename is None:
        return None
    if stored.nbytes < LEAST_BYTES or not stored.flags.c_contiguous or not hasattr(os, "preadv"):
        return None
    try:
        path, inode = Path(os.fsdecode(mapped.filename)), os.stat(mapped.filename).st_ino
        lines = MAPS.read_text().splitlines()
    except OSError:  # no such system, or the file was removed and lives on in its mapping
        return None
    address = stored.ctypes.data
    for line in lines:
        addresses, _, offset, _, of, *_ = line.split(maxsplit=5)
        low, high = (int(number, 16) for number in addresses.split("-"))
        if low <= address < high:  # that of a file that was replaced has another inode
            whole = address + stored.nbytes <= high and int(of) == inode
            return (path, int(offset, 16) + address - low) if whole else None
    return None
