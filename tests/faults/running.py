"""Run one case in this process, as the command line would: its exit code and all that it printed."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import typer

from equiview.cli import main
from equiview.io.tables import checksum
from tests.faults.places import PLACES

LIMITS = resource.getrlimit(resource.RLIMIT_FSIZE)
LIMIT = 600
"""Seconds after which a case hangs, on a machine however busy."""
get_command = cache(typer.main.get_command)
"""All commands with their options: 20 ms to make, as long as many a case takes."""


@dataclass(frozen=True)
class Case:
    """One row of the table: what is prepared, how it is spoiled, what is typed, and what must come of it.

    `place` names the good input. `spoil` changes the copy of it; `words` are typed in that folder. The exit
    code is `code`, and `said` stands in what is printed. With `same` the run in `out` has the numbers that
    the same words give on the good input.
    """

    name: str
    place: str
    spoil: Callable[[Path], object]
    words: tuple[str, ...]
    code: int = 1
    said: str = ""
    same: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a case; `numbers` is the checksum of its estimates, `expected` that of the good ones."""

    code: int | str
    output: str
    errors: str
    numbers: str = ""
    expected: str = ""


def outcome(case: Case) -> Outcome:
    """Copy the good input, spoil it, type the words."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        shutil.copytree(_good(case.place), folder, symlinks=True)
        with _in(folder):
            case.spoil(folder)
            try:
                code, output, errors = typed(case.words)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)
        expected = _expected(case.place, case.words) if case.same else ""
        return Outcome(code, output, errors, _numbers(folder), expected)


def typed(words: Sequence[str]) -> tuple[int | str, str, str]:
    """Exit code, output and error output of a command; the code is a word where there is none."""
    output, errors = io.StringIO(), io.StringIO()
    code: int | str = "no exit"
    before = sys.argv
    sys.argv = ["equiview", *words]
    try:
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            _limit(),
            patch.object(typer.main, "get_command", get_command),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")  # as in a process of its own; pytest makes them errors
            main()
    except SystemExit as stop:
        code = stop.code  # type: ignore[assignment]
    except TimeoutError:
        code = "hang"
    except BaseException:
        code = "escaped"
        errors.write(traceback.format_exc())
    finally:
        sys.argv = before
    return code, output.getvalue(), errors.getvalue()


class _Hang(BaseException):
    pass


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    except _Hang:
        raise TimeoutError from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, EQUIVIEW_CACHE=str(folder / "cache"), COLUMNS="200"),
    ):
        yield


@cache
def _root() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _good(place: str) -> Path:
    folder = Path(_root().name) / place
    folder.mkdir()
    with _in(folder):
        PLACES[place](folder)
    return folder


@cache
def _expected(place: str, words: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        shutil.copytree(_good(place), folder, symlinks=True)
        with _in(folder):
            code, _, errors = typed(words)
        assert code == 0, errors
        return _numbers(folder)


def _numbers(folder: Path) -> str:
    path = folder / "out" / "estimates.parquet"
    return checksum(path) if path.is_file() else ""
