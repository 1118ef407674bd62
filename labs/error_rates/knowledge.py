"""Models whose knowledge is known, for the error rates of the knowledge audit's verdicts.

A model knows some of the facts that it is asked for and guesses the others, one of four options. What differs
is whether it knows the same facts in all of eight languages, and whether an image, a language or a region is
special to it.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def observed(
    chosen: NDArray[np.int64],
    truth: NDArray[np.int64],
    each: int = 1,
    *,
    sampled: bool | None = None,
    again: NDArray[np.int64] | None = None,
    options: int = OPTIONS,
    languages: Sequence[str] = LANGUAGES,
) -> Observations:
    """Answers `(size, n_languages)`, -1 for unread, to questions of which `each` are about one image.

    `sampled` is what the subject says of itself, `again`, `(size, n)`, what it answers in English when it is
    asked n times more.
    """
    size, wide = chosen.shape
    if again is not None:
        once = observed(chosen, truth, each, sampled=sampled, options=options, languages=languages)
        english = once["answers"].filter(language="en")
        more = [
            english.with_columns(chosen=pl.Series(column).cast(pl.Int32), repeat=pl.lit(time, dtype=pl.Int32))
            for time, column in enumerate(again.T, start=1)
        ]
        return Observations(dict(once.tables) | {"answers": pl.concat([once["answers"], *more])})
    images = np.arange(size) // each
    read = chosen.ravel() >= 0
    answers = pl.DataFrame(
        {
            "question_id": np.repeat([f"q{row}" for row in range(size)], wide),
            "image_id": np.repeat([f"i{image}" for image in images], wide),
            "language": list(languages) * size,
            "region": np.repeat(np.asarray(LANGUAGES)[regions(size)], wide),
            "question": "?",
            "truth": np.repeat(truth, wide),
            "text": np.where(read, "A", "?"),
            "chosen": chosen.ravel(),
            "rule": np.where(read, "letter", "unread"),
            "stopped": "stop",
        }
    ).with_columns(
        options=pl.lit(list("abcdef"[:options])),
        tokens=pl.lit(None, dtype=pl.Int64),
        chosen=pl.when(pl.col("chosen") >= 0).then("chosen"),
    )
    pictures = pl.DataFrame(schema=KNOWLEDGE.schemas["pictures"].dtypes)
    checked = KNOWLEDGE.schemas["answers"].check(answers, "answers")
    further = {"repeat": pl.lit(0, dtype=pl.Int32), "sampled": pl.lit(sampled, dtype=pl.Boolean)}
    return Observations({"answers": checked.with_columns(**further), "pictures": pictures})


def answering(
    known: Bools, rng: Rng, *, each: int = 1, unread: float = 0.0, sampled: bool | None = None
) -> Observations:
    """A model that knows `known`, `(size, n_languages)`, and guesses the rest in each language by itself."""
    size = len(known)
    truth = rng.integers(OPTIONS, size=size)
    guesses = rng.integers(OPTIONS, size=known.shape)
    chosen = np.where(known, truth[:, None], guesses)
    chosen[rng.random(known.shape) < unread] = -1
    return observed(chosen, truth, each, sampled=sampled)


def keyed(size: int, rng: Rng, share: float, options: int = OPTIONS) -> NDArray[np.int64]:
    """Right options of which so many are the first."""
    other = 1 + rng.integers(options - 1, size=size)
    return np.where(rng.random(size) < share, 0, other)


def leaning_key(
    seed: int, size: int, *, share: float, options: int = OPTIONS, by_language: bool = False
) -> Observations:
    """The first option always, or another in each language, where the first is right more often."""
    rng = np.random.default_rng(seed)
    letters = np.arange(len(LANGUAGES)) % options * by_language
    truth = keyed(size, rng, share, options)
    return observed(np.tile(letters, (size, 1)), truth, options=options)


def a_letter_else(
    seed: int, size: int, *, share: float, key: float = 0.25, by_language: bool = False
) -> Observations:
    """The same facts known in every language, and a letter where they are not, or one of each language."""
    rng = np.random.default_rng(seed)
    known, truth = same(share, size, rng), keyed(size, rng, key)
    letters = np.arange(len(LANGUAGES)) % OPTIONS * by_language
    return observed(np.where(known, truth[:, None], letters), truth)


def apart_and_a(seed: int, size: int, *, share: float, key: float, sampled: bool | None) -> Observations:
    """Other facts in each language, and the first option where they are not known."""
    rng = np.random.default_rng(seed)
    truth = keyed(size, rng, key)
    known = rng.random((size, len(LANGUAGES))) < share
    return observed(np.where(known, truth[:, None], 0), truth, sampled=sampled)


def sampling(
    seed: int,
    size: int,
    *,
    spread: tuple[float, float],
    times: int = 0,
    sampled: bool | None = None,
    apart: float = 0.0,
) -> Observations:
    """Answers drawn by how likely each option is to the model, the same in every language, Beta distributed.

    Asked `times` times more in English. `apart` is the share of questions for which each language has
    likelihoods of its own.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(OPTIONS, size=size)
    right = rng.beta(*spread, size=(size, 1))
    own = rng.beta(*spread, size=(size, len(LANGUAGES)))
    right = np.where(rng.random((size, 1)) < apart, own, np.broadcast_to(right, own.shape))

    def drawn(chance: NDArray[np.float64]) -> NDArray[np.int64]:
        wrong = (truth[:, None] + 1 + rng.integers(OPTIONS - 1, size=chance.shape)) % OPTIONS
        return np.where(rng.random(chance.shape) < chance, truth[:, None], wrong)

    english = right[:, [LANGUAGES.index("en")]]
    again = drawn(np.repeat(english, times, axis=1)) if times else None
    return observed(drawn(right), truth, sampled=sampled, again=again)


def all_off(seed: int, size: int, *, n: int, effect: float = 1.0) -> Observations:
    """Half of `n` languages know more than the others, so that all lie `effect` tolerances off the rest."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(OPTIONS, size=size)
    # A shift is of one language from the mean of the others: with two equal halves, (gap / 2) n / (n - 1).
    gap = effect * TOLERANCE * 2 * (n - 1) / n / (1 - CHANCE)
    facts = rng.random((size, 1))
    level = np.where(np.arange(n) % 2, 0.5 + gap / 2, 0.5 - gap / 2)
    guesses = rng.integers(OPTIONS, size=(size, n))
    chosen = np.where(facts < level, truth[:, None], guesses)
    return observed(chosen, truth, languages=[f"l{place:02d}" for place in range(n)])


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


def unreadable(seed: int, size: int, *, share: float = 1.0) -> Observations:
    """The same facts in every language; a share of the replies in Thai has letters that no rule reads."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(OPTIONS, size=size)
    chosen = np.where(same(0.8, size, rng), truth[:, None], rng.integers(OPTIONS, size=(size, 1)))
    chosen[rng.random(size) < share, LANGUAGES.index("th")] = -1
    return observed(chosen, truth, sampled=False)


def refused(seed: int, size: int, *, share: float = 0.2) -> Observations:
    """The same facts in every language; the service refuses a share of the questions in Swahili."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(OPTIONS, size=size)
    chosen = np.where(same(0.8, size, rng), truth[:, None], rng.integers(OPTIONS, size=(size, 1)))
    chosen[rng.random(size) < share, WEAK] = -1
    seen = observed(chosen, truth, sampled=False)
    stopped = pl.when(pl.col("rule") == "unread").then(pl.lit("refused")).otherwise("stopped")
    return Observations(dict(seen.tables) | {"answers": seen["answers"].with_columns(stopped=stopped)})


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
    known = np.where(split[:, None], alone, same(SHARED_LEVEL, size, rng))
    return answering(known, rng, sampled=False)


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
        System(
            "letters of another script",
            "none",
            unreadable,
            "knows the same facts in every language; no reply in Thai can be read",
        ),
        System(
            "some letters of another script",
            "none",
            lambda seed, size: unreadable(seed, size, share=0.2),
            "the same of a fifth of the replies in Thai",
        ),
        System(
            "the first of a leaning key",
            "useless",
            lambda seed, size: leaning_key(seed, size, share=0.4),
            "always answers A, which is right in 40%",
        ),
        System(
            "the first of three",
            "useless",
            lambda seed, size: leaning_key(seed, size, share=0.6, options=3),
            "always answers A, which is right in 60% of questions with three options",
        ),
        System(
            "a letter a language, leaning key",
            "useless",
            lambda seed, size: leaning_key(seed, size, share=0.4, by_language=True),
            "one letter in each language, where A is right in 40%",
        ),
        System(
            "half, else A",
            "none",
            lambda seed, size: a_letter_else(seed, size, share=0.5, key=0.4),
            "knows the same half in every language, else answers A, which is right in 40%",
        ),
        System(
            "half, else a letter a language",
            "none",
            lambda seed, size: a_letter_else(seed, size, share=0.5, key=0.4, by_language=True),
            "knows the same half, else answers with one letter, another in each language; A is right in 40%",
        ),
        System(
            "sampled, half sure",
            "none",
            lambda seed, size: sampling(seed, size, spread=(1.2, 0.8)),
            "samples its answers; how likely they are does not depend on the language",
        ),
        System(
            "sampled, mostly sure",
            "none",
            lambda seed, size: sampling(seed, size, spread=(0.4, 0.2), sampled=True),
            "the same, surer of what it knows",
        ),
        System(
            "sampled, three times",
            "none",
            lambda seed, size: sampling(seed, size, spread=(1.2, 0.8), sampled=True, times=2),
            "samples its answers, and is asked three times in English",
        ),
        System(
            "sampled, five times",
            "none",
            lambda seed, size: sampling(seed, size, spread=(0.4, 0.2), sampled=True, times=4),
            "the same, surer, and asked five times",
        ),
        System(
            "fifteen at the tolerance",
            "planted",
            lambda seed, size, effect=1.0: all_off(seed, size, n=15, effect=effect),
            "fifteen languages, each off the others by exactly as much",
        ),
        System(
            "other facts, else A",
            "planted",
            lambda seed, size: apart_and_a(seed, size, share=0.4, key=0.4, sampled=None),
            "knows other facts in each language, else answers A, which is right in 40%",
        ),
        System(
            "other facts, else A, greedy",
            "planted",
            lambda seed, size: apart_and_a(seed, size, share=0.5, key=0.25, sampled=False),
            "the same with another key, decoded greedily",
        ),
        System(
            "other likelihoods, three times",
            "planted",
            lambda seed, size: sampling(seed, size, spread=(0.5, 0.5), sampled=True, times=2, apart=1.0),
            "samples answers, with other likelihoods in each language, and is asked three times in English",
        ),
        System(
            "a fifth refused",
            "planted",
            refused,
            "knows the same facts in every language; the service refuses a fifth of the questions in Swahili",
        ),
        System("one weak language", "planted", forgetting, "knows fewer facts in Swahili"),
        System("at home", "planted", at_home, "knows more about a region in the region's language"),
        System("other facts", "planted", unshared, "knows as many facts in each language, but not the same"),
        System("tiny", "tiny", tiny, "20 questions, none of which it can answer in Swahili"),
    )
}
