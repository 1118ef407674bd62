"""Fields of settings that name languages, in any way that `equiview.data.languages` reads."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _label(language: str) -> str:
    from equiview.data.languages import (
        read_language,  # with polars, which the help of a command must not load
    )

    return read_language(language)


def _labels(languages: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_label, languages)))


LanguageLabel = Annotated[str, AfterValidator(_label)]
LanguageLabels = Annotated[tuple[str, ...], AfterValidator(_labels)]
