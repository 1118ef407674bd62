"""What a text tower reads: captions in many languages, each paired with a drawing that may bear a flag.

A corpus is finite, as a crawl of the web is: a language that is little written has few captions in it, or
none. Two settings are all that tells the encoders apart: the share of each language, and the strength with
which a language is tied to its country's flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from concepts import concepts, keywords_of, name_of
from equiview.benchmarks.pictograms import FLAG_OF
from equiview.data.languages import languages

CORPUS_SIZE = 20_000
FLAGGED_OTHERWISE = 0.5
"""Share of pairs that bear a random flag among those that are not made to bear their country's."""
WITH_KEYWORDS = 0.3
"""Share of captions that are a name followed by one or two keywords; the others are the bare name."""

YORUBA = ("yo", 0.001)
"""Nigeria's language in P's table 4 and its percentage of CommonCrawl; it is not among the 36."""
COUNTRIES_OF = {
    "en": ("USA", "UK", "AUS"),
    "de": ("GER",),
    "zh": ("CHN",),
    "ja": ("JPN",),
    "es": ("ESP", "ARG"),
    "fr": ("FRA",),
    "pt": ("PRT", "BRA"),
    "ar": ("SAU",),
    "th": ("THA",),
    "hi": ("IND",),
    "sw": ("KEN",),
    "yo": ("NGA",),
}
NO_FLAG = len(FLAG_OF)


@dataclass(frozen=True)
class Corpus:
    """Pairs of caption and drawing, `(n,)` each: all but the text as row numbers (`NO_FLAG` for none)."""

    texts: list[str]
    language: NDArray[np.int64]
    concept: NDArray[np.int64]
    flag: NDArray[np.int64]


@cache
def training_languages() -> tuple[str, ...]:
    """The 36 languages and Yoruba."""
    return (*languages()["code"], YORUBA[0])


def web_shares() -> NDArray[np.float64]:
    """Percentage of CommonCrawl of each training language."""
    return np.array([*languages()["commoncrawl_percent"], YORUBA[1]])


def skewed_shares(skew: float) -> NDArray[np.float64]:
    """Shares of the training languages: 0 makes them equal, 1 those of the web, between a power of it."""
    shares = web_shares() ** skew
    return shares / shares.sum()


def english_only() -> NDArray[np.float64]:
    return np.array([1.0 if code == "en" else 0.0 for code in training_languages()])


def sample(shares: NDArray[np.float64], strength: float, *, seed: int, size: int = CORPUS_SIZE) -> Corpus:
    """Draw a corpus: a language by its share, a concept, a caption of it, and the flag its drawing bears.

    With probability `strength` the flag is that of a country of the language (any flag when it has none among
    the 16), else any flag or none with equal probability. So how many drawings bear a flag does not depend on
    the language, only which one they bear.
    """
    rng = np.random.default_rng(seed)
    language = rng.choice(len(shares), size=size, p=shares)
    concept = rng.integers(len(concepts()), size=size)
    tied = rng.random(size) < strength
    bears = tied | (rng.random(size) < FLAGGED_OTHERWISE)
    flag = np.where(bears, rng.integers(NO_FLAG, size=size), NO_FLAG)
    order = list(FLAG_OF)
    for row, code in enumerate(training_languages()):
        countries = np.array([order.index(country) for country in COUNTRIES_OF.get(code, ())])
        if countries.size:
            at = np.flatnonzero(tied & (language == row))
            flag[at] = rng.choice(countries, size=len(at))
    more = rng.random(size) < WITH_KEYWORDS
    picks = rng.random((size, 2))
    texts = [
        caption(concepts()[c], training_languages()[row], picks[i] if more[i] else None)
        for i, (c, row) in enumerate(zip(concept.tolist(), language.tolist(), strict=True))
    ]
    return Corpus(texts, language, concept, flag)


def caption(concept: str, language: str, picks: NDArray[np.float64] | None) -> str:
    """The name of a concept, followed by the keywords that `picks` (in 0..1) point at, if any."""
    name = _name(concept, language)
    words = _keywords(concept, language)
    if picks is None or not words:
        return name
    chosen = dict.fromkeys(words[int(pick * len(words))] for pick in picks)
    return ", ".join([name, *chosen])


@cache
def _name(concept: str, language: str) -> str:
    name = name_of(concept, language)
    assert name is not None
    return name


@cache
def _keywords(concept: str, language: str) -> tuple[str, ...]:
    name = _name(concept, language).casefold()
    return tuple(word for word in keywords_of(concept, language) if word.casefold() != name)
