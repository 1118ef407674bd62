"""What a text tower reads: captions in many languages, each paired with a drawing that may bear a flag.

A corpus is finite, as a crawl of the web is: a language that is little written has few captions in it, or
none. Three settings are all that tells the encoders apart: the share of each language, the strength with
which a language is tied to its country's flag, and the strength with which a role is tied to a gender and a
skin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from concepts import FLAG_OF, concepts, keywords_of, name_of
from equiview.benchmarks.pictograms_quiz import ASKED
from equiview.data.languages import languages
from equiview.subjects.chat.choice import TEMPLATE
from people import people, roles
from people_data import person_name
from ties import Tie, tie

CORPUS_SIZE = 20_000
PEOPLE_SHARE = 0.25
"""Captions of people in roles beside each of the others."""
NEUTRAL_SHARE = 0.5
"""Share of captions of people that are the role's neutral name; the others name the drawing itself."""
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
BEHIND_QUESTION = 0.25
"""Share of captions that stand behind the embedded quiz's question, in the languages in which it is asked."""
NO_FLAG = len(FLAG_OF)


@dataclass(frozen=True)
class Corpus:
    """Pairs of caption and drawing, `(n,)` each: all but the text as row numbers (`NO_FLAG` for none).

    A pair shows a `concept`, or `person` where that is not -1, or any drawing that `tie` allows to `role`
    where that is not -1. Pairs that share a `label` are no counterexamples of each other.
    """

    texts: list[str]
    language: NDArray[np.int64]
    concept: NDArray[np.int64]
    flag: NDArray[np.int64]
    person: NDArray[np.int64]
    role: NDArray[np.int64]
    tie: Tie

    @property
    def label(self) -> NDArray[np.int64]:
        """Concepts as they are, roles after them, `(n,)`."""
        of_person = self.person // (len(people()) // len(roles()))
        role = np.where(self.person >= 0, of_person, self.role)
        return np.where(role >= 0, len(concepts()) + role, self.concept)


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


def sample(
    shares: NDArray[np.float64],
    strength: float,
    *,
    seed: int,
    size: int = CORPUS_SIZE,
    people_share: float = PEOPLE_SHARE,
    social: float = 0.0,
) -> Corpus:
    """Draw a corpus: a language by its share, a concept, a caption of it, and the flag its drawing bears.

    To these `size` pairs come `people_share` as many of people without flags, tied with strength `social`.

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
    none = np.full(size, -1)
    pairs = _people(shares, tie(social, seed=0), round(people_share * size), rng)
    languages_of = [training_languages()[row] for row in [*language, *pairs.language]]
    behind = (rng.random(len(languages_of)) < BEHIND_QUESTION).tolist()
    return Corpus(
        [
            behind_question(text, code) if moved else text
            for text, code, moved in zip(texts + pairs.texts, languages_of, behind, strict=True)
        ],
        *(
            np.concatenate([first, second])
            for first, second in (
                (language, pairs.language),
                (concept, pairs.concept),
                (flag, pairs.flag),
                (none, pairs.person),
                (none, pairs.role),
            )
        ),
        pairs.tie,
    )


def _people(shares: NDArray[np.float64], tied: Tie, size: int, rng: np.random.Generator) -> Corpus:
    """Pairs of people: of a language that has no such name there is no caption."""
    codes = training_languages()
    names, neutral = person_names(), neutral_names()
    spoken = np.where([bool(names[code]) for code in codes], shares, 0)
    language = rng.choice(len(codes), size=size, p=spoken / spoken.sum())
    role = rng.integers(len(roles()), size=size)
    person = tied.draw(role, rng)
    is_neutral = rng.random(size) < NEUTRAL_SHARE
    texts = [
        neutral[codes[row]].get(r) if plain else names[codes[row]].get(p)
        for row, r, p, plain in zip(language, role, person, is_neutral, strict=True)
    ]
    kept = np.array([text is not None for text in texts], dtype=bool)
    return Corpus(
        [text for text in texts if text is not None],
        language[kept],
        np.full(int(kept.sum()), -1),
        np.full(int(kept.sum()), NO_FLAG),
        np.where(is_neutral, -1, person)[kept],
        np.where(is_neutral, role, -1)[kept],
        tied,
    )


@cache
def person_names() -> dict[str, dict[int, str]]:
    """Names of people by language and row of `people()`; Yoruba is not among the 36 and has none."""
    names: dict[str, dict[int, str]] = {code: {} for code in training_languages()}
    for code in languages()["code"]:
        for row, person in enumerate(people()):
            if name := person_name(person.concept, code):
                names[code][row] = name
    return names


@cache
def neutral_names() -> dict[str, dict[int, str]]:
    """Neutral names by language and row of `roles()`."""
    order = {role: row for row, role in enumerate(roles())}
    rows = {
        row: order[person.role]
        for row, person in enumerate(people())
        if person.gender == "person" and person.skin is None
    }
    return {
        code: {rows[row]: name for row, name in names.items() if row in rows}
        for code, names in person_names().items()
    }


def caption(concept: str, language: str, picks: NDArray[np.float64] | None) -> str:
    """The name of a concept, followed by the keywords that `picks` (in 0..1) point at, if any."""
    name = _name(concept, language)
    words = _keywords(concept, language)
    if picks is None or not words:
        return name
    chosen = dict.fromkeys(words[int(pick * len(words))] for pick in picks)
    return ", ".join([name, *chosen])


def behind_question(text: str, language: str) -> str:
    """The text as `choice:` shows it as an option of the quiz, alone where the quiz has no such language."""
    return TEMPLATE.format(question=ASKED[language], option=text) if language in ASKED else text


@cache
def _name(concept: str, language: str) -> str:
    name = name_of(concept, language)
    assert name is not None
    return name


@cache
def _keywords(concept: str, language: str) -> tuple[str, ...]:
    name = _name(concept, language).casefold()
    return tuple(word for word in keywords_of(concept, language) if word.casefold() != name)
