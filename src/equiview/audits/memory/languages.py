"""Who tells in which language a reply is: lingua (extra `chat`), or the names of the embedded vocabulary."""

from __future__ import annotations

from typing import Literal, Protocol

from equiview.benchmarks.vocabulary import language_of, spoken_languages
from equiview.subjects.chat.spoken import Detector

Detecting = Literal["lingua", "names"]


class Detects(Protocol):
    """Tells the language of texts."""

    def knows(self, language: str) -> bool:
        """Whether it can tell this language from others."""

    def detect(self, text: str) -> str | None:
        """The language of a text, None where it recognises none."""


class NamesDetector:
    """Looks names of pictograms up: any other text is in no language to it.

    >>> NamesDetector().detect("Pizza; Fuchs; Baum"), NamesDetector().detect("Ein hoher Turm aus Eisen.")
    ('de', None)
    """

    def knows(self, language: str) -> bool:
        """Whether the pictograms have names in it."""
        return language in spoken_languages()

    def detect(self, text: str) -> str | None:
        """The language in which the most entries of a list are names, None where most are in none."""
        return language_of(text)


def detector_of(name: Detecting) -> Detects:
    """The detector of that name; InputError where its library is missing, before anything is asked."""
    if name == "names":
        return NamesDetector()
    detector = Detector()
    _ = detector.codes
    return detector
