"""Models whose knowledge is known, for the error rates of the knowledge audit's verdicts.

A model knows some of the facts that it is asked for and guesses the others, one of four options. What differs
is whether it knows the same facts in all of eight languages, and whether an image, a language or a region is
special to it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.knowledge import KNOWLEDGE
from equiview.data.observations import Observations

Bools = NDArray[np.bool_]
Rng = np.random.Generator
LANGUAGES = ("ar", "de", "en", "fr", "ja", "sw", "th", "zh")
WEAK = LANGUAGES.index("sw")
OPTIONS = 4
CHANCE = 1 / OPTIONS
TOLERANCE = 0.05
"""Both tolerances of the audit, as a share."""
LEVEL = 0.6
"""Share of facts known where nothing else is said."""
SHARED_LEVEL = 0.4
"""Share known by models whose languages know different facts: most consistency can be lost there."""


def regions(size: int) -> NDArray[np.int64]:
    """The region of each question, equally often, by the column of its language."""
    return np.arange(size) % len(LANGUAGES)


def observed(chosen: NDArray[np.int64], truth: NDArray[np.int64], each: int = 1) -> Observations:
    """Answers `(size, n_languages)`, -1 for unread, to questions of which `each` are about one image."""
    size, wide = chosen.shape
    images = np.arange(size) // each
    read = chosen.ravel() >= 0
    answers = pl.DataFrame(
        {
            "question_id": np.repeat([f"q{row}" for row in range(size)], wide),
            "image_id": np.repeat([f"i{image}" for image in images], wide),
            "language": list(LANGUAGES) * size,
            "region": np.repeat(np.asarray(LANGUAGES)[regions(size)], wide),
            "question": "?",
            "truth": np.repeat(truth, wide),
            "text": np.where(read, "A", "?"),
            "chosen": chosen.ravel(),
            "rule": np.where(read, "letter", "unread"),
            "stopped": "stop",
        }
    ).with_columns(
        options=pl.lit(["a", "b", "c", "d"]),
        tokens=pl.lit(None, dtype=pl.Int64),
        chosen=pl.when(pl.col("chosen") >= 0).then("chosen"),
    )
    pictures = pl.DataFrame(schema=KNOWLEDGE.schemas["pictures"].dtypes)
    schema = KNOWLEDGE.schemas["answers"]
    return Observations({"answers": schema.check(answers, "answers"), "pictures": pictures})


def answering(known: Bools, rng: Rng, *, each: int = 1, unread: float = 0.0) -> Observations:
    """A model that knows `known`, `(size, n_languages)`, and guesses the rest in each language by itself."""
    size = len(known)
    truth = rng.integers(OPTIONS, size=size)
    guesses = rng.integers(OPTIONS, size=known.shape)
    chosen = np.where(known, truth[:, None], guesses)
    chosen[rng.random(known.shape) < unread] = -1
    return observed(chosen, truth, each)


def same(share: float, size: int, rng: Rng, each: int = 1) -> Bools:
    """The same facts known in every language, all questions about an image together."""
    images = -(-size // each)
    known = np.repeat(rng.random(images) < share, each)[:size]
    return np.repeat(known[:, None], len(LANGUAGES), axis=1)


def knowing(
    seed: int, size: int, *, share: float = LEVEL, each: int = 1, unread: float = 0.0
) -> Observations:
    """The same facts in every language."""
    rng = np.random.default_rng(seed)
    return answering(same(share, size, rng, each), rng, each=each, unread=unread)


def half_knowing(seed: int, size: int) -> Observations:
    """Half of the facts known; of a fifth more two wrong options are known to be wrong, in every language."""
    rng = np.random.default_rng(seed)
    known = same(0.5, size, rng)
    halfway = rng.random(size) < 0.2
    lucky = rng.random(known.shape) < (0.5 - CHANCE) / (1 - CHANCE)  # the rest is guessed again
    return answering(known | (halfway[:, None] & lucky), rng)


def guessing(seed: int, size: int) -> Observations:
    """One of four at random."""
    return knowing(seed, size, share=0.0)


def lettering(seed: int, size: int, *, by_language: bool) -> Observations:
    """The same letter always, or another always in each language."""
    rng = np.random.default_rng(seed)
    letters = np.arange(len(LANGUAGES)) % OPTIONS * by_language
    return observed(np.tile(letters, (size, 1)), rng.integers(OPTIONS, size=size))


def forgetting(seed: int, size: int, effect: float = 2.0) -> Observations:
    """One language answered correctly less often than the others, by `effect` tolerances."""
    rng = np.random.default_rng(seed)
    known = same(LEVEL, size, rng)
    known[:, WEAK] &= rng.random(size) >= effect * TOLERANCE / (1 - CHANCE) / LEVEL
    return answering(known, rng)


def at_home(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Questions about a region answered correctly more often in its own language, by `effect` tolerances."""
    rng = np.random.default_rng(seed)
    known = same(LEVEL, size, rng)
    more = rng.random(size) < effect * TOLERANCE / (1 - CHANCE) / (1 - LEVEL)
    rows = np.arange(size)
    known[rows, regions(size)] |= more
    return answering(known, rng)


def unshared(seed: int, size: int, effect: float = 2.0) -> Observations:
    """As many facts known in each language, but not all the same: consistency lost is `effect` tolerances.

    Some questions are split: each language knows their facts by itself.
    """
    rng = np.random.default_rng(seed)
    right = SHARED_LEVEL + (1 - SHARED_LEVEL) * CHANCE
    together = SHARED_LEVEL + (1 - SHARED_LEVEL) * CHANCE**2
    split = rng.random(size) < effect * TOLERANCE * right / (together - right**2)
    alone = rng.random((size, len(LANGUAGES))) < SHARED_LEVEL
    return answering(np.where(split[:, None], alone, same(SHARED_LEVEL, size, rng)), rng)


def tiny(seed: int, size: int) -> Observations:
    """Twenty questions, of which one language knows none."""
    rng = np.random.default_rng(seed)
    known = same(0.9, 20, rng)
    known[:, WEAK] = False
    return answering(known, rng)


SYSTEMS = {
    system.name: system
    for system in (
        System("guessing", "useless", guessing, "chooses at random"),
        System(
            "the first option",
            "useless",
            lambda seed, size: lettering(seed, size, by_language=False),
            "always answers A",
        ),
        System(
            "a letter a language",
            "useless",
            lambda seed, size: lettering(seed, size, by_language=True),
            "always answers with one letter, another in each language",
        ),
        System(
            "ideal",
            "none",
            lambda seed, size: knowing(seed, size, share=1.0),
            "knows everything in every language",
        ),
        System(
            "half of it",
            "none",
            lambda seed, size: knowing(seed, size, share=0.5),
            "knows the same half of the facts in every language, guesses the rest",
        ),
        System(
            "most of it",
            "none",
            lambda seed, size: knowing(seed, size, share=0.8),
            "knows the same 80% of the facts in every language, guesses the rest",
        ),
        System(
            "little of it",
            "none",
            lambda seed, size: knowing(seed, size, share=0.2),
            "knows the same 20% of the facts in every language, guesses the rest",
        ),
        System(
            "by image",
            "none",
            lambda seed, size: knowing(seed, size, each=2),
            "knows the same facts in every language, both or neither of two about an image",
        ),
        System(
            "half knowing",
            "none",
            half_knowing,
            "knows half of the facts, and of a fifth more that two options are wrong, in every language",
        ),
        System(
            "hard to read",
            "none",
            lambda seed, size: knowing(seed, size, unread=0.02),
            "knows the same facts in every language; 2% of its replies cannot be read",
        ),
        System("one weak language", "planted", forgetting, "knows fewer facts in Swahili"),
        System("at home", "planted", at_home, "knows more about a region in the region's language"),
        System("other facts", "planted", unshared, "knows as many facts in each language, but not the same"),
        System("tiny", "tiny", tiny, "20 questions, none of which it can answer in Swahili"),
    )
}
