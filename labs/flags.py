"""Places that have a flag: which, what they are called, and how each artist draws their flags."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import polars as pl
from babel import Locale
from numpy.typing import NDArray
from PIL import Image

from equiview.benchmarks.pictograms_quiz import ASKED
from sources import openmoji, package_dir, render, twemoji
from territories import territories

LANGUAGES = tuple(ASKED)
"""The 15 languages of the embedded quiz, in which places are named."""
SIZE = (96, 72)
"""Width and height in pixels: every flag in the same, so that its shape tells nothing."""
ALIKE = 0.06
"""Root mean square of the difference, colours in 0..1, up to which two flags are the same to see."""
ARTISTS = (twemoji, openmoji)
"""Whom encoders learn flags from: two who drew them themselves."""


@cache
def places() -> pl.DataFrame:
    """A row a place, by its code: `code` of ISO 3166 and `region`, its language.

    Left out are places whose flag one of the artists lacks, and those whose flag looks like that of a place
    before them (Monaco's like Indonesia's).
    """
    kept: list[NDArray[np.float64]] = []
    rows = []
    for code, language in territories().select("code", "language").iter_rows():
        if _held_out_path(code).is_file() and all(draw(points(code), 8) for draw in ARTISTS):
            seen = np.asarray(held_out_flag(code).convert("RGB"), dtype=np.float64) / 255
            if all(np.sqrt(((seen - other) ** 2).mean()) >= ALIKE for other in kept):
                kept.append(seen)
                rows.append((code, language))
    return pl.DataFrame(rows, schema=["code", "region"], orient="row")


def place_name(code: str, language: str) -> str:
    """CLDR's name of a place, through Babel, in normal form C."""
    return unicodedata.normalize("NFC", Locale.parse(language).territories[code])


def points(code: str) -> str:
    """`'KE'` to `'1f1f0-1f1ea'`: the code points of a flag."""
    return "-".join(f"{0x1F1E6 + ord(letter) - ord('A'):x}" for letter in code)


def held_out_flag(code: str) -> Image.Image:
    """The flag that the benchmark shows, from Noto's `region-flags`; no encoder learnt from it."""
    return fitted(render(_held_out_path(code).read_text("utf-8"), 192))


def training_flags(code: str) -> list[Image.Image]:
    """The flag by each training artist."""
    return [fitted(drawn) for draw in ARTISTS if (drawn := draw(points(code), 192)) is not None]


def fitted(flag: Image.Image) -> Image.Image:
    """The drawn part of a flag on white, `SIZE` pixels."""
    flag = flag.convert("RGBA")
    flag = flag.crop(flag.getchannel("A").getbbox())
    ground = Image.new("RGBA", flag.size, "white")
    return Image.alpha_composite(ground, flag).convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)


def _held_out_path(code: str):
    return package_dir("asturur-noto-emoji") / "third_party" / "region-flags" / "svg" / f"{code}.svg"
