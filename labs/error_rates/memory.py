"""Models whose memory is known, for the error rates of the memory audit's verdicts.

What is simulated are scores: of each landmark in each language by each prompt, and what the same description
scores with other landmarks' pictures. So the margin, shifts and the local advantage are known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.memory import SCHEMAS
from equiview.data.languages import languages as known_languages
from equiview.data.observations import Observations

Floats = NDArray[np.float64]
Rng = np.random.Generator
LANGUAGES = ("en", "de", "ar", "ja", "pt")
MANY = (*LANGUAGES, *(language for language in known_languages()["code"] if language not in LANGUAGES))
"""Of more languages, these."""
PROMPTS = 2
FLOOR, MARGIN = 0.55, 0.2
"""Mean score with other landmarks, and how much more it is with a description's own."""
TOLERANCE = 0.1
"""The audit's tolerance, as a share of the margin."""
Shape = tuple[int, int, int]
Level = Callable[[Shape, NDArray[np.bool_], Rng], Floats]
"""What is added to scores `(n_prompts, n_landmarks, n_languages)`; the mask says which cells are local."""


def observed(own: Floats, others: Floats, words: Floats | None = None) -> Observations:
    """What the audit observes where descriptions score `own` and, with other landmarks, `others`.

    Each is `(n_prompts, n_landmarks, n_languages)`, nan where a reply was refused; so is `words`, the lengths
    of the descriptions. The regions are the languages in turn.
    """
    shape = own.shape
    prompt, landmark, language = (index.ravel() for index in np.indices(shape))
    names = np.asarray(MANY[: shape[2]])
    lengths = np.full(shape, 100) if words is None else words
    cells = pl.DataFrame(
        {
            "landmark_id": pl.Series(landmark).cast(pl.String),
            "language": names[language],
            "prompt": pl.Series(prompt, dtype=pl.Int32),
        }
    )
    scores = [pl.Series(values.ravel()).fill_nan(None) for values in (own, others)]
    refused = scores[0].is_null()
    category = pl.select(pl.when(refused).then(pl.lit("refused")).otherwise(pl.lit("described")))
    described = cells.with_columns(
        region=pl.Series(names[landmark % shape[2]]),
        text=pl.lit("x"),
        stopped=pl.lit("stop"),
        detected=pl.col("language"),
        known=pl.lit(True),
        category=category.to_series(),
        characters=pl.lit(500),
        words=pl.Series(lengths.ravel()).cast(pl.Int64),
    )
    scored = cells.with_columns(
        translator=pl.lit("first"),
        scorer=pl.lit("first"),
        words=pl.Series(lengths.ravel()).cast(pl.Int64),
        cut=pl.lit(None, dtype=pl.Boolean),
        score=scores[0],
        other=scores[1],
    )
    n = np.arange(shape[1])
    landmarks = pl.DataFrame({"landmark_id": pl.Series(n).cast(pl.String), "region": names[n % shape[2]]})
    named = landmarks.with_columns(name=pl.lit("x"), images=pl.lit(1), picture=pl.lit(None, dtype=pl.Binary))
    models = {"role": ["scorer"], "place": ["first"], "name": ["simulated"], "audited": [None]}
    return Observations(
        {
            "landmarks": named,
            "models": pl.DataFrame(models, schema=SCHEMAS["models"].dtypes),
            "descriptions": described,
            "translations": pl.DataFrame(schema=SCHEMAS["translations"].dtypes),
            "scores": scored,
        }
    )


def simulated(
    seed: int,
    n: int,
    level: Level,
    *,
    margin: float = MARGIN,
    kept: float = 1.0,
    prompt: float = 0.03,
    languages: int = len(LANGUAGES),
) -> Observations:
    """Observe `n` landmarks, some of which are easier than others in all languages.

    `kept` is the share of replies that are not refused, `prompt` how much two prompts differ.
    """
    rng = np.random.default_rng(seed)
    shape = (PROMPTS, n, languages)
    easy = 0.05 * rng.normal(size=(1, n, 1))
    local = np.arange(n)[:, None] % shape[2] == np.arange(shape[2])
    own = FLOOR + margin + easy + prompt * rng.normal(size=shape) + level(shape, local, rng)
    others = FLOOR + 0.01 * rng.normal(size=shape)
    own[rng.random(shape) >= kept] = np.nan
    return observed(np.maximum(own, 0), others)


def blind(level: Level, **more: Any) -> Callable[[int, int], Observations]:
    """A maker of observations of a model that is blind to language."""
    return lambda seed, size: simulated(seed, size, level, **more)


def planted(level: Callable[[float], Level], **more: Any) -> Callable[..., Observations]:
    """A maker of observations with an effect, in multiples of the tolerance; `level` takes it in margins."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        return simulated(seed, size, level(effect * TOLERANCE), **more)

    return make


def few(n: int, level: Level) -> Callable[[int, int], Observations]:
    """A maker of observations of `n` landmarks, whatever size is asked for."""
    return lambda seed, _: simulated(seed, n, level)


def noise(sd: float) -> Level:
    """Descriptions that say different things, whatever their language."""
    return lambda shape, local, rng: sd * rng.normal(size=shape[1:])


def heavy(shape: Shape, local: NDArray[np.bool_], rng: Rng) -> Floats:
    """Most descriptions alike, a few far too low."""
    return np.asarray(-0.04 * rng.lognormal(sigma=1.0, size=shape[1:]))


def known_abroad(shape: Shape, local: NDArray[np.bool_], rng: Rng) -> Floats:
    """Landmarks of some regions better known than others, in every language."""
    regions = np.linspace(-0.08, 0.08, shape[2])[np.arange(shape[1]) % shape[2]]
    return np.asarray(regions[:, None] + 0.04 * rng.normal(size=shape[1:]))


def weaker(by: float) -> Level:
    """One language of five described worse by `by` of the margin, to which it belongs."""
    less = by * MARGIN / (1 + by / len(LANGUAGES))
    aside = -less * (np.asarray(LANGUAGES) == "ar")
    return lambda shape, local, rng: aside + 0.04 * rng.normal(size=shape[1:])


def local_better(by: float) -> Level:
    """Every landmark described better in the language of its region by `by` of the margin."""
    more = by * MARGIN / (1 - by / len(LANGUAGES))
    return lambda shape, local, rng: more * local + 0.04 * rng.normal(size=shape[1:])


def unrelated(apart: float) -> Callable[[int, int], Observations]:
    """Descriptions that are of no landmark; languages lie `apart` in what they score with any picture."""

    def make(seed: int, size: int) -> Observations:
        rng = np.random.default_rng(seed)
        shape = (PROMPTS, size, len(LANGUAGES))
        of_text = apart * np.linspace(-1, 1, shape[2]) + 0.05 * rng.normal(size=shape)
        own = FLOOR + of_text + 0.05 * rng.normal(size=(1, size, 1)) + 0.03 * rng.normal(size=shape)
        return observed(np.maximum(own, 0), FLOOR + of_text)

    return make


def constant(seed: int, size: int) -> Observations:
    """One description for all landmarks, so that only the pictures differ."""
    rng = np.random.default_rng(seed)
    picture = FLOOR + 0.05 * rng.normal(size=(1, size, 1))
    others = (picture.sum() - picture) / max(size - 1, 1)
    shape = (PROMPTS, size, len(LANGUAGES))
    return observed(np.broadcast_to(picture, shape).copy(), np.broadcast_to(others, shape).copy())


def refusing(seed: int, size: int, share: float = 0.75) -> Observations:
    """A good model that refuses a share of the requests in one language."""
    rng = np.random.default_rng(seed)
    shape = (PROMPTS, size, len(LANGUAGES))
    own = FLOOR + MARGIN + 0.04 * rng.normal(size=shape)
    refused = (rng.random(shape[1:]) < share) & (np.asarray(LANGUAGES) == "ar")
    own[:, refused] = np.nan
    return observed(own, FLOOR + 0.01 * rng.normal(size=shape))


def refusing_hard(seed: int, size: int, share: float = 0.2) -> Observations:
    """A good model that refuses in one language the landmarks that are hardest in all."""
    rng = np.random.default_rng(seed)
    shape = (PROMPTS, size, len(LANGUAGES))
    easy = 0.05 * rng.normal(size=(1, size, 1))
    own = FLOOR + MARGIN + easy + 0.02 * rng.normal(size=shape)
    hard = easy[0] <= np.quantile(easy, share)
    own[:, hard & (np.asarray(LANGUAGES) == "ar")] = np.nan
    return observed(own, FLOOR + 0.01 * rng.normal(size=shape))


def at_tolerance(n: int, share: float = 1.0, times: float = 1.0) -> Callable[[int, int], Observations]:
    """A maker of `n` languages of which a share is described worse or better, by the tolerance exactly.

    Half of these are shifted to either side, so that the margin stays; `times` is how many tolerances.
    """

    def level(shape: Shape, local: NDArray[np.bool_], rng: Rng) -> Floats:
        sides = np.zeros(n)
        pairs = int(share * (n - 1)) // 2
        sides[1 : pairs + 1], sides[n - pairs :] = 1, -1
        return np.asarray(
            sides * times * TOLERANCE * MARGIN * (n - 1) / n + 0.04 * rng.normal(size=shape[1:])
        )

    return lambda seed, size: simulated(seed, size, level, languages=n)


def described_for_few(
    size: int, told: int, code: str = "ar", *, languages: int = 5, worse: float = 0.75
) -> Callable[[int, int], Observations]:
    """A maker of `size` landmarks, `told` of which one language describes, worse by `worse` of the margin."""

    def make(seed: int, _: int) -> Observations:
        rng = np.random.default_rng(seed)
        shape = (PROMPTS, size, languages)
        own = FLOOR + MARGIN + 0.02 * rng.normal(size=(1, size, 1)) + 0.01 * rng.normal(size=shape)
        place = MANY.index(code)
        own[..., place] -= worse * MARGIN
        own[:, rng.permutation(size)[told:], place] = np.nan
        return observed(own, FLOOR + 0.01 * rng.normal(size=shape))

    return make


SYSTEMS = {
    entry.name: entry
    for entry in (
        System("ideal", "none", blind(noise(0.01), prompt=0.01), "every landmark known alike, little noise"),
        System("noisy", "none", blind(noise(0.05)), "descriptions differ, blind to language"),
        System("few far off", "none", blind(heavy), "most descriptions alike, a few far too low"),
        System("ragged", "none", blind(noise(0.05), kept=0.7), "replies refused at random"),
        System("regions apart", "none", blind(known_abroad), "some regions better known, in all languages"),
        System("5 at the tolerance", "none", at_tolerance(5), "four of 5 languages shifted by the tolerance"),
        System(
            "15 at the tolerance", "none", at_tolerance(15), "14 of 15 languages shifted by the tolerance"
        ),
        System(
            "36 at the tolerance", "none", at_tolerance(36), "34 of 36 languages shifted by the tolerance"
        ),
        System(
            "15 at twice", "planted", at_tolerance(15, times=2.0), "14 of 15 shifted by twice the tolerance"
        ),
        System("weaker language", "planted", planted(weaker), "one language of five describes worse"),
        System("weaker, ragged", "planted", planted(weaker, kept=0.7), "the same, replies refused at random"),
        System("local advantage", "planted", planted(local_better), "better in the region's language"),
        System("unrelated", "useless", unrelated(0.0), "descriptions have nothing to do with landmarks"),
        System("unrelated, apart", "useless", unrelated(0.1), "the same, languages at different levels"),
        System("constant", "useless", constant, "one description for all landmarks"),
        System("refusing", "useless", refusing, "three of four requests in one language refused"),
        System(
            "refusing two of five",
            "tiny",
            partial(refusing, share=0.4),
            "requests in one language; the others are described alike",
        ),
        System(
            "refusing the hardest fifth",
            "tiny",
            refusing_hard,
            "of the landmarks, in one language; the others are described alike",
        ),
        System("ideal, 12 landmarks", "tiny", few(12, noise(0.01)), "too few landmarks"),
        System("weaker, 12 landmarks", "tiny", few(12, weaker(4 * TOLERANCE)), "too few landmarks"),
        System(
            "29 of 58 in Arabic",
            "tiny",
            described_for_few(58, 29),
            "one language four times worse, described for too few landmarks",
        ),
        System(
            "25 of 50 in Japanese",
            "tiny",
            described_for_few(50, 25, "ja", languages=9, worse=0.5),
            "one of nine languages, half as good",
        ),
        System(
            "ideal, 28 of 56 in Arabic",
            "tiny",
            described_for_few(56, 28, worse=0.0),
            "alike, one language described for too few landmarks",
        ),
        System("ideal, 2 landmarks", "tiny", few(2, noise(0.01)), "two landmarks"),
    )
}
