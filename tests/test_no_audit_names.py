"""The report, the studies, the nouns and the command line name no audit: what they need, an audit brings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from equiview.audits import AUDITS

SOURCE = Path(__file__).parents[1] / "src" / "equiview"
ROOMS = ("report", "studies", "data", "io", "text")
KINDS = {".py", ".html", ".js", ".css"}
FILES = [
    *(
        path
        for room in ROOMS
        for path in sorted((SOURCE / room).rglob("*"))
        if path.suffix in KINDS and "vendor" not in path.parts
    ),
    *SOURCE.glob("cli*.py"),
]


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """The names that occur in a text as words."""
    return re.findall(rf"\b(?:{'|'.join(map(re.escape, names))})\b", text, re.IGNORECASE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_audit_is_named(path: Path) -> None:
    names = AUDITS.all()
    assert names
    assert names_in(path.read_text("utf-8"), names) == []


def test_a_name_is_seen_as_a_word_only() -> None:
    assert names_in("the Parity audit", ["parity", "social"]) == ["Parity"]
    assert names_in("disparity", ["parity"]) == []
