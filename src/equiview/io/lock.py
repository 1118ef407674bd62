"""Folders that one process at a time may write to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equiview.errors import InputError

LOCK = ".lock"
"""The file by which a process holds a folder. It stays there, empty; what counts is who holds it."""


@contextmanager
def locked(folder: Path, wait: float = 0) -> Iterator[None]:
    """Hold `folder`, which is made if need be, for this process; InputError when another process holds it.

    That is after `wait` seconds.

    May be nested. The lock ends with the process, however that ends. A folder that was made for an error
    alone is removed.
    """
    from filelock import FileLock, Timeout

    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0, is_singleton=True)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise InputError(
            f"{folder}: another process is writing to it; wait until it is done, or choose another folder"
        ) from None
    try:
        yield
    except BaseException:
        if made and [entry.name for entry in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
        raise
    finally:
        lock.release()
