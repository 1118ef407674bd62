"""`pictograms-quiz`: the embedded quiz, "what is this called?" in 15 languages.

Each of 330 drawings, under a country's flag, is asked about with four names from Unicode CLDR: its own and
those of look-alikes, concepts of its family first and then its neighbours in Unicode's order. The flag says
which language is local, 30 questions for each of 11 languages; four more are local to no question.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.pictograms import LICENCE, SOURCE, drawings, english_names, flagged, names
from equiview.benchmarks.quiz import QUESTIONS, checked_questions
from equiview.data.countries import countries
from equiview.data.items import Items

ASKED = {
    "en": "What is this called?",
    "de": "Wie heißt das?",
    "zh": "这个叫什么？",
    "ja": "これは何といいますか。",
    "es": "¿Cómo se llama esto?",
    "fr": "Comment s'appelle ceci ?",
    "pt": "Como se chama isto?",
    "ar": "ما اسم هذا؟",
    "th": "สิ่งนี้เรียกว่าอะไร",
    "hi": "इसे क्या कहते हैं?",
    "sw": "Hii inaitwaje?",
    "ru": "Как это называется?",
    "ko": "이것은 무엇이라고 합니까?",
    "bn": "এটিকে কী বলা হয়?",
    "te": "దీన్ని ఏమని పిలుస్తారు?",
}
"""The question in each language, written for this project; no native speaker has checked it."""
EACH = 30
"""Questions of each region."""
OPTIONS = 4
SEED = 0


def pictograms_quiz(argument: str = "") -> Benchmark:
    """The embedded quiz; it takes no argument. `tables["questions"]` holds the questions."""
    rng = np.random.default_rng(SEED)
    drawn = drawings()
    options = _options(drawn)
    one_of_family = drawn.with_row_index("row").unique("family", keep="first", maintain_order=True)["row"]
    usable = np.asarray([row for row in one_of_family if row in options])
    badges = _badges()
    chosen = rng.choice(usable, len(badges), replace=False)
    places = rng.permutation(np.arange(len(badges)) % OPTIONS)
    images = _images(drawn[chosen], badges)
    rows = [
        _question(image_id, region, options[row], place, rng)
        for image_id, region, row, place in zip(
            images["id"], badges["language"], chosen.tolist(), places.tolist(), strict=True
        )
    ]
    return Benchmark(
        name="pictograms-quiz",
        images=Items("image", images, "pictograms-quiz: images"),
        about="emoji drawings under flags of 15 countries, four names to choose from in 15 languages",
        source=SOURCE,
        licence=LICENCE,
        tables={"questions": checked_questions(_in_all_languages(rows, drawn), "pictograms-quiz")},
        schemas={"questions": QUESTIONS},
    )


def _options(drawn: pl.DataFrame) -> dict[int, list[int]]:
    """For each drawing, by row, itself and three look-alikes that no language calls the same.

    Family first, then the nearest of its group in Unicode's order; a drawing without three is left out.
    """
    named = names().filter(pl.col("language").is_in(list(ASKED)))
    wide = drawn.select("concept").join(
        named.pivot("language", index="concept", values="text"), on="concept", maintain_order="left"
    )
    called = wide.drop("concept").with_columns(pl.all().str.to_lowercase()).rows()
    families, groups = drawn["family"].to_list(), drawn["group"].to_list()
    options = {}
    for row in range(len(drawn)):
        others = sorted(
            (other for other in range(len(drawn)) if other != row and groups[other] == groups[row]),
            key=lambda other: (families[other] != families[row], abs(other - row), other),
        )
        kept = [row]
        for other in others:
            if not any(a == b for taken in kept for a, b in zip(called[taken], called[other], strict=True)):
                kept.append(other)
            if len(kept) == OPTIONS:
                options[row] = kept
                break
    return options


def _badges() -> pl.DataFrame:
    """The flag of each question: code and language, `EACH` of a language, its countries in turn."""
    known = countries().filter(pl.col("language").is_in(list(ASKED))).select("code", "language")
    parts = [
        pl.concat([part] * -(-EACH // len(part))).head(EACH)
        for _, part in known.group_by("language", maintain_order=True)
    ]
    return pl.concat(parts)


def _images(chosen: pl.DataFrame, badges: pl.DataFrame) -> pl.DataFrame:
    english = english_names()
    rows = []
    for drawing, code in zip(chosen.iter_rows(named=True), badges["code"], strict=True):
        name = english[drawing["concept"]]
        picture = flagged(drawing["picture"], code)
        rows.append((f"{name}:{code}", picture, name, drawing["group"]))
    return pl.DataFrame(rows, schema=["id", "picture", "concept", "group"], orient="row")


def _question(
    image_id: str, region: str, options: list[int], place: int, rng: np.random.Generator
) -> dict[str, object]:
    """A question with its options in an order that puts the truth at `place`."""
    others: NDArray[np.int64] = rng.permutation(options[1:])
    shown = others.tolist()
    shown.insert(place, options[0])
    return {"question_id": image_id, "image_id": image_id, "region": region, "shown": shown, "truth": place}


def _in_all_languages(rows: list[dict[str, object]], drawn: pl.DataFrame) -> pl.DataFrame:
    """A row for each question and language, the options by their names."""
    spoken = names().select("concept", "language", "text").iter_rows()
    name_of = {(concept, language): text for concept, language, text in spoken}
    concepts = drawn["concept"].to_list()
    asked = [
        {key: value for key, value in row.items() if key != "shown"}
        | {
            "language": language,
            "question": question,
            "options": [name_of[concepts[at], language] for at in row["shown"]],  # type: ignore[attr-defined]
        }
        for row in rows
        for language, question in ASKED.items()
    ]
    return pl.DataFrame(asked)
