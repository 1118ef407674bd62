"""Room for large arrays, in memory or in a file where they would take too much of it; and room given back."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from equiview.errors import InputError

SHARE = 0.25
"""Of the memory: what is larger goes into a file."""
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much a container may use, versions 2 and 1 of its control groups."""


def memory_bytes() -> int:
    """Bytes of memory that processes can have: the machine's, or the container's where that is less.

    As much as can be addressed where the system does not say (Windows).
    """
    found = [sys.maxsize]
    with contextlib.suppress(AttributeError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no container, or "max"
            found.append(int(path.read_text()))
    return min(found)


def room_for(shape: tuple[int, ...], dtype: DTypeLike, folder: Path) -> NDArray[Any]:
    """An array to be written; of more than a quarter of the memory, mapped from a file in `folder`.

    The file has no name, and is gone with the array or the process. Its pages are written to disk and read
    again as the system sees fit. InputError where the disk has no room for it.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= SHARE * memory_bytes():
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a page without room would end the process later
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise InputError(
            f"{folder}: vectors of {size / 1e9:,.1f} GB, more than a quarter of the memory, cannot be put in "
            f"order there ({error.strerror or error}); $EQUIVIEW_CACHE names another folder"
        ) from None


def give_back() -> None:
    """Have the C library give all free pages back to the system, where it can (glibc); takes some 2 ms.

    By itself it gives back only the end of its heap. For where much was freed and much is needed next, of
    other sizes.
    """
    if (trim := _trim()) is not None:
        trim(0)


@lru_cache(maxsize=1)
def _trim() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows has no library without a name
        return None
