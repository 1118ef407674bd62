"""Whether a translated text is in the language that was asked for, as far as its letters and lingua tell."""

from __future__ import annotations

from collections.abc import Mapping

from equiview.data.languages import language_name
from equiview.subjects.chat.spoken import Detector, same_language
from equiview.text.scripts import foreign_letter, lacks_script


def language_fault(what: str, texts: Mapping[str, str], language: str, detector: Detector) -> str:
    """Why texts are not in a language; "" where nothing speaks against it.

    `texts` holds each with its original, from which names may be taken over. The first, called `what` in the
    reason, must be in the script of the language and read as it; the others may be names.
    """
    first = next(iter(texts))
    if lacks_script(first, language):
        return f"the {what} is not in the script of the language"
    for text, original in texts.items():
        if letter := foreign_letter(text, language, original):
            return f"{text!r} holds {letter!r}, of a script that the language does not use"
    detected = detector.detect(first) if detector.knows(language) else None
    if detected is not None and not same_language(detected, language):
        return f"the {what} reads as {language_name(detected)}"
    return ""
