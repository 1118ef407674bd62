"""Printing rows, lines and JSON. No name is ever cut short.

From `WIDE` columns on rows are tables. Below, and where a table would not hold its names, rows are stacked.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 100
"""Columns from which rows stand in a table."""
INDENT = 3

Cells = Sequence[str]


def as_json(content: Any) -> str:
    """Data as JSON, over several lines; nan and the infinities, which JSON does not have, as null."""
    return json.dumps(_finite(content), ensure_ascii=False, indent=1, allow_nan=False)


def print_json(content: Any) -> None:
    """Print data as JSON; an infinity, which JSON does not have, as null."""
    print(as_json(content))


def print_rows(console: Console, title: str, header: Cells, rows: Sequence[Cells]) -> None:
    """Print rows as a table, or stacked under their first cell where it does not fit."""
    first = max((len(row[0]) for row in rows), default=0)
    if console.width >= WIDE and first <= console.width // 2:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, title_justify="left")
        for place, name in enumerate(header):
            table.add_column(name, overflow="fold", no_wrap=place == 0)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
        return
    print_line(console, title, "bold")
    for row in rows:
        print_line(console, row[0])
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell:
                print_indented(console, f"{name}: {cell}")
    console.print()


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print without breaking lines: a terminal wraps what is longer, and a name can be copied whole."""
    console.print(text, style=style, soft_wrap=True, markup=False, highlight=False, emoji=False)


def print_indented(console: Console, text: str, *, style: str = "", indent: int = INDENT) -> None:
    """Print a text that is wrapped within its indentation."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, indent), expand=False))


def terminal() -> Console:
    """Where lines are printed."""
    from rich.console import Console

    return Console()


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def print_hanging(console: Console, text: str) -> None:
    """A paragraph whose further lines are indented."""
    folded = textwrap.wrap(
        text,
        console.width,
        subsequent_indent=INDENT * " ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in folded:
        print_line(console, line)
