"""Seeds: one number from the user, an independent stream for each purpose."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable


def seed_for(seed: int, purpose: str) -> int:
    """Return a seed of its own for one purpose, the same for the same seed and purpose.

    >>> seed_for(0, "bootstrap") == seed_for(0, "bootstrap") != seed_for(0, "chance")
    True
    """
    return seed << 32 | zlib.crc32(purpose.encode())


def by_lot(names: Iterable[str]) -> list[int]:
    """The places of `names` in an order drawn by lot, which depends on the names alone.

    Whoever shows the first few of them shows the same ones for every system, and of every part of the names.

    >>> names = ["sun", "moon", "star"]
    >>> [names[place] for place in by_lot(names)] == [names[::-1][place] for place in by_lot(names[::-1])]
    True
    """
    lots = [hashlib.sha256(name.encode()).digest() for name in names]
    return sorted(range(len(lots)), key=lots.__getitem__)
