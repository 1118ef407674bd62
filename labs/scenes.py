"""Scenes: pictures put together from two to five drawings of everyday things on simple backgrounds.

The image tower learns to name all things in them. A scene holds things of one artist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from concepts import concepts, name_of
from drawings import SIDE
from equiview.benchmarks.scenes_drawing import MOST, Floats, background, painted, placed, sized
from equiview.benchmarks.scenes_things import contents, pairs


def things() -> tuple[int, ...]:
    """Row numbers into `concepts()` of what scenes are made of: 72 things, most of them COCO's."""
    rows = {name_of(concept, "en"): row for row, concept in enumerate(concepts())}
    return tuple(rows[name] for pair in pairs() for name in pair)


@dataclass(frozen=True)
class Pieces:
    """Each drawing of a thing at each size; `of` lists each artist's, `concept` says what each is."""

    pictures: list[list[Floats]]
    of: list[list[int]]
    concept: list[int]


def pieces(pixels: NDArray[np.uint8], concept: NDArray[np.int64], style: NDArray[np.int64]) -> Pieces:
    """Cut down the drawings `(n, side, side, 4)` of things; `of` has a list of pieces for each style."""
    wanted = set(things())
    kept = [row for row in range(len(concept)) if int(concept[row]) in wanted]
    of: list[list[int]] = [[] for _ in range(int(style.max()) + 1)]
    for place, row in enumerate(kept):
        of[style[row]].append(place)
    pictures = [sized(Image.fromarray(pixels[row]), SIDE) for row in kept]
    return Pieces(pictures, of, [int(concept[row]) for row in kept])


def scenes(
    pieces: Pieces, n: int, rng: np.random.Generator, styles: Iterable[int]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """RGBA `(n, side, side, 4)` of any things and their concepts, `(n, 5)`, -1 where there are fewer."""
    styles = [style for style in styles if len(pieces.of[style]) >= MOST]

    def chosen() -> list[int]:
        of = pieces.of[styles[rng.integers(len(styles))]]
        return rng.choice(of, size=int(rng.integers(2, MOST + 1)), replace=False).tolist()

    return _drawn(pieces, n, rng, chosen)


def paired_scenes(
    pieces: Pieces, n: int, rng: np.random.Generator, styles: Sequence[int], strength: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """As `scenes`, things coming in pairs with probability `strength` as in the benchmark `scenes`."""
    row_of = {concept: row for row, concept in enumerate(things())}
    piece = [{row_of[pieces.concept[place]]: place for place in of} for of in pieces.of]

    def chosen() -> list[int]:
        of = piece[styles[rng.integers(len(styles))]]
        while len(drawn := [of[thing] for thing in contents(strength, rng) if thing in of]) < 2:
            pass  # an artist did not draw every thing
        return drawn

    return _drawn(pieces, n, rng, chosen)


def _drawn(
    pieces: Pieces, n: int, rng: np.random.Generator, chosen: Callable[[], list[int]]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    pixels = np.full((n, SIDE, SIDE, 4), 255, dtype=np.uint8)
    shown = np.full((n, MOST), -1)
    for row in range(n):
        these = chosen()
        ground = background(rng, SIDE)
        layers = placed(these, pieces.pictures, rng, SIDE)
        pixels[row, ..., :3] = painted(ground, layers, pieces.pictures)
        shown[row, : len(layers)] = [pieces.concept[layer.thing] for layer in layers]
    return pixels, shown
