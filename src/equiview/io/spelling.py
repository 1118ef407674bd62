"""Spelling: what two names have in common that look alike, or differ only as people's hands do."""

from __future__ import annotations

import re
import unicodedata

JOINERS = "\u200c\u200d\ufe0f"
"""Not seen, but part of words and emoji; at the ends of a label they mean nothing."""
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\ufe00-\ufe0f\uffa0]")


def cleaned(label: str) -> str:
    r"""A label as it is read: NFKC, no character that nobody sees, no blank at its ends nor two within.

    >>> [cleaned(label) for label in (" Female\u200b", "ｗｏｍａｎ", "East\u00a0 Asian")]
    ['Female', 'woman', 'East Asian']
    """
    seen = (
        letter
        for letter in unicodedata.normalize("NFKC", label)
        if letter in JOINERS or not (unicodedata.category(letter) == "Cf" or _UNSEEN.match(letter))
    )
    return " ".join("".join(seen).split()).strip(JOINERS + " ")


def folded(name: str) -> str:
    """A column's name as it is compared: without case, blanks, hyphens and underscores.

    >>> {folded(name) for name in ("image_id", "Image ID", " imageId ", "IMAGE-ID")}
    {'imageid'}
    """
    return re.sub(r"[\s_-]", "", cleaned(name).casefold())
