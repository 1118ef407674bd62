"""Files of a user, and folders that one process at a time may write to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from equiview.errors import InputError

LOCK = ".lock"
"""The file by which a process holds a folder. It stays there, empty; what counts is who holds it."""


def content_of(path: Path) -> bytes:
    """The bytes of a file; InputError when it cannot be read.

    A pipe or a device is never opened: reading it might never end.
    """
    try:
        if not path.is_file():
            kind = "is not a file" if path.exists() else "no such file"
            raise InputError(f"{path}: {'is a folder' if path.is_dir() else kind}")
        return path.read_bytes()
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(f"{str(path)!r}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder`, which is made if need be, for this process; InputError when another process holds it.

    May be nested. The lock ends with the process, however that ends. A folder that was made for an error
    alone is removed.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0, is_singleton=True)
    try:
        lock.acquire()
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
