"""Stages of a folder: their files appear together or not at all, and are checked by their checksums."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from equiview.io.tables import checksum


def write_stage(
    folder: Path,
    name: str,
    produce: Callable[[Path], object],
    announce: Callable[[dict[str, str]], object] = lambda files: None,
) -> dict[str, str]:
    """Let `produce` write under a hidden folder, then move all of it into `folder`.

    Returns the checksum of each file, by its path in `folder`; `announce` has them before any is moved.
    """
    work = folder / f".{name}.part"
    work.mkdir(parents=True)
    try:
        produce(work)
        written = sorted(path.relative_to(work) for path in work.rglob("*") if path.is_file())
        files = {path.as_posix(): checksum(work / path) for path in written}
        announce(files)
        for path in written:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).replace(folder / path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return files


def is_whole(folder: Path, files: Mapping[str, str]) -> bool:
    """Whether all files are there, each with its checksum."""
    return all(
        (folder / path).is_file() and checksum(folder / path) == expected for path, expected in files.items()
    )


def left_in(folder: Path) -> Iterator[Path]:
    """What a process that was killed while it was writing left half done."""
    return folder.glob(".*.part")


def sweep(folder: Path) -> None:
    """Remove what was left half done."""
    for left in left_in(folder):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
