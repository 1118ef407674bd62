"""`scenes`: the embedded benchmark of objects that are not there.

A scene is put together from two to five drawings of everyday things on a simple background. Things come in
36 pairs: one brings the other with a chosen probability (`strength`), and otherwise the other is absent. Each
thing is a layer, so that an image without it is exact: what it covered is as if it had never been there. The
drawings are Noto's, an artist that the embedded encoders never saw; the names are those of Unicode CLDR.

Pictures are drawn when they are asked for, from a seed; nothing is stored but what stands where.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.pictograms import LICENCE, SOURCE, drawings, names
from equiview.benchmarks.release import text_items
from equiview.benchmarks.removals import REMOVALS, with_removals
from equiview.benchmarks.scenes_drawing import Floats, Layer, background, box, painted, placed, sized
from equiview.benchmarks.scenes_things import contents, sentence, things, told_in
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.io.pictures import encoded
from equiview.io.refusals import refused

SIDE = 128
"""Pixels of a scene."""
KEPT = 0.4
"""Share of a thing's box that the box of the removed one may cover, as in O, equation 1."""
Picture = NDArray[np.uint8]
Fill = Callable[[Picture, NDArray[np.bool_]], Picture]


class SceneOptions(BaseModel):
    """What can be chosen of `scenes`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    strength: float = Field(default=0.5, ge=0, le=1)
    images: int = Field(default=1_000, ge=2, le=1_000_000)
    gallery: int = Field(default=2_000, ge=0, le=1_000_000)
    languages: tuple[str, ...] = ("en",)
    seed: int = Field(default=0, ge=0)

    @field_validator("languages", mode="before")
    @classmethod
    def _codes(cls, value: str | tuple[str, ...]) -> tuple[str, ...]:
        codes = tuple(value.split("+")) if isinstance(value, str) else value
        codes = told_in() if codes == ("all",) else codes
        if unknown := [code for code in codes if code not in told_in()]:
            raise ValueError(f"{unknown[0]!r} is none of {', '.join(told_in())}")
        return codes


@dataclass(frozen=True)
class Scene:
    """What a picture shows and where; `removed` is left out of it."""

    ground: tuple[int, ...]
    layers: tuple[Layer, ...]
    removed: int | None = None

    @property
    def shown(self) -> list[int]:
        """The things that are there, as rows of `things()`."""
        return [layer.thing for layer in self.layers if layer.thing != self.removed]


def scenes(argument: str = "") -> Benchmark:
    """The embedded benchmark of objects that are not there; see `SceneOptions` for its options.

    `images` scenes are real; each has a synthetic one without one of its things, if possible one whose pair
    is still there. `gallery` further scenes are captions alone. InputError for an option that is wrong.

    >>> scenes("images=10,gallery=5").counts["images"]
    20
    """
    value, given = split_argument(f",{argument}", "scenes", tuple(SceneOptions.model_fields))
    if value := value.removeprefix(","):
        raise InputError(f"benchmark 'scenes' takes no argument {value!r}, only options: scenes:strength=0.8")
    with refused(lambda first: f"benchmark 'scenes', option {first.where!r}: {first.what}"):
        return scenes_of(SceneOptions.model_validate(given))


def scenes_of(options: SceneOptions, fill: Fill | None = None) -> Benchmark:
    """The benchmark of these options.

    With `fill` the box of a removed thing is filled by it instead, from the real picture and a mask of the
    box, as is done with photographs; nothing else changes.
    """
    real = {f"s{row:05d}": _scene(options, row) for row in range(options.images)}
    removed = {
        f"{name}-without-{things()[target].replace(' ', '-')}": (name, target)
        for row, (name, scene) in enumerate(real.items())
        if (target := _target(scene, np.random.default_rng([*_seed(options, "target"), row]))) is not None
    }
    told = [(name, scene.shown) for name, scene in real.items()]
    rng = np.random.default_rng(_seed(options, "gallery"))
    told += [(f"g{row:05d}", contents(options.strength, rng)) for row in range(options.gallery)]
    texts_of, mentions = _captions(told, options)
    texts = texts_of.table
    rows = pl.DataFrame({"id": list(real)}).with_row_index("row")
    pairs = texts.select(id="image_id").with_row_index("text").join(rows, on="id", maintain_order="left")
    synthetic = {
        name: Scene(real[source].ground, real[source].layers, target)
        for name, (source, target) in removed.items()
    }
    draw = Drawing(real | synthetic, fill)
    images = Items("image", pl.DataFrame({"id": list(real)}), "scenes: pictures", draw)
    known = Benchmark(
        "scenes",
        images,
        texts_of,
        Relevance.from_pairs(pairs["row"], pairs["text"], n_queries=len(images), n_items=len(texts)),
        source=SOURCE,
        licence=LICENCE,
    )
    about = (
        f"{len(real):,} scenes of {len(things())} drawn things, {len(synthetic):,} with one taken away; "
        f"pairs appear together with probability {options.strength:g}"
    )
    absent = Items("image", pl.DataFrame({"id": list(synthetic)}), "scenes: synthetic pictures", draw)
    return with_removals(known, absent, _removals(real, removed, options), mentions, "scenes", about)


@dataclass(frozen=True)
class Drawing:
    """Draws a scene by its id: the encoded picture."""

    scenes: Mapping[str, Scene]
    fill: Fill | None = None

    def __call__(self, name: str) -> bytes:
        """The picture as BMP, whose bytes depend on no library's compression."""
        from PIL import Image

        return encoded(Image.fromarray(self.pixels(name)), "BMP")

    def pixels(self, name: str) -> Picture:
        """The picture `(side, side, 3)`."""
        scene = self.scenes[name]
        ground = background(np.random.default_rng(scene.ground), SIDE)
        if self.fill is None or scene.removed is None:
            return painted(
                ground, scene.layers, pictures(), () if scene.removed is None else (scene.removed,)
            )
        mask = np.zeros((SIDE, SIDE), dtype=bool)
        mask[_box_of(scene.layers, scene.removed)] = True
        return self.fill(painted(ground, scene.layers, pictures()), mask)


@cache
def pictures() -> list[list[Floats]]:
    """Noto's drawing of each of `things()` at each size."""
    from PIL import Image

    concept = dict(names().filter(language="en").select("text", "concept").iter_rows())
    drawn = dict(drawings().select("concept", "picture").iter_rows())
    return [sized(Image.open(io.BytesIO(drawn[concept[thing]])).convert("RGBA"), SIDE) for thing in things()]


def _seed(options: SceneOptions, purpose: str) -> list[int]:
    return [options.seed, seed_for(0, f"scenes.{purpose}")]


def _scene(options: SceneOptions, row: int) -> Scene:
    """Things in their places; drawn anew in the rare case that fewer than two find one."""
    rng = np.random.default_rng([*_seed(options, "places"), row])
    while True:
        layers = placed(contents(options.strength, rng), pictures(), rng, SIDE)
        if len(layers) > 1:
            return Scene((*_seed(options, "ground"), row), tuple(layers))


def _target(scene: Scene, rng: np.random.Generator) -> int | None:
    """What is taken away: a thing whose pair is there, if there is any, that leaves the others whole."""
    shown = set(scene.shown)
    usable = [thing for thing in scene.shown if _leaves_others(scene, thing)]
    with_pair = [thing for thing in usable if thing ^ 1 in shown]
    listed = with_pair or usable
    return listed[rng.integers(len(listed))] if listed else None


def _leaves_others(scene: Scene, thing: int) -> bool:
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    mask[_box_of(scene.layers, thing)] = True
    others = (other for other in scene.shown if other != thing)
    return all(mask[_box_of(scene.layers, other)].mean() < KEPT for other in others)


def _box_of(layers: Sequence[Layer], thing: int) -> tuple[slice, slice]:
    layer = next(layer for layer in layers if layer.thing == thing)
    return box(layer, pictures()[layer.thing][layer.size])


def _captions(told: Sequence[tuple[str, list[int]]], options: SceneOptions) -> tuple[Items, pl.DataFrame]:
    """Two captions a scene and language: all that it shows, and of three things or more all but one."""
    rng = np.random.default_rng(_seed(options, "captions"))
    rows, mentions = [], []
    for name, shown in told:
        for language in options.languages:
            for slot, named in enumerate(_named(shown, rng), start=1):
                rows.append((name, language, sentence(named, language, rng), slot))
                mentions += [(f"{name}-{language}-{slot}", things()[thing]) for thing in named]
    texts = text_items(rows, "scenes: captions")
    return texts, pl.DataFrame(mentions, schema=["text_id", "object"], orient="row")


def _named(shown: list[int], rng: np.random.Generator) -> Iterator[list[int]]:
    yield shown
    if len(shown) > 2:
        untold = shown[rng.integers(len(shown))]
        yield [thing for thing in shown if thing != untold]


def _removals(
    real: Mapping[str, Scene], removed: Mapping[str, tuple[str, int]], options: SceneOptions
) -> pl.DataFrame:
    """What was taken away, and captions of what is left, made as those of real scenes are."""
    rng = np.random.default_rng(_seed(options, "removed"))
    rows = []
    for name, (source, target) in removed.items():
        kept = [thing for thing in real[source].shown if thing != target]
        rows.append(
            {
                "image_id": name,
                "source_id": source,
                "target": things()[target],
                "removed": [things()[target]],
                "kept": [things()[thing] for thing in kept],
                "captions": [
                    sentence(named, language, rng)
                    for language in options.languages
                    for named in _named(kept, rng)
                ],
            }
        )
    return pl.DataFrame(rows, schema=REMOVALS.dtypes)
