"""The training artists' drawings and flags as arrays, rendered once and cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from concepts import FLAG_OF, concepts
from equiview.benchmarks.pictograms import flag_badge
from sources import TRAINING_STYLES, WORK, noto

SIDE = 64
"""Pixels: what the image tower sees."""


@dataclass(frozen=True)
class Drawings:
    """Drawings `(n, side, side, 4)` as RGBA bytes; `concept` `(n,)` are row numbers into `concepts()`."""

    pixels: NDArray[np.uint8]
    concept: NDArray[np.int64]
    style: NDArray[np.int64]


@dataclass(frozen=True)
class Flags:
    """Flag badges `(n, height, width, 4)` as RGBA bytes; `country` `(n,)` are row numbers into FLAG_OF."""

    pixels: NDArray[np.uint8]
    country: NDArray[np.int64]


def training_drawings() -> Drawings:
    """Every concept by every training artist who drew it."""
    path = WORK / f"training-{SIDE}.npz"
    if not path.is_file():
        rows = [
            (np.asarray(drawing), row, number)
            for number, draw in enumerate(TRAINING_STYLES.values())
            for row, concept in enumerate(concepts())
            if (drawing := draw(concept, SIDE)) is not None
        ]
        pixels, concept, style = zip(*rows, strict=True)
        np.savez(path, pixels=np.stack(pixels), concept=np.array(concept), style=np.array(style))
    with np.load(path) as stored:
        return Drawings(stored["pixels"], stored["concept"], stored["style"])


def held_out_drawings() -> NDArray[np.uint8]:
    """Noto's drawings on white, `(n_concepts, side, side, 3)`: only ever used to measure."""
    return held_out_of("held-out", concepts())


def held_out_of(name: str, listed: Sequence[str]) -> NDArray[np.uint8]:
    """Noto's drawings of code points on white, `(n, side, side, 3)`, cached as `name`."""
    path = WORK / f"{name}-{SIDE}.npy"
    if not path.is_file():
        rows = []
        for concept in listed:
            drawing = noto(concept, 96)
            assert drawing is not None
            ground = Image.new("RGBA", drawing.size, "white")
            flat = Image.alpha_composite(ground, drawing).convert("RGB")
            rows.append(np.asarray(flat.resize((SIDE, SIDE), Image.Resampling.LANCZOS)))
        np.save(path, np.stack(rows))
    return np.load(path)


def training_flags(side: int = SIDE) -> Flags:
    """Badges of the 16 countries' flags by each training artist who drew them, for drawings `side` wide."""
    badges, countries = [], []
    for row, flag in enumerate(FLAG_OF.values()):
        for draw in TRAINING_STYLES.values():
            drawn = draw(flag, 128)
            if drawn is not None:
                badges.append(np.asarray(flag_badge(drawn, side)))
                countries.append(row)
    return Flags(np.stack(badges), np.array(countries))
