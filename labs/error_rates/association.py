"""Systems of known truth for the association audit: trials in the 16 countries and 12 languages of 3XCM.

Most score trials by synthetic vectors: an image is its concept, its country and itself; a query is its
concept, the place of its language, and itself. Only where a language's place is learned from its country does
the system have a pull. The planted ones draw who wins, so that the effect is known to the point.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates.harness import PLANTED, System
from numpy.typing import NDArray

from equiview.benchmarks.trials import ROLES
from equiview.data.countries import countries
from equiview.data.observations import Observations

CONCEPTS = 20
COUNTRIES = countries()["country"].to_list()
LANGUAGES = countries()["language"].to_list()
WIDTH = 48
TOLERANCE = 0.02
NOISE = 0.22
"""Of each number of a vector, as a standard deviation."""
MISTAKES = 0.03
"""Share of trials that an unrelated image wins where something is planted."""
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def vectors_of(
    rng: np.random.Generator,
    *,
    knows: float = 1.0,
    ragged: bool = False,
    drift: float = 0.0,
    common: float = 0.0,
    hubs: float = 0.0,
) -> tuple[Floats, Floats]:
    """Vectors of queries and images, each `(concepts, countries, WIDTH)`.

    `knows` is how much of its concept a vector holds, which differs from language to language in `ragged`
    systems; `drift` how far each language lies in a direction of its own among the countries; `common` what
    all vectors share, and `hubs` how much the images differ in it.
    """
    axes = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    of_concept, of_country = axes[:CONCEPTS], axes[CONCEPTS : CONCEPTS + 16]
    shape = (CONCEPTS, 16, WIDTH)
    images = knows * of_concept[:, None] + 0.4 * of_country[None] + NOISE * rng.normal(size=shape)
    images += (common + hubs * rng.normal(size=shape[:2]))[..., None] * axes[-1]
    names = sorted(set(LANGUAGES))
    rows = [names.index(code) for code in LANGUAGES]
    places = rng.normal(size=(len(names), 16)) @ of_country / 4
    known = rng.uniform(0.2, 1, len(names)) if ragged else np.ones(len(names))
    queries = knows * known[rows][None, :, None] * of_concept[:, None] + drift * places[rows][None]
    return queries + common * axes[-1] + NOISE * rng.normal(size=shape), images


def by_vectors(seed: int, size: int, *, decimals: int | None = None, **world: Any) -> Observations:
    """Trials scored by the cosines of `vectors_of`, rounded to `decimals`."""
    rng = np.random.default_rng(seed)
    queries, images = (
        vectors / np.linalg.norm(vectors, axis=2, keepdims=True) for vectors in vectors_of(rng, **world)
    )
    concept, country, *candidates = drawn(rng, size)
    asked = queries[concept, country]
    scores = np.stack([(asked * images[pair]).sum(axis=1) for pair in candidates], axis=1)
    return observed(concept, country, scores if decimals is None else scores.round(decimals))


def by_winners(
    seed: int, size: int, *, effect: float = PLANTED, differs: bool = False, countries_asked: int = 16
) -> Observations:
    """Trials whose winner is drawn: culture wins by `effect` tolerances more than an unrelated image.

    The pull is that of every language, or `differs` between them, exponentially.
    """
    rng = np.random.default_rng(seed)
    concept, country, *_ = drawn(rng, size, countries_asked)
    names = sorted(set(LANGUAGES))
    rows = np.array([names.index(code) for code in LANGUAGES])[country]
    pulls = effect * TOLERANCE * (rng.exponential(size=len(names)) if differs else np.ones(len(names)))
    cultural = np.minimum(MISTAKES + pulls[rows], 1 - MISTAKES)
    chance = rng.random(size)
    winner = np.where(chance < MISTAKES, 2, np.where(chance < MISTAKES + cultural, 1, 0))
    return observed(concept, country, np.eye(3)[winner] + 0.5 * rng.random((size, 3)))


def one_language(seed: int, size: int, pull: float = 0.3) -> Observations:
    """Culture wins more than an unrelated image in Swahili alone."""
    rng = np.random.default_rng(seed)
    concept, country, *_ = drawn(rng, size)
    cultural = MISTAKES + pull * (np.array(LANGUAGES)[country] == "sw")
    chance = rng.random(size)
    winner = np.where(chance < MISTAKES, 2, np.where(chance < MISTAKES + cultural, 1, 0))
    return observed(concept, country, np.eye(3)[winner] + 0.5 * rng.random((size, 3)))


def half_known(seed: int, size: int, unknown: int = 6) -> Observations:
    """No pull, over ten times as many trials; in so many languages any image wins."""
    rng = np.random.default_rng(seed)
    concept, country, *_ = drawn(rng, 10 * size)
    lost = np.isin(np.array(LANGUAGES)[country], sorted(set(LANGUAGES))[:unknown])
    mistaken = lost | (rng.random(len(concept)) < 2 * MISTAKES)
    any_image = np.where(lost, rng.integers(0, 3, len(concept)), rng.integers(1, 3, len(concept)))
    winner = np.where(mistaken, any_image, 0)
    return observed(concept, country, np.eye(3)[winner] + 0.5 * rng.random((len(concept), 3)))


def rare(seed: int, size: int, trials: int = 3) -> Observations:
    """No pull, over ten times as many trials, but one language has three of them."""
    rng = np.random.default_rng(seed)
    concept, country, *_ = drawn(rng, 10 * size)
    last = np.array(LANGUAGES)[country] == LANGUAGES[-1]
    kept = ~last | (np.cumsum(last) <= trials)
    concept, country = concept[kept], country[kept]
    winner = np.where(rng.random(len(concept)) < MISTAKES, rng.integers(1, 3, len(concept)), 0)
    return observed(concept, country, np.eye(3)[winner] + 0.5 * rng.random((len(concept), 3)))


def constant(seed: int, size: int) -> Observations:
    """Every score is the same."""
    concept, country, *_ = drawn(np.random.default_rng(seed), size)
    return observed(concept, country, np.ones((size, 3)))


def drawn(
    rng: np.random.Generator, size: int, countries_asked: int = 16
) -> tuple[Whole, Whole, tuple[Whole, Whole], tuple[Whole, Whole], tuple[Whole, Whole]]:
    """Concept and country of `size` queries, then of their three images."""
    concept, country = rng.integers(0, CONCEPTS, size), rng.integers(0, countries_asked, size)
    concepts = concept + np.cumsum(rng.integers(1, CONCEPTS // 2, (2, size)), axis=0)
    places = country + np.cumsum(rng.integers(1, 8, (2, size)), axis=0)
    first, second = concepts % CONCEPTS
    near, far = places % 16
    return concept, country, (concept, near), (first, country), (second, far)


def observed(concept: Whole, country: Whole, scores: Floats) -> Observations:
    """The tables of the audit: trials with their scores; nothing is known of the space."""
    names, languages = np.array(COUNTRIES)[country], np.array(LANGUAGES)[country]
    queries = [f"{k}-{c}" for k, c in zip(country, concept, strict=True)]
    trials = pl.DataFrame(
        {
            "trial_id": np.arange(len(concept)).astype(str),
            "query_id": queries,
            "query_image_id": queries,
            **{f"{role}_id": queries for role in ROLES},
            "concept": [f"c{number}" for number in concept],
            "country": names,
            "language": languages,
            "shares_language": False,
            "direction": "text-to-image",
            **{f"{role}_score": scores[:, place] for place, role in enumerate(ROLES)},
        }
    )
    place = {"silhouette": pl.lit(None, dtype=pl.Float64), "pca_x": pl.lit(0.0), "pca_y": pl.lit(0.0)}
    texts = pl.DataFrame({"text_id": ["q"], "text": ["q"], "language": ["en"], "concept": ["c0"]})
    images = pl.DataFrame({"image_id": ["i"], "concept": ["c0"], "country": ["USA"]})
    images = images.with_columns(picture=pl.lit(None, dtype=pl.Binary), **place)
    return Observations(
        {
            "trials": trials,
            "texts": texts.with_columns(**place),
            "images": images,
        }
    )


def tiny(seed: int, size: int) -> Observations:
    """Twelve trials, nearly all of which the right image wins."""
    return by_winners(seed, 12, effect=0)


SETTINGS = {"directions": ["text-to-image"]}
SYSTEMS = {
    system.name: system
    for system in (
        System("aligned", "none", by_vectors, "no language has a place of its own", SETTINGS),
        System(
            "random direction",
            "none",
            partial(by_vectors, drift=3),
            "each language lies in a direction of its own, none learned",
            SETTINGS,
        ),
        System(
            "ragged", "none", partial(by_vectors, ragged=True), "some languages are hardly known", SETTINGS
        ),
        System(
            "hubs",
            "none",
            partial(by_vectors, common=0.5, hubs=0.3),
            "some images are near to everything",
            SETTINGS,
        ),
        System(
            "coarse scores",
            "none",
            partial(by_vectors, decimals=1),
            "scores of one decimal, so that many trials are ties",
            SETTINGS,
        ),
        System("mistakes at random", "none", partial(by_winners, effect=0), "3% go to each", SETTINGS),
        System(
            "the same pull", "planted", partial(by_winners, effect=PLANTED), "in every language", SETTINGS
        ),
        System(
            "pulls that differ",
            "planted",
            partial(by_winners, effect=PLANTED, differs=True),
            "exponentially distributed over the languages",
            SETTINGS,
        ),
        System("random", "useless", partial(by_vectors, knows=0), "knows no concept", SETTINGS),
        System(
            "random, anisotropic",
            "useless",
            partial(by_vectors, knows=0, common=1),
            "knows no concept; vectors at a mean cosine of .8",
            SETTINGS,
        ),
        System(
            "random direction, useless",
            "useless",
            partial(by_vectors, knows=0, drift=1.5),
            "knows no concept; each language lies in a direction of its own",
            SETTINGS,
        ),
        System("constant", "useless", constant, "every score is the same", SETTINGS),
        System(
            "half known",
            "useless",
            half_known,
            "knows no concept in 6 of 12 languages; ten times as many trials",
            SETTINGS,
        ),
        System("rare language", "tiny", rare, "no pull, but a language has three trials", SETTINGS),
        System(
            "one language alone",
            "tiny",
            one_language,
            "of one language culture wins 30% more, which may be where that language lies",
            SETTINGS,
        ),
        System("twelve trials", "tiny", tiny, "nearly all won by the right image", SETTINGS),
        System(
            "four languages",
            "tiny",
            partial(by_winners, effect=0, countries_asked=6),
            "too few to tell a tie from an accident",
            SETTINGS,
        ),
    )
}
