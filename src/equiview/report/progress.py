"""Progress on the terminal, and off it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from equiview.io.progress import Progress, silent

EVERY = 30.0
"""Seconds between two lines where there is no terminal to draw a bar on."""
NAME = 24
"""Columns that the bar, the count and the times leave of 80."""


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar for each thing that takes a while, on the error stream so that output stays clean.

    Bar, count and times come first, so that a narrow terminal cuts names and not them. Where that stream is
    no terminal, a plain line every 30 seconds; nothing with `quiet`.
    """
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _bars() as tell:
            yield tell
    else:
        yield Lines()


class Lines:
    """Progress as plain lines, no more than one every `EVERY` seconds."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, label: str, done: int, total: int) -> None:
        """Say how far it is, if the last line was long enough ago."""
        now = time.monotonic()
        if now - self.last >= EVERY:
            self.last = now
            of = f"{done:,} of {total:,}" if total else f"{done:,}"
            print(f"equiview: {label}: {of}", file=sys.stderr, flush=True)


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn(
            "{task.description}", table_column=Column(min_width=NAME, no_wrap=True, overflow="ellipsis")
        ),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield tell
