"""Progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from equiview.io.progress import Progress


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar for each thing that takes a while, on the error stream so that output stays clean.

    None where that stream is no terminal, or with `quiet`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = not quiet and sys.stderr.isatty()
    with Bars(*columns, console=Console(stderr=True), disable=not shown, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield tell
