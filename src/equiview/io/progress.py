"""Progress: how slow work tells whoever watches how far it is, without knowing who that is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done and how many there are."""


def silent(label: str, done: int, total: int) -> None:
    """Say nothing."""
