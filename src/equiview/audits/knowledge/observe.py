"""Ask each question in each language, and read what is answered."""

from __future__ import annotations

import polars as pl

from equiview.audits.knowledge.answers import REPEAT, SAMPLED
from equiview.audits.knowledge.ask import questions_of, repeated_in, requests_of
from equiview.audits.knowledge.examples import known_in_one, unread
from equiview.audits.knowledge.reading import read_answers
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.benchmarks import Benchmark
from equiview.data.observations import Observations
from equiview.data.requests import Plan
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.subjects import Answerer

REPLY_TOKENS = {"direct": 8, "paper": 8, "cot-local": 400, "cot-english": 400}
"""Tokens that a reply usually takes, by kind of prompt."""
SCHEMAS = schemas(
    answers=(
        Column("question_id", pl.String, "the question"),
        Column("image_id", pl.String, "the image that it is about"),
        Column("language", pl.String, "the language it was asked in"),
        Column("region", pl.String, "language local to what is shown; null: none", nullable=True),
        Column("question", pl.String, "its words"),
        Column("options", pl.List(pl.String), "what could be answered"),
        Column("truth", pl.Int32, "place of the right option, from 0"),
        Column("text", pl.String, "the reply"),
        Column("chosen", pl.Int32, "place of the option that it chooses; null: unread", nullable=True),
        Column("rule", pl.String, "the rule that read it"),
        Column("stopped", pl.String, "why the reply ended: stop, length or refused"),
        Column("tokens", pl.Int64, "tokens of the reply, where they are known", nullable=True),
    ),
    pictures=(
        Column("image_id", pl.String, "an image of the examples", unique=True),
        Column("picture", pl.Binary, "a small picture of it", nullable=True),
    ),
)


def observe(
    subject: Answerer, benchmark: Benchmark, settings: KnowledgeSettings, progress: Progress
) -> Observations:
    """One row for each question and language, those of repeats after them, and pictures of the examples.

    Two further columns of `answers`: `repeat`, from 0, and `sampled`, null where that is not known.
    """
    once, requests = questions_of(benchmark, settings), requests_of(benchmark, settings)
    replies = subject.ask(requests, benchmark.images, progress)
    again = once.filter(language=repeated_in(once))
    rows = pl.concat([once] + [again] * (settings.repeats - 1))
    chosen, rules = read_answers([reply.text for reply in replies], rows["options"].to_list())
    answers = rows.with_columns(
        text=pl.Series([reply.text for reply in replies], dtype=pl.String),
        chosen=pl.Series(chosen, dtype=pl.Int32),
        rule=pl.Series(rules, dtype=pl.String),
        stopped=pl.Series([reply.stopped for reply in replies], dtype=pl.String),
        tokens=pl.Series([reply.output_tokens for reply in replies], dtype=pl.Int64),
        repeat=pl.Series([request.repeat for request in requests], dtype=pl.Int32),
        sampled=pl.lit(subject.sampled, dtype=pl.Boolean),
    ).select(*SCHEMAS["answers"].dtypes, REPEAT, SAMPLED)
    first = answers.filter(pl.col(REPEAT) == 0)
    examples = pl.concat([known_in_one(first)["image_id"], unread(first)["image_id"]])
    image_ids = examples.unique(maintain_order=True)
    pictures = [benchmark.images.thumbnail(row) for row in benchmark.images.rows_of(image_ids)]
    return Observations(
        {
            "answers": answers,
            "pictures": pl.DataFrame(
                {"image_id": image_ids, "picture": pictures}, schema=SCHEMAS["pictures"].dtypes
            ),
        }
    )


def plan(subject: Answerer, benchmark: Benchmark, settings: KnowledgeSettings) -> list[Plan]:
    """What would be asked: one request for each question and language, and the repeats."""
    requests = requests_of(benchmark, settings)
    tokens = min(REPLY_TOKENS[settings.prompt], settings.tokens)
    return [Plan.of(subject.name, f"questions, {settings.prompt} prompt", requests, tokens)]
