"""Encoders whose individual fairness is known, for the error rates of the individual audit's verdicts.

Every caption is built to have a chosen similarity to its image: `c v + sqrt(1 - c^2) u`, where v is the
image's direction and u a random one at right angles to it. So the margin, shifts and gaps are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.individual import INDIVIDUAL
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.data.languages import languages as known_languages
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.io.progress import Progress, silent
from equiview.subjects import Encoder

Floats = NDArray[np.float64]
Rng = np.random.Generator
LANGUAGES = ("de", "en", "mi", "sw")
MANY = (*LANGUAGES, *(language for language in known_languages()["code"] if language not in LANGUAGES))
"""Of more languages, these."""
WIDTH = 24
LEVEL = 0.5
"""Similarity of captions to their images on average, and so about the margin."""
TOLERANCE = 0.1
"""The audit's tolerance, as a share of the margin."""
Level = Callable[[tuple[int, int, int], Rng], Floats]
"""Similarities by slot, language and image, about `LEVEL`."""


class Vectors(Encoder):
    """Vectors that are known already."""

    def __init__(self, images: Floats, texts: Floats) -> None:
        super().__init__()
        self.vectors: dict[str, NDArray[np.float32]] = {
            "image": images.astype(np.float32),
            "text": texts.astype(np.float32),
        }

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """The vectors of these items by their row in the benchmark."""
        return np.take(self.vectors[items.kind], items.table["place"].to_numpy(), axis=0)


def observed(images: Floats, texts: Floats, exists: NDArray[np.bool_]) -> Observations:
    """What the audit observes of `texts`, `(n_slots, n_languages, n_images, width)`, where they exist."""
    slot, language, image = np.nonzero(exists)
    n = len(slot)
    table = pl.DataFrame(
        {
            "id": [f"t{row}" for row in range(n)],
            "text": ["x"] * n,
            "language": np.asarray(MANY)[language],
            "slot": slot,
            "place": np.arange(n),
        }
    )
    rows = np.arange(len(images))
    pictures = Items("image", pl.DataFrame({"id": [f"i{row}" for row in rows], "place": rows}))
    relevance = Relevance.from_pairs(image, np.arange(n), n_queries=len(images), n_items=n)
    benchmark = Benchmark("simulated", images=pictures, texts=Items("text", table), relevance=relevance)
    encoder = Vectors(images, texts[exists])
    return INDIVIDUAL.observe(encoder, benchmark, INDIVIDUAL.configure({"sample": 500}), silent)


def captions_at(images: Floats, similarity: Floats, rng: Rng, common: float = 0.0) -> Floats:
    """Captions of chosen `similarity`, `(n_slots, n_languages, n_images)`, to `(n_images, width)` images."""
    direction = rng.normal(size=(*similarity.shape, images.shape[1]))
    direction[..., 0] += common
    direction -= np.einsum("slij,ij->sli", direction, images)[..., None] * images
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    c = np.clip(similarity, -0.99, 0.99)[..., None]
    return np.asarray(c * images + np.sqrt(1 - c**2) * direction)


def pictures(size: int, rng: Rng, common: float = 0.0) -> Floats:
    """Directions of images; `common` pulls all of them towards one direction."""
    images = rng.normal(size=(size, WIDTH))
    images[:, 0] += common
    return np.asarray(images / np.linalg.norm(images, axis=1, keepdims=True))


def simulated(
    seed: int,
    n: int,
    slots: int,
    level: Level,
    *,
    own: float = LEVEL,
    common: float = 0.0,
    kept: float = 1.0,
    languages: int = len(LANGUAGES),
    few: int | None = None,
) -> Observations:
    """Observe `n` images, captions being similar to their `own` by as much on average.

    `common` is as in `pictures`; `kept` the share of captions that exist beside one in German and in English;
    `few` how many images the last language captions.
    """
    rng = np.random.default_rng(seed)
    images = pictures(n, rng, common)
    shape = (slots, languages, n)
    of_image = 0.05 * rng.normal(size=n)  # some images are easier than others
    texts = captions_at(images, own + of_image + level(shape, rng), rng, common)
    exists = rng.random(shape) < kept
    exists[0, :2] = True
    exists[:, -1, n if few is None else few :] = False
    return observed(images, texts, exists)


def blind(slots: int, level: Level, **more: Any) -> Callable[[int, int], Observations]:
    """A maker of observations of an encoder that is blind to language."""
    return lambda seed, size: simulated(seed, size, slots, level, **more)


def planted(slots: int, level: Callable[[float], Level]) -> Callable[..., Observations]:
    """A maker of observations with an effect, in multiples of the tolerance; `level` takes it in margins."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        return simulated(seed, size, slots, level(effect * TOLERANCE))

    return make


def few(n: int, slots: int, level: Level) -> Callable[[int, int], Observations]:
    """A maker of observations of `n` images, whatever size is asked for."""
    return lambda seed, _: simulated(seed, n, slots, level)


def noise(sd: float) -> Level:
    """Captions that differ in what they say, whatever their language."""
    return lambda shape, rng: sd * rng.normal(size=shape)


def heavy(shape: tuple[int, int, int], rng: Rng) -> Floats:
    """Most captions alike, a few far off."""
    return np.asarray(-0.05 * rng.lognormal(sigma=1.0, size=shape))


def translated(shape: tuple[int, int, int], rng: Rng) -> Floats:
    """Captions of one slot say the same in all languages."""
    return np.asarray(0.1 * rng.normal(size=(shape[0], 1, shape[2])) + 0.02 * rng.normal(size=shape))


def long_first(shape: tuple[int, int, int], rng: Rng) -> Floats:
    """The first caption in each language is the longest, and longer ones are somewhat more similar."""
    length = -np.sort(-rng.normal(size=shape), axis=0)
    return np.asarray(0.03 * length + 0.1 * rng.normal(size=shape))


def shifted(by: float, sd: float = 0.1) -> Level:
    """Captions in Swahili less similar by `by` of the margin, to which they belong."""

    def level(shape: tuple[int, int, int], rng: Rng) -> Floats:
        less = by * LEVEL / (1 + by / shape[1])
        aside = np.zeros((1, shape[1], 1))
        aside[0, LANGUAGES.index("sw")] = -less
        return np.asarray(sd * rng.normal(size=shape) + aside)

    return level


def unlike(by: float, sd: float = 0.1) -> Level:
    """Languages that treat each image differently, none better on average: a gap beyond paraphrase alone."""
    folded = np.sqrt(np.pi) / 2  # of a mean absolute difference of two normals, their sd
    of_language = np.sqrt((sd + folded * by * LEVEL) ** 2 - sd**2)

    def level(shape: tuple[int, int, int], rng: Rng) -> Floats:
        return np.asarray(sd * rng.normal(size=shape) + of_language * rng.normal(size=(1, *shape[1:])))

    return level


def random(slots: int, *, cone: float = 0.0, common: float = 0.0) -> Callable[[int, int], Observations]:
    """Captions that have nothing to do with their images; `cone` pulls each language its own way."""

    def make(seed: int, size: int) -> Observations:
        rng = np.random.default_rng(seed)
        shape = (slots, len(LANGUAGES), size)
        images = pictures(size, rng, common)
        texts = rng.normal(size=(*shape, WIDTH)) + cone * rng.normal(size=(1, shape[1], 1, WIDTH))
        texts[..., 0] += common
        return observed(images, texts, np.ones(shape, dtype=np.bool_))

    return make


def constant(seed: int, size: int) -> Observations:
    """One vector for all texts."""
    images = pictures(size, np.random.default_rng(seed))
    shape = (1, len(LANGUAGES), size)
    return observed(images, np.ones((*shape, WIDTH)), np.ones(shape, dtype=np.bool_))


def at_tolerance(n: int, slots: int, times: float = 1.0) -> Callable[[int, int], Observations]:
    """A maker of `n` languages, half of them less similar and half more, by the tolerance exactly.

    Those of an odd number leave one that is not shifted. `times` is how many tolerances.
    """
    sides = np.zeros(n)
    sides[: n // 2], sides[n - n // 2 :] = 1, -1
    aside = sides[None, :, None] * times * TOLERANCE * LEVEL * (n - 1) / n
    return lambda seed, size: simulated(
        seed, size, slots, lambda shape, rng: 0.05 * rng.normal(size=shape) + aside, languages=n
    )


def captions_of_few(size: int, few: int, by: float) -> Callable[[int, int], Observations]:
    """A maker of `size` images, `few` of which have a caption in Swahili, less similar by `by` margins."""
    return lambda seed, _: simulated(seed, size, 1, shifted(by, 0.02), few=few)


SYSTEMS = {
    entry.name: entry
    for entry in (
        System("ideal", "none", blind(1, noise(0.02)), "captions that say the same, and little noise"),
        System("noisy, one caption", "none", blind(1, noise(0.15)), "captions differ, blind to language"),
        System("noisy, two captions", "none", blind(2, noise(0.1)), "the same, two captions a language"),
        System("noisy, five captions", "none", blind(5, noise(0.1)), "the same, five captions a language"),
        System("few far off", "none", blind(2, heavy), "most captions alike, a few far off"),
        System("ragged", "none", blind(3, noise(0.1), kept=0.6), "captions missing at random"),
        System("in parallel", "none", blind(2, translated), "slots are translations of each other"),
        System("long first", "none", blind(5, long_first), "each language's longest caption comes first"),
        System(
            "anisotropic",
            "none",
            blind(2, noise(0.04), own=0.8, common=5.0),
            "all vectors lie in a narrow cone",
        ),
        System("5 at the tolerance", "none", at_tolerance(5, 1), "4 of 5 languages shifted by the tolerance"),
        System("15 at the tolerance", "none", at_tolerance(15, 1), "14 of 15 shifted by the tolerance"),
        System("20 at the tolerance", "none", at_tolerance(20, 1), "20 languages shifted by the tolerance"),
        System("shift, one caption", "planted", planted(1, shifted), "one language of four is less similar"),
        System("shift, two captions", "planted", planted(2, shifted), "the same, two captions a language"),
        System("by image", "planted", planted(2, unlike), "languages differ image by image, not on average"),
        System("random", "useless", random(1), "captions have nothing to do with images"),
        System("random, two captions", "useless", random(2), "the same, two captions a language"),
        System("random, apart", "useless", random(2, cone=1.0), "the same, languages lie apart"),
        System("random, cone", "useless", random(1, cone=1.0, common=5.0), "all in a narrow cone besides"),
        System("constant", "useless", constant, "one vector for all captions"),
        System("ideal, 12 images", "tiny", few(12, 1, noise(0.02)), "too few images"),
        System("shift, 12 images", "tiny", few(12, 2, shifted(2 * TOLERANCE, 0.05)), "too few images"),
        System(
            "29 of 300 in Swahili", "tiny", captions_of_few(300, 29, 0.8), "a language of too few captions"
        ),
        System("20 of 120, alike", "tiny", captions_of_few(120, 20, 0.0), "the same, alike"),
        System("ideal, 2 images", "tiny", few(2, 1, noise(0.02)), "as few as can be shuffled"),
    )
}
