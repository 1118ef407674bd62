"""Systems of known truth for the prevalence audit: lists over pools of captions in twelve languages.

Of vectors where scores must come from a space (noise, hubs, ragged pools), of lists made outright where an
effect is planted, so that its size is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.data.observations import Observations

Rows = NDArray[np.int64]
MUCH, LOW = ("en", "de", "fr", "es", "zh"), ("sw", "mi", "te", "bn", "fil", "hi", "ro")
LANGUAGES = (*MUCH, *LOW)
"""Five of the high and medium tiers and seven of the low one: 58% of the captions, as in the 36."""
RARE = (*MUCH, "ru", "ja", "it", "nl", "sw")
"""One low-tier language of ten."""
DEPTH, WIDTH = 100, 32
TOLERANCE = 0.1
FEW = 10


def observed(
    ranked: Rows, image: Rows, language: Rows, names: tuple[str, ...], tiers: dict[str, str]
) -> Observations:
    """The tables of an audit of lists `(n_images, depth)`; an `image` is -1 where not known."""
    images = pl.Series([f"i{row:05d}" for row in range(len(ranked))])
    captions = pl.Series([f"c{row:06d}" for row in range(len(image))])
    codes = pl.Series(names)[language]
    depth = ranked.shape[1]
    asked = np.repeat(np.arange(len(ranked)), depth)
    rankings = pl.DataFrame(
        {
            "query_id": images[asked],
            "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), len(ranked)),
            "item_id": captions[ranked.ravel()],
            "score": -np.tile(np.arange(depth, dtype=np.float32), len(ranked)),
            "relevant": image[ranked.ravel()] == asked,
        }
    )
    items = pl.DataFrame({"item_id": captions, "text": captions, "language": codes})
    known = image >= 0
    targets = pl.DataFrame({"query_id": images[image[known]], "item_id": captions.filter(pl.Series(known))})
    return Observations(
        {
            "queries": pl.DataFrame({"query_id": images}).with_columns(
                label=pl.lit(None, pl.String), picture=pl.lit(None, pl.Binary)
            ),
            "items": items.with_columns(tier=pl.col("language").replace_strict(tiers)),
            "rankings": rankings,
            "targets": targets.with_columns(language_rank=pl.lit(None, pl.Int32)),
        }
    )


def tiers_of(names: tuple[str, ...]) -> dict[str, str]:
    """Low or high of each language; that the second is sometimes medium changes nothing here."""
    return {name: "low" if name in LOW else "high" for name in names}


def of_vectors(
    seed: int,
    size: int,
    *,
    noise: float,
    lean: float = 0.0,
    common: float = 0.0,
    per_image: int | None = None,
    names: tuple[str, ...] = LANGUAGES,
    less: float = 0.0,
    lost: float = 0.0,
    lost_in: tuple[str, ...] = (),
    near: bool = False,
) -> Observations:
    """An encoder whose captions lie near their image, but for noise that is blind to language.

    `lean` is the share of the image in captions (1: all, 0: none, which is a useless encoder), `common` a
    direction that all vectors share, so that some captions are hubs; `per_image` languages an image has.
    Low-tier captions have `less` of the common direction. `lost` is the share of the pool of captions of no
    known image, in the languages `lost_in` or all, and `near` the queries or anywhere.
    """
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(size, WIDTH)).astype(np.float32)
    has = rng.random((size, len(names))).argsort(axis=1)[:, : per_image or len(names)]
    image, language = np.repeat(np.arange(size), has.shape[1]), np.sort(has, axis=1).ravel()
    captions = lean * seen[image] + noise * rng.normal(size=(len(image), WIDTH)).astype(np.float32)
    shared = common * np.sqrt(WIDTH) * np.eye(1, WIDTH, dtype=np.float32)
    hub = 1 - less * np.isin(names, LOW)[language, None].astype(np.float32)
    others = round(lost / (1 - lost) * len(image))
    about = lean * seen[rng.integers(size, size=others)] if near else rng.normal(size=(others, WIDTH))
    stray = (about + noise * rng.normal(size=(others, WIDTH)) + shared).astype(np.float32)
    spoken = np.flatnonzero(np.isin(names, lost_in or names))
    image = np.concatenate([image, np.full(others, -1)])
    language = np.concatenate([language, rng.choice(spoken, size=others)])
    ranked = best(seen + shared, np.concatenate([captions + hub * shared, stray]))
    return observed(ranked, image, language, names, tiers_of(names))


def best(images: NDArray[np.float32], captions: NDArray[np.float32]) -> Rows:
    """The nearest captions of each image by cosine, `(n_images, depth)`."""
    images, captions = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, captions))
    scores = images @ captions.T
    depth = min(DEPTH, len(captions))
    top = np.argpartition(-scores, depth - 1, axis=1)[:, :depth] if depth < len(captions) else None
    top = np.tile(np.arange(len(captions)), (len(images), 1)) if top is None else top
    return np.take_along_axis(top, np.take_along_axis(-scores, top, axis=1).argsort(axis=1), axis=1)


def low_share(effect: float, sign: int) -> float:
    """The low tier's share of a rank, so that no language lies farther off its expectation than `effect`.

    What the low tier lacks the others have, and these are fewer, so that it is they who are farthest off: by
    `effect` times the logarithm of the tolerance.
    """
    others = len(MUCH) / len(LANGUAGES)
    return 1 - others * math.exp(sign * effect * math.log(1 - TOLERANCE))


def everywhere(seed: int, size: int, effect: float = 2.0, sign: int = -1) -> Observations:
    """At every rank a low-tier caption stands less often than its share of the pool, or more often.

    The images whose captions fill a list follow each other in a random circle, the query's own first.
    """
    rng = np.random.default_rng(seed)
    share = low_share(effect, sign)
    depth = min(DEPTH, size * len(LANGUAGES) // 4)
    low = rng.random((size, depth)) < share
    return observed(_filled(low, rng, size), *_full(size))


def first_rank(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Only at rank 1 low-tier captions have less than their share; the rest of the list makes up for it."""
    rng = np.random.default_rng(seed)
    share = len(LOW) / len(LANGUAGES)
    depth = min(DEPTH, size * len(LANGUAGES) // 4)
    low = rng.random((size, depth)) < share
    low[:, 0] = rng.random(size) < low_share(effect, -1)
    return observed(_filled(low, rng, size), *_full(size))


def english_first(seed: int, size: int) -> Observations:
    """English is taken first in a fifth of the lists, which costs the low tier a fifth of rank 1."""
    rng = np.random.default_rng(seed)
    own = rng.random((size, len(LANGUAGES))).argsort(axis=1)
    for row in np.flatnonzero(rng.random(size) < 2 * TOLERANCE):
        place = int(np.flatnonzero(own[row] == 0)[0])
        own[row, : place + 1] = np.concatenate([[0], own[row, :place]])
    first = own + np.arange(size)[:, None] * len(LANGUAGES)
    step = np.arange(min(DEPTH, size * len(LANGUAGES) // 4) - len(LANGUAGES))  # then other images, in turn
    other = (np.arange(size)[:, None] + 1 + step % (size - 1)) % size
    language = rng.integers(len(LANGUAGES), size=(size, size - 1))[:, step % (size - 1)] + step // (size - 1)
    rest = other * len(LANGUAGES) + language % len(LANGUAGES)
    return observed(np.concatenate([first, rest], axis=1), *_full(size))


def _full(size: int) -> tuple[Rows, Rows, tuple[str, ...], dict[str, str]]:
    """A pool with a caption of each image in each language."""
    image = np.repeat(np.arange(size), len(LANGUAGES))
    return image, np.tile(np.arange(len(LANGUAGES)), size), LANGUAGES, tiers_of(LANGUAGES)


def erased(
    seed: int, size: int, much: tuple[str, ...] = MUCH, low: tuple[str, ...] = LOW[1:]
) -> Observations:
    """The low tier has its share at every rank, by some of its languages: the others are never shown."""
    rng = np.random.default_rng(seed)
    depth = min(DEPTH, size * len(LANGUAGES) // 4)
    where = rng.random((size, depth)) < len(LOW) / len(LANGUAGES)
    return observed(_filled(where, rng, size, much, low), *_full(size))


def weakened(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Some lists have no caption of one low-tier language, and the more of the others of its tier."""
    rng = np.random.default_rng(seed)
    depth = min(DEPTH, size * len(LANGUAGES) // 4)
    where = rng.random((size, depth)) < len(LOW) / len(LANGUAGES)
    without = rng.random((size, 1)) < effect * TOLERANCE
    ranked = np.where(without, _filled(where, rng, size, MUCH, LOW[1:]), _filled(where, rng, size))
    return observed(ranked, *_full(size))


def rare(seed: int, size: int, images: int = 3) -> Observations:
    """An ideal retriever of a pool that has a low-tier language for a few images only."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(size, WIDTH)).astype(np.float32)
    image, language, names, tiers = _full(size)
    kept = (language != names.index("te")) | (image < images)
    image, language = image[kept], language[kept]
    captions = seen[image] + 0.2 * rng.normal(size=(len(image), WIDTH)).astype(np.float32)
    return observed(best(seen, captions), image, language, names, tiers)


def _filled(
    low: NDArray[np.bool_],
    rng: np.random.Generator,
    size: int,
    much: tuple[str, ...] = MUCH,
    less: tuple[str, ...] = LOW,
) -> Rows:
    """Captions for lists of which is known where the low tier stands: own ones first, each used once."""
    order = rng.permutation(size)
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    ranked = np.empty(low.shape, dtype=np.int64)
    for is_low, names in ((False, much), (True, less)):
        places = np.array([LANGUAGES.index(name) for name in names])
        within = np.cumsum(low == is_low, axis=1) - 1  # how many of this side stand before
        mixed = rng.random((size, len(names))).argsort(axis=1)  # an order of its languages for each image
        image = order[(place[:, None] + within // len(names)) % size]
        caption = image * len(LANGUAGES) + places[mixed[image, within % len(names)]]
        ranked = np.where(low == is_low, caption, ranked)
    return ranked


def seldom(seed: int, size: int, share: float = 0.02) -> Observations:
    """A retriever that knows what a share of the images shows, and nothing of the others."""
    rng = np.random.default_rng(seed)
    image, language, names, tiers = _full(size)
    seen = rng.normal(size=(size, WIDTH)).astype(np.float32)
    captions = seen[image] + 0.2 * rng.normal(size=(len(image), WIDTH)).astype(np.float32)
    unknown = rng.random(size) >= share
    seen[unknown] = rng.normal(size=(int(unknown.sum()), WIDTH))
    return observed(best(seen, captions), image, language, names, tiers)


def constant(seed: int, size: int, shown: tuple[str, ...] = LANGUAGES) -> Observations:
    """All vectors alike: every list is the same random hundred captions, of the languages `shown`."""
    rng = np.random.default_rng(seed)
    image, language, names, tiers = _full(size)
    top = rng.permutation(np.flatnonzero(np.isin(names, shown)[language]))[:DEPTH]
    return observed(np.tile(top, (size, 1)), image, language, names, tiers)


def searched(
    seed: int, size: int, found: Callable[..., Observations], exact: Callable[..., Observations]
) -> Observations:
    """Lists as an approximate search found them, and exact ones of half of the images, of one pool."""
    used, best = found(seed, size), exact(seed + 1000, size)
    ids = used["queries"]["query_id"]
    drawn = np.random.default_rng(seed).permutation(size)[: size // 2]
    some = best["rankings"].filter(pl.col("query_id").is_in(ids[drawn].implode()))
    return Observations({**used.tables, "exact": some})


def few(make: Callable[..., Observations], **options: float) -> Callable[[int, int], Observations]:
    """A system of ten images, whatever the size."""
    return lambda seed, size: make(seed, FEW, **options)


SETTINGS = {"cutoffs": (10,)}
"""Divergences at one cutoff alone: the verdict reads exposure, which `judged_at` cuts, and it is fast."""


def _system(name: str, truth: str, make: Callable[..., Observations], note: str) -> System:
    return System(name, truth, make, note, SETTINGS)  # type: ignore[arg-type]


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        _system(
            "ideal", "none", partial(of_vectors, lean=1.0, noise=0.2), "each image's captions come first"
        ),
        _system("noisy", "none", partial(of_vectors, lean=1.0, noise=1.5), "finds much, with blind noise"),
        _system("hubs", "none", partial(of_vectors, lean=1.0, noise=1.5, common=1.0), "mean cosine of .5"),
        _system(
            "strong hubs", "none", partial(of_vectors, lean=1.0, noise=1.0, common=2.0), "mean cosine of .8"
        ),
        _system(
            "ragged",
            "none",
            partial(of_vectors, lean=1.0, noise=0.2, per_image=2),
            "captions in 2 of 12 languages",
        ),
        _system(
            "ragged, noisy",
            "none",
            partial(of_vectors, lean=1.0, noise=1.5, per_image=3),
            "in 3 of 12 languages",
        ),
        _system(
            "one low",
            "none",
            partial(of_vectors, lean=1.0, noise=1.5, names=RARE),
            "one low tier language of ten",
        ),
        _system("random", "useless", partial(of_vectors, noise=1.0), "vectors of noise"),
        _system(
            "random, cosine .5", "useless", partial(of_vectors, noise=1.0, common=1.0), "noise with hubs"
        ),
        _system(
            "random, cosine .8",
            "useless",
            partial(of_vectors, noise=1.0, common=2.0),
            "noise with strong hubs",
        ),
        _system("one of fifty", "useless", seldom, "knows 2% of the images, the others' lists are noise"),
        _system("constant", "useless", constant, "all lists are one list"),
        _system(
            "one list",
            "useless",
            partial(constant, shown=("en", "de")),
            "all lists are one list of two languages",
        ),
        _system(
            "hubs, .93",
            "none",
            partial(of_vectors, lean=1.0, noise=1.0, common=2.0, less=0.02),
            "low tier slightly less often a hub",
        ),
        _system(
            "strong hubs, .97",
            "none",
            partial(of_vectors, lean=1.0, noise=1.0, common=4.0, less=0.01),
            "the same, stronger hubs",
        ),
        _system(
            "hubs, one low",
            "none",
            partial(of_vectors, lean=1.0, noise=1.0, common=2.0, less=0.01, names=RARE),
            "the same, one low tier language",
        ),
        *(
            _system(
                f"strays, {lost:.0%}{', ' + '/'.join(spoken) if spoken else ''}{', near' if near else ''}",
                "none",
                partial(of_vectors, lean=1.0, noise=0.6, lost=lost, lost_in=spoken, near=near, per_image=4),
                "blind, and so much of the pool is of no known image",
            )
            for lost, spoken, near in (
                (0.1, ("en",), False),
                (0.35, (), False),
                (0.35, ("en", "de", "fr"), False),
                (0.35, ("sw", "te"), True),
                (0.6, ("sw", "te"), False),
                (0.6, ("en",), True),
                (0.9, ("en",), False),
                (0.9, (), True),
            )
        ),
        _system("rare language", "tiny", rare, "ideal, but a low-tier language has three captions"),
        _system(
            "one erased", "planted", erased, "a low-tier language is never shown, the tier has its share"
        ),
        _system(
            "two erased",
            "planted",
            partial(erased, much=MUCH[1:], low=LOW[:-1]),
            "one of each tier is never shown",
        ),
        _system("one weaker", "planted", weakened, "a low-tier language has less, another one more"),
        System(
            "hidden by the search",
            "none",
            partial(searched, found=erased, exact=partial(everywhere, effect=0.0)),
            "blind, but the approximate search does not reach one language",
            SETTINGS | {"search": "hnsw"},
        ),
        System(
            "found by the search",
            "planted",
            partial(searched, found=partial(everywhere, effect=0.0), exact=everywhere),
            "low tier has less at every rank, which the approximate search makes even",
            SETTINGS | {"search": "hnsw"},
        ),
        System(
            "searched well",
            "planted",
            partial(searched, found=everywhere, exact=everywhere),
            "low tier has less at every rank, by both searches",
            SETTINGS | {"search": "hnsw"},
        ),
        _system("everywhere", "planted", everywhere, "low tier has less at every rank"),
        _system("favoured", "planted", partial(everywhere, sign=1), "low tier has more at every rank"),
        _system("first rank", "planted", first_rank, "low tier has less at rank 1 alone"),
        _system("English first", "planted", english_first, "English comes first in some lists"),
        _system("ten images", "tiny", few(of_vectors, lean=1.0, noise=0.2), "ideal, but ten images"),
        _system("ten images, leaning", "tiny", few(everywhere, effect=5.0), "biased, but ten images"),
    )
}
