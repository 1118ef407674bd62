"""Requests to the subject and the translators, and their estimated cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from equiview.audits.memory.prompts import load_prompts, prompts_of
from equiview.audits.memory.settings import AS_IT_IS, MemorySettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.landmarks import LANDMARKS, NAMES
from equiview.data.requests import Plan, Request, tokens_in
from equiview.errors import InputError, NotApplicableError
from equiview.subjects import Answerer

TRANSLATE = (
    "Translate the description below into English, sentence by sentence. Keep all that it says, add nothing, "
    "and do not improve it. If it is in English already, repeat it. Answer with a JSON object alone, of the "
    'form {{"translation": "..."}}.\n\nDescription:\n{text}'
)
DESCRIPTION = 220
"""Usual tokens of a description, for estimates."""


@dataclass(frozen=True)
class Asked:
    """One question to the subject: a landmark, a language and the number of a prompt."""

    landmark_id: str
    region: str
    language: str
    prompt: int
    request: Request


def questions_of(benchmark: Benchmark, settings: MemorySettings) -> list[Asked]:
    """Every landmark that has pictures, in every language in which it has a name, by every prompt.

    InputError for a benchmark without landmarks that have pictures, for a language in which none has a name,
    and for one that has no prompts.
    """
    regions = benchmark.need_table("landmarks", LANDMARKS)
    names = benchmark.need_table("names", NAMES)
    pictured = benchmark.images.attribute("landmark_id").unique()
    known = names["language"].unique(maintain_order=True).to_list()
    languages = settings.languages or tuple(known)
    if absent := [language for language in languages if language not in known]:
        raise InputError(
            f"benchmark {benchmark.name!r} names no landmark in {', '.join(absent)}; "
            f"it has: {', '.join(known)}"
        )
    prompts = load_prompts(settings.prompts) if settings.prompts else prompts_of(benchmark)
    name_of = {(row[0], row[1]): row[2] for row in names.select("landmark_id", "language", "name").rows()}
    rows = regions.filter(pl.col("landmark_id").is_in(pictured.to_list()))
    if not len(rows):
        raise NotApplicableError(f"benchmark {benchmark.name!r} names no landmark that has pictures")
    return [
        Asked(
            landmark,
            region,
            language,
            prompt,
            Request(
                id=f"{landmark}:{language}:{prompt}",
                prompt=prompts.asked(language, prompt, name_of[landmark, language]),
                language=language,
                question=name_of[landmark, language],
                max_tokens=settings.max_tokens,
            ),
        )
        for landmark, region in rows.select("landmark_id", "region").iter_rows()
        for language in languages
        if (landmark, language) in name_of
        for prompt in range(prompts.n_prompts)
    ]


def translations_asked(texts: Mapping[str, tuple[str, str]], settings: MemorySettings) -> list[Request]:
    """A request for each of `texts`, (its language, the text) by the id of the description."""
    return [
        Request(
            id=name,
            prompt=TRANSLATE.format(text=text),
            language=language,
            question=text,
            max_tokens=2 * settings.max_tokens,
        )
        for name, (language, text) in texts.items()
    ]


def plan(subject: Answerer, benchmark: Benchmark, settings: MemorySettings) -> list[Plan]:
    """Plans of the descriptions and of each translator's requests, for replies of usual length."""
    questions = questions_of(benchmark, settings)
    reply = min(DESCRIPTION, settings.max_tokens)
    requests = [question.request for question in questions]
    plans = [Plan.of(subject.name, "descriptions", requests, reply)]
    n_foreign = sum(question.language != "en" for question in questions)
    frame = tokens_in([TRANSLATE])
    for name in (settings.translator, settings.second_translator):
        if name not in ("", AS_IT_IS):
            tokens = (frame + reply) * n_foreign
            plans.append(Plan(name, "translations", n_foreign, 0, tokens, reply * n_foreign))
    return plans
