"""Fingerprints: short hashes that tell one thing from every other, the same on every machine."""

from __future__ import annotations

import hashlib

LENGTH = 16


def fingerprint(*parts: object) -> str:
    """Hash parts, bytes or anything with a `str`, in order; where one ends and the next begins counts.

    >>> fingerprint("ab", "c") == fingerprint("a", "bc")
    False
    >>> len(fingerprint("weights", b"data", 3))
    16
    """
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:LENGTH]
