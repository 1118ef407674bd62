"""Copies of what stands at URLs (`equiview.io.remote`): which there are, and what may be removed."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.cache import cache_folder, check_no_link
from equiview.io.files import size_of
from equiview.io.lock import locked
from equiview.io.notices import notice
from equiview.io.remote import NOTED, OWNER, SIGN, files_in, noted, stamp
from equiview.store.vectors import DAY, WHEN


class Copies:
    """The copies of all URLs under one root, `cache_folder()` unless another is given."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or cache_folder()) / "remote"

    def contents(self) -> pl.DataFrame:
        """One row a copy: url, files, megabytes, not_sent (files that may be only here), last_used."""
        rows = [
            (
                _url(copy),
                len(names := files_in(copy)),
                size_of(*(copy / name for name in names)) / 1e6,
                len(_not_sent(copy)),
                time.strftime(WHEN, time.localtime(_last_used(copy))),
            )
            for copy in self._copies()
        ]
        columns = {"url": pl.String, "files": pl.Int64, "megabytes": pl.Float64, "not_sent": pl.Int64,
                   "last_used": pl.String}  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def verify(self) -> pl.DataFrame:
        """Check copies of runs by their checksums; one row for each damaged one: url, problem."""
        rows = [(_url(copy), problem) for copy in self._copies() if (problem := _damage(copy))]
        return pl.DataFrame(rows, schema={"url": pl.String, "problem": pl.String}, orient="row")

    def prune(
        self, url: str | None = None, *, unused_days: float | None = None, damaged: bool = False
    ) -> int:
        """Remove copies; returns how many bytes became free.

        `url` is a URL or the beginning of one; with `unused_days` only copies not used for so long are
        removed, with `damaged` only damaged ones. One with a file that was not sent, or changed since, is
        kept, and so is one that a process writes to; a notice names it.
        """
        check_no_link(self.root)
        freed = 0
        for copy in self._copies():
            if url is not None and not _url(copy).startswith(url):
                continue
            if unused_days is not None and time.time() - _last_used(copy) < unused_days * DAY:
                continue
            if damaged and _damage(copy) is None:
                continue
            try:
                with locked(copy.parent):
                    freed += _removed(copy)
            except InputError as error:
                notice(str(error))
        return freed

    def _copies(self) -> Iterator[Path]:
        """The copy in each folder of this store, which is no link."""
        for beside in sorted(self.root.glob("*")):
            if re.fullmatch("[0-9a-f]{16}", beside.name) and not beside.is_symlink() and beside.is_dir():
                found = [path for path in beside.glob("[!.]*") if path.name not in (NOTED, OWNER)]
                if len(found) == 1 and not found[0].is_symlink():
                    yield found[0]


def _url(copy: Path) -> str:
    """The URL of a copy; where an earlier version did not write it down, its end."""
    with suppress(OSError, UnicodeDecodeError):
        return (copy.parent / SIGN).read_text("utf-8")
    return f"?/{copy.name}"


def _not_sent(copy: Path) -> list[str]:
    """Files that are not as they were when the store had the same."""
    known = noted(copy.parent)
    return [name for name in files_in(copy) if known.get(name, [None])[-1] != stamp(copy / name)]


def _last_used(copy: Path) -> float:
    """When it was last fetched, sent or asked for, in seconds since 1970."""
    files = (copy.parent / SIGN, copy.parent / NOTED, copy)
    return max(path.stat().st_mtime for path in files if path.exists())


def _damage(copy: Path) -> str | None:
    """What is wrong with the copy of a run, or None."""
    if not (copy / "manifest.json").is_file():
        return None
    try:
        run = Run.open(copy)
        for stage in run.manifest.stages:
            run.check(stage)
    except InputError as error:
        return str(error)
    return None


def _removed(copy: Path) -> int:
    """Remove a copy; what it took. Its owner stays, who may still hold the place, and so does the lock."""
    if lacking := _not_sent(copy):
        raise InputError(
            f"{_url(copy)}: is kept, since {len(lacking)} of its files may be nowhere else, such as "
            f"{copy / lacking[0]}; the command that made it sends it"
        )
    freed = size_of(*(copy / name for name in files_in(copy)))
    (shutil.rmtree if copy.is_dir() else Path.unlink)(copy)
    for name in (NOTED, SIGN):
        (copy.parent / name).unlink(missing_ok=True)
    return freed
