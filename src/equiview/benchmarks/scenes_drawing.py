"""Scenes as layers: a simple background and drawings of things on it, each of which can be left out exactly.

The benchmark `scenes` and the scripts in labs/ that train the embedded encoders put scenes together alike.
Pictures are float32 in 0..1; drawings are RGBA whose colours are multiplied by alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

Floats: TypeAlias = NDArray[np.float32]
SIZES = tuple(range(20, 35, 2))
"""Width of a thing in a scene, in 64ths of the scene's side."""
MOST = 5
"""Things in a scene, at most."""
OVERLAP = 0.15
"""Share of a thing's box that may cover others."""
TRIES = 30


@dataclass(frozen=True)
class Layer:
    """A drawing in its place: `thing` says which, `size` is a row of `SIZES`."""

    thing: int
    size: int
    top: int
    left: int


def sized(drawing: Image, side: int) -> list[Floats]:
    """An RGBA drawing at each of `SIZES` for scenes of `side` pixels, cut to what is drawn."""
    from PIL.Image import Resampling

    pictures = []
    for size in SIZES:
        drawn = drawing.crop(drawing.getchannel("A").getbbox())
        drawn.thumbnail((size * side // 64, size * side // 64), Resampling.LANCZOS)
        rgba = np.asarray(drawn, dtype=np.float32) / 255
        pictures.append(np.concatenate([rgba[..., :3] * rgba[..., 3:], rgba[..., 3:]], axis=2))
    return pictures


def background(rng: np.random.Generator, side: int) -> Floats:
    """A plain or a simply drawn background, RGB `(side, side, 3)`."""
    return BACKGROUNDS[rng.integers(len(BACKGROUNDS))](rng, side)


def placed(
    things: Sequence[int], pictures: Sequence[Sequence[Floats]], rng: np.random.Generator, side: int
) -> list[Layer]:
    """A size and a place for each of `things`, rows of `pictures`; who finds no place in 30 is left out."""
    covered = np.zeros((side, side), dtype=bool)
    layers = []
    largest = len(SIZES) - max(0, len(things) - 2)
    for thing in things:
        for _ in range(TRIES):
            size = int(rng.integers(largest))
            height, width = pictures[thing][size].shape[:2]
            top, left = (int(rng.integers(0, side - extent + 1)) for extent in (height, width))
            box = np.s_[top : top + height, left : left + width]
            if covered[box].mean() <= OVERLAP:
                covered[box] = True
                layers.append(Layer(thing, size, top, left))
                break
    return layers


def painted(
    ground: Floats,
    layers: Sequence[Layer],
    pictures: Sequence[Sequence[Floats]],
    without: Collection[int] = (),
) -> NDArray[np.uint8]:
    """The scene `(side, side, 3)`, things `without` left out: what they covered is as if they never were."""
    scene = ground.copy()
    for layer in layers:
        if layer.thing not in without:
            picture = pictures[layer.thing][layer.size]
            place = scene[box(layer, picture)]
            place[:] = place * (1 - picture[..., 3:]) + picture[..., :3]
    return np.rint(np.clip(scene, 0, 1) * 255).astype(np.uint8)


def box(layer: Layer, picture: Floats) -> tuple[slice, slice]:
    """The rows and columns that a layer takes up."""
    height, width = picture.shape[:2]
    return slice(layer.top, layer.top + height), slice(layer.left, layer.left + width)


def _plain(rng: np.random.Generator, side: int) -> Floats:
    colour = 1 - rng.uniform(0, 0.6, 3) * (rng.random() < 0.8)
    return np.broadcast_to(colour, (side, side, 3)).astype(np.float32)


def _halves(
    upper: tuple[float, ...], lower: tuple[float, ...]
) -> Callable[[np.random.Generator, int], Floats]:
    """Two colours that meet at a height: sky and grass, wall and floor, sea and sand."""

    def draw(rng: np.random.Generator, side: int) -> Floats:
        scene = np.ones((side, side, 3), dtype=np.float32)
        line = int(side * rng.uniform(0.35, 0.75))
        fade = np.linspace(0, rng.uniform(0, 0.3), line)[:, None, None]
        first, second = (np.clip(np.array(c) + rng.normal(0, 0.04, 3), 0, 1) for c in (upper, lower))
        scene[:line] = first * (1 - fade) + fade
        scene[line:] = second
        return scene

    return draw


BACKGROUNDS = (
    _plain,
    _plain,
    _halves((0.55, 0.8, 0.97), (0.5, 0.75, 0.35)),
    _halves((0.95, 0.9, 0.8), (0.72, 0.55, 0.4)),
    _halves((0.4, 0.7, 0.9), (0.93, 0.85, 0.62)),
    _halves((0.15, 0.18, 0.35), (0.25, 0.35, 0.3)),
    _halves((0.8, 0.85, 0.9), (0.6, 0.6, 0.63)),
)
