"""What can be wrong with a file: each fault changes the good file at a path."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

Fault = Callable[[Path], None]


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def replaced(make: Callable[[Path], object]) -> Fault:
    """A fault that puts something else in the file's place."""

    def fault(path: Path) -> None:
        remove(path)
        make(path)

    return fault


def edited(change: Callable[[bytes], bytes]) -> Fault:
    """A fault that changes the file's bytes."""
    return lambda path: path.write_bytes(change(path.read_bytes())) and None


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


FAULTS: dict[str, Fault] = {
    "missing": remove,
    "empty": replaced(lambda path: path.write_bytes(b"")),
    "a folder": replaced(lambda path: path.mkdir()),
    "a dangling link": replaced(lambda path: path.symlink_to("nowhere")),
    "a looping link": replaced(lambda path: path.symlink_to(path.name)),
    "a pipe": replaced(os.mkfifo),
    "a device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "cut off": edited(lambda content: content[: len(content) // 2]),
    "only zeros": edited(lambda content: bytes(len(content))),
    "noise": edited(lambda content: random.Random(0).randbytes(max(64, len(content)))),
    "latin-1": replaced(lambda path: path.write_bytes("caf\xe9 \xfc\xdf\n".encode("latin-1") * 9)),
    "gzip under a plain name": edited(lambda content: gzip.compress(content, mtime=0)),
    "a picture": replaced(lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))),
    "a web page": replaced(lambda path: path.write_text("<!doctype html><title>404</title>\n")),
    "nested JSON": replaced(lambda path: path.write_text("[" * 100_000)),
}
"""Faults after which a file says nothing: what needs it has to say so."""

GONE = ("missing", "a folder", "a dangling link", "a looping link", "a pipe", "a device")
"""Those that leave no file."""
