"""Hashes of files, remembered between runs for as long as a file is the one that was hashed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from equiview.io.ahead import ahead
from equiview.io.cache import cache_folder
from equiview.io.progress import Progress, silent

SIZE = 16
WORTH_KEEPING = 2**26
"""Bytes of all files together from which on their hashes are remembered; fewer are soon hashed again."""
RECENT = 2 * 10**9
"""Nanoseconds for which a changed file is not remembered: it may change again within a tick."""
AT_A_TIME = 1024
State: TypeAlias = tuple[int, int, int, int]


def hash_bytes(content: bytes) -> bytes:
    """A hash of 16 bytes, that of a file which holds the same."""
    return hashlib.blake2b(content, digest_size=SIZE).digest()


def hash_files(paths: Sequence[str], progress: Progress = silent) -> list[bytes | OSError]:
    """The hash of each file's content, or why it cannot be read.

    Of many bytes the hashes are remembered in `cache_folder()/hashes.sqlite`, by path, size, number on the
    disk and times of change: a file that is written or replaced, even with its old date, is hashed again.
    """
    absolute = [os.path.abspath(path) for path in paths]
    states = [_state(path) for path in absolute]
    hashes: list[bytes | OSError] = [state if isinstance(state, OSError) else b"" for state in states]
    sizes = [0 if isinstance(state, OSError) else state[0] for state in states]
    keep = sum(sizes) >= WORTH_KEEPING
    if keep:
        for row, known in enumerate(_remembered(absolute, states)):
            hashes[row] = known or hashes[row]
    missing = [row for row, known in enumerate(hashes) if known == b""]
    done = len(paths) - len(missing)
    for start in range(0, len(missing), AT_A_TIME):
        rows = missing[start : start + AT_A_TIME]
        now = time.time_ns()
        for row, content in zip(rows, ahead(_hash, [absolute[row] for row in rows], depth=64), strict=True):
            hashes[row] = content
        done += len(rows)
        if keep:
            _remember([(absolute[row], states[row], hashes[row]) for row in rows], now)
            progress("reading pictures", done, len(paths))
    return hashes


def _state(path: str) -> State | OSError:
    """Size, number on the disk, and the times at which content and entry were changed."""
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        return error if isinstance(error, OSError) else OSError(str(error))
    if not stat.S_ISREG(state.st_mode):
        return OSError("not a file")
    return state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns


def _hash(path: str) -> bytes | OSError:
    try:
        return hash_bytes(Path(path).read_bytes())
    except OSError as error:
        return error


def _remembered(paths: Sequence[str], states: Sequence[State | OSError]) -> list[bytes | None]:
    """The hash of each file that is as it was; None for the others."""
    hashes: list[bytes | None] = [None] * len(paths)
    with contextlib.suppress(OSError, sqlite3.Error), closing(_opened()) as database:
        for row, (path, state) in enumerate(zip(paths, states, strict=True)):
            query = "SELECT hash FROM hashes WHERE path = ? AND state = ?"
            known = database.execute(query, (os.fsencode(path), str(state))).fetchone()
            hashes[row] = known[0] if known else None
    return hashes


def _remember(entries: Sequence[tuple[str, State | OSError, bytes | OSError]], now: int) -> None:
    """Keep the hashes of files that were not changed just now; what cannot be kept is hashed again."""
    rows = [
        (os.fsencode(path), str(state), content)
        for path, state, content in entries
        if isinstance(content, bytes) and not isinstance(state, OSError) and max(state[2:]) < now - RECENT
    ]
    with contextlib.suppress(OSError, sqlite3.Error), closing(_opened()) as database, database:
        database.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", rows)


def _opened() -> sqlite3.Connection:
    path = cache_folder() / "hashes.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, timeout=10)
    database.execute("CREATE TABLE IF NOT EXISTS hashes (path BLOB PRIMARY KEY, state TEXT, hash BLOB)")
    return database
