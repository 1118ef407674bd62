"""Language identification by lingua (extra `chat`)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from equiview.extras import require

ALIASES = {"no": ("nb", "nn"), "fil": ("tl",), "iw": ("he",)}
"""Codes of lingua for codes that mean these languages."""


class Detector:
    """lingua, choosing among all its languages, or among those of `among` that it knows.

    With fewer languages it makes fewer errors in short texts.
    """

    def __init__(self, among: Collection[str] = ()) -> None:
        self._among = {alias for code in among for alias in (code, *ALIASES.get(code, ()))}

    @cached_property
    def _languages(self) -> dict[str, Any]:
        """The languages it chooses among, by ISO 639-1 code."""
        language = require("lingua", "chat").Language
        known = {entry.iso_code_639_1.name.lower(): entry for entry in language.all()}
        return {code: entry for code, entry in known.items() if not self._among or code in self._among}

    @property
    def codes(self) -> frozenset[str]:
        """The languages it chooses among, by ISO 639-1 code."""
        return frozenset(self._languages)

    @cached_property
    def _detector(self) -> Any:
        builder = require("lingua", "chat").LanguageDetectorBuilder
        if not self._among:
            return builder.from_all_languages().build()
        return builder.from_languages(*self._languages.values()).build()

    def knows(self, language: str) -> bool:
        """Whether it can tell this language from others."""
        return bool(self.codes & {language, *ALIASES.get(language, ())})

    def detect(self, text: str) -> str | None:
        """The language of a text, None where it recognises none."""
        detected = self._detector.detect_language_of(text)
        return None if detected is None else detected.iso_code_639_1.name.lower()


def same_language(detected: str | None, language: str) -> bool:
    """Whether a detected code means the language asked in.

    >>> same_language("nb", "no"), same_language("en", "de"), same_language(None, "de")
    (True, False, False)
    """
    return detected is not None and (detected == language or detected in ALIASES.get(language, ()))
