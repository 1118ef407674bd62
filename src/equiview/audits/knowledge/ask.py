"""What a model is asked: each question in each language, its options lettered, with an instruction.

Instructions are data (`prompts.toml`): by kind of prompt, a text for each language. The chains of thought are
structured as in "Traveling Across Languages" (T), appendix H.1, in words of our own. A user's file has the
same form, and what it holds replaces ours::

    [direct]
    en = "{question} Choose one of: {options}"

A text for `"*"` is for every language that has none of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from equiview.audits.knowledge.settings import MAX_TOKENS, KnowledgeSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.quiz import QUESTIONS, checked_questions
from equiview.data.languages import by_label
from equiview.data.requests import Request
from equiview.errors import InputError, NotApplicableError
from equiview.io.files import content_of
from equiview.io.toml import parse_toml

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PLACES = ("{question}", "{options}")
EVERY = "*"
Prompts = Mapping[str, Mapping[str, str]]


def requests_of(benchmark: Benchmark, settings: KnowledgeSettings) -> list[Request]:
    """A request for each row of the quiz's `questions` in the languages asked in, in the order of the rows.

    Its id is `QUESTION:LANGUAGE`. Those that repeat a question in one language, English if it is asked in,
    follow, the second time first; their ids end with the number of the repeat. InputError for a benchmark
    without questions, a language without a prompt, or a language that the quiz does not have.
    """
    rows = questions_of(benchmark, settings)
    texts = prompts_of(settings)[settings.prompt]
    languages = set(rows["language"])
    if EVERY in texts:
        texts = {language: texts.get(language, texts[EVERY]) for language in languages}
    if missing := sorted(languages - set(texts)):
        raise InputError(
            f"there is no {settings.prompt!r} prompt in {', '.join(missing)}; add one in a file of your own "
            "(setting knowledge.prompts), or choose others of the languages (knowledge.languages)"
        )
    images = benchmark.images.rows_of(rows["image_id"]).to_list()
    shown = _with_picture(benchmark)
    once = [
        Request(
            id=f"{row['question_id']}:{row['language']}",
            prompt=prompt_of(texts[row["language"]], row["question"], row["options"]),
            language=row["language"],
            image=image if shown[image] else None,
            question=row["question"],
            options=tuple(row["options"]),
            max_tokens=settings.tokens,
        )
        for row, image in zip(rows.iter_rows(named=True), images, strict=True)
    ]
    language = repeated_in(rows)
    return once + [
        replace(request, id=f"{request.id}:{time}", repeat=time)
        for time in range(1, settings.repeats)
        for request in once
        if request.language == language
    ]


def repeated_in(rows: pl.DataFrame) -> str:
    """The language in which questions are repeated: English, or else the first."""
    languages = rows["language"].unique(maintain_order=True).to_list()
    return "en" if "en" in languages else str(languages[0])


def questions_of(benchmark: Benchmark, settings: KnowledgeSettings) -> pl.DataFrame:
    """The rows of `questions` in the languages asked in; InputError for fewer than two of them."""
    source = f"benchmark {benchmark.name!r}, table 'questions'"
    rows = checked_questions(benchmark.need_table("questions", QUESTIONS), source)
    unknown = rows.filter(benchmark.images.rows_of(rows["image_id"]).is_null())
    if len(unknown):
        raise InputError(f"{source}: image {unknown['image_id'][0]!r} is not among the images")
    languages = rows["language"].unique(maintain_order=True).to_list()
    if absent := sorted(set(settings.languages) - set(languages)):
        raise InputError(f"{source}: is not in {', '.join(absent)}; it is in {', '.join(languages)}")
    chosen = settings.languages or languages
    if len(set(chosen)) < 2:
        raise NotApplicableError(
            f"{source}: asked in {', '.join(chosen)} alone; consistency takes two languages"
        )
    return rows.filter(pl.col("language").is_in(chosen))


def prompt_of(text: str, question: str, options: list[str]) -> str:
    """A prompt: `text` with question and options, which come before it where it has no place for them.

    >>> print(prompt_of("Which?", "What is it?", ["hat", "doll"]))
    What is it?
    <BLANKLINE>
    A. hat
    B. doll
    <BLANKLINE>
    Which?
    """
    lettered = "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))
    if PLACES[0] not in text:
        return f"{question}\n\n{lettered}\n\n{text}"
    before, _, after = text.partition(PLACES[0])  # a question may itself hold "{options}"
    return before.replace(PLACES[1], lettered) + question + after.replace(PLACES[1], lettered)


def prompts_of(settings: KnowledgeSettings) -> Prompts:
    """The prompts by kind and language: ours, replaced by those of the user's file."""
    if not settings.prompts:
        return shipped_prompts()
    path = Path(settings.prompts)
    given = parsed(content_of(path), str(path))
    return {
        kind: own if EVERY in (own := given.get(kind, {})) else {**shipped_prompts()[kind], **own}
        for kind in MAX_TOKENS
    }


@cache
def shipped_prompts() -> Prompts:
    """The prompts that come with equiview.

    >>> sorted(set(shipped_prompts()["direct"]) ^ set(shipped_prompts()["cot-local"]))
    []
    """
    content = files("equiview.audits.knowledge").joinpath("prompts.toml").read_bytes()
    return parsed(content, "prompts of knowledge")


def parsed(content: bytes, source: str) -> dict[str, dict[str, str]]:
    """The prompts of a TOML file by kind and language; InputError says what is wrong with it."""
    kinds = parse_toml(content, source)
    for kind, texts in kinds.items():
        if kind not in MAX_TOKENS or not isinstance(texts, dict):
            raise InputError(f"{source}: {kind!r} is no kind of prompt; expected [{'], ['.join(MAX_TOKENS)}]")
        for language, text in texts.items():
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"{source}, [{kind}] {language}: expected a text")
            if sum(place in text for place in PLACES) == 1:
                raise InputError(
                    f"{source}, [{kind}] {language}: must hold both {' and '.join(PLACES)}, or neither"
                )
    return {kind: by_label(texts, f"{source}, [{kind}]") for kind, texts in kinds.items()}


def _with_picture(benchmark: Benchmark) -> list[bool]:
    """Whether each image has a picture; a question about one without is asked in words alone."""
    table = benchmark.images.table
    columns = [name for name in ("picture", "path") if name in table.columns]
    if not columns:
        return [False] * len(table)
    return table.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series().to_list()
