"""Parts of pages that a lab writes, each between a mark with its name and the next `<!-- end -->`."""

from __future__ import annotations

from pathlib import Path

from equiview.io.tables import write_bytes

END = "<!-- end -->"


def part_of(text: str, name: str) -> str:
    """What stands in the part of that name. ValueError where it does not stand there once.

    >>> part_of("before <!-- it --> 12 <!-- end --> after", "it")
    '12'
    """
    return _split(text, name)[1].strip()


def with_part(text: str, name: str, shown: str) -> str:
    """The text with `shown` in place of what is in the part of that name.

    >>> with_part("before <!-- it --> 12 <!-- end --> after", "it", "13")
    'before <!-- it -->\\n\\n13\\n\\n<!-- end --> after'
    """
    before, _, after = _split(text, name)
    return f"{before}\n\n{shown.strip()}\n\n{after}"


def write_part(page: Path, name: str, shown: str) -> None:
    """Write `shown` to the part of a page."""
    write_bytes(with_part(page.read_text("utf-8"), name, shown).encode(), page)


def _split(text: str, name: str) -> tuple[str, str, str]:
    mark = f"<!-- {name} -->"
    if text.count(mark) != 1 or END not in text.partition(mark)[2]:
        raise ValueError(f"the page must have {mark} once, and {END} after it")
    before, _, rest = text.partition(mark)
    shown, _, after = rest.partition(END)
    return before + mark, shown, END + after
