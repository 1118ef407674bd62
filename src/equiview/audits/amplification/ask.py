"""What is asked: questions or captions of images that show people of known groups, and what people said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from equiview.audits.amplification.settings import AmplificationSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.vqav2 import ANSWERS, QUESTIONS
from equiview.data.requests import Request
from equiview.errors import NotApplicableError

PEOPLE = ("gender", "skin", "age", "race")
PROMPTS = {
    "questions": "{question}\nAnswer the question using a single word or phrase.",
    "captions": "Provide a one-sentence caption for the provided image.",
}
"""The prompts of LLaVA 1.5, by whose recipe S's models were trained; English for every language."""
REPLY_TOKENS = {"questions": 32, "captions": 96}


@dataclass(frozen=True)
class Asked:
    """What is asked about which image, what people said, and who is shown.

    `people` has `image_id`, `attribute` and `group`. `humans` are what people said, by request id.
    `frequent` is people's most common answer where the answer type is neither yes/no nor a number, and
    `kinds` the question type, both by request id and for questions alone. `left_out` counts what is not
    asked, by reason.
    """

    task: Literal["questions", "captions"]
    requests: list[Request]
    image_ids: list[str]
    humans: Mapping[str, list[str]]
    people: pl.DataFrame
    frequent: Mapping[str, str]
    kinds: Mapping[str, str]
    left_out: Mapping[str, int]


def asked_of(benchmark: Benchmark, settings: AmplificationSettings) -> Asked:
    """What the audit asks about a benchmark.

    Raises InputError where there are neither questions with answers nor captions, for an attribute that the
    images lack, and where fewer than two groups of any attribute have `settings.least` images.
    """
    task = settings.task or ("questions" if "questions" in benchmark.tables else "captions")
    ask = _questions if task == "questions" else _captions
    return ask(benchmark, settings, *_people(benchmark, settings))


def _people(benchmark: Benchmark, settings: AmplificationSettings) -> tuple[pl.DataFrame, dict[str, int]]:
    """Who is shown, by image and attribute, and how many images have no value or an excluded one."""
    images = benchmark.images
    names = settings.attributes or tuple(name for name in PEOPLE if name in images.table.columns)
    if not names:
        raise NotApplicableError(
            f"benchmark {benchmark.name!r}: its images have no attribute of people ({', '.join(PEOPLE)}); "
            "add one, as vqav2:DIR,people=DIR does"
        )
    parts, left_out = [], {}
    for name in names:
        values = images.attribute(name).cast(pl.String)
        known = images.labels(name, settings.excluded, "amplification.excluded")
        left_out[f"images without {name}"] = values.null_count()
        left_out[f"images whose {name} is excluded"] = known.null_count() - values.null_count()
        table = pl.DataFrame({"image_id": images.ids, "attribute": name, "group": known}).drop_nulls()
        if table["group"].n_unique() > 1:
            parts.append(table)
            continue
        left_out[f"attributes of one value or none: {name}"] = 1
        if settings.attributes or (name == names[-1] and not parts):
            have = ", ".join(table["group"].unique().sort()) or "none"
            raise NotApplicableError(
                f"benchmark {benchmark.name!r}: attribute {name!r} has one value or none ({have}); comparing "
                "people takes two groups"
            )
    return pl.concat(parts), left_out


def _questions(
    benchmark: Benchmark, settings: AmplificationSettings, people: pl.DataFrame, left_out: dict[str, int]
) -> Asked:
    questions = benchmark.need_table("questions", QUESTIONS).filter(language=settings.language)
    answers = (
        benchmark.need_table("answers", ANSWERS).group_by("question_id", maintain_order=True).agg("answer")
    )
    humans: dict[str, list[str]] = dict(answers.select("question_id", "answer").iter_rows())
    rows = questions.filter(pl.col("image_id").is_in(people["image_id"].implode()))
    answered = rows.filter(pl.col("question_id").is_in(list(humans)))
    left_out = left_out | {
        "questions about images of nobody known": len(questions) - len(rows),
        "questions without a human answer": len(rows) - len(answered),
    }
    if not len(answered):
        raise NotApplicableError(
            f"benchmark {benchmark.name!r}: no question in {settings.language!r} is about an image whose "
            "people are known and has a human answer"
        )
    places = dict(zip(benchmark.images.ids, range(len(benchmark.images)), strict=True))
    prompt = settings.prompt or PROMPTS["questions"]
    requests = [
        Request(
            id=row["question_id"],
            prompt=prompt.format(question=row["question"]),
            language=settings.language,
            image=places[row["image_id"]],
            question=row["question"],
            options=tuple(row.get("options") or ()),
            max_tokens=REPLY_TOKENS["questions"],
        )
        for row in answered.iter_rows(named=True)
    ]
    open_ended = answered.filter(~pl.col("answer_type").fill_null("other").is_in(["yes/no", "number"]))
    frequent = dict(open_ended.drop_nulls("answer").select("question_id", "answer").iter_rows())
    kinds = dict(answered.select("question_id", pl.col("question_type").fill_null("")).iter_rows())
    image_ids = answered["image_id"].to_list()
    return Asked("questions", requests, image_ids, humans, people, frequent, kinds, left_out)


def _captions(
    benchmark: Benchmark, settings: AmplificationSettings, people: pl.DataFrame, left_out: dict[str, int]
) -> Asked:
    texts, relevance = benchmark.need_texts(), benchmark.need_relevance()
    pairs = pl.DataFrame({"image": relevance.queries, "text": relevance.items})
    columns = texts.table.with_row_index("text_row").select("text_row", "text", "language")
    written = pl.DataFrame(
        {"image_id": benchmark.images.ids.gather(pairs["image"]), "text_row": pairs["text"].cast(pl.UInt32)}
    ).join(columns, on="text_row", how="left", maintain_order="left")
    known = pl.col("image_id").is_in(people["image_id"].implode())
    written = written.filter(known, language=settings.language)
    by_image = written.group_by("image_id", maintain_order=True).agg("text")
    humans: dict[str, list[str]] = dict(by_image.iter_rows())
    left_out = left_out | {
        "images of people without a human caption": people["image_id"].n_unique() - len(humans)
    }
    if not humans:
        raise NotApplicableError(
            f"benchmark {benchmark.name!r}: no image whose people are known has a caption in "
            f"{settings.language!r}"
        )
    prompt = (settings.prompt or PROMPTS["captions"]).format(question="")
    requests = [
        Request(
            id=image,
            prompt=prompt,
            language=settings.language,
            image=row,
            max_tokens=REPLY_TOKENS["captions"],
        )
        for row, image in enumerate(benchmark.images.ids)
        if image in humans
    ]
    image_ids = [request.id for request in requests]
    return Asked("captions", requests, image_ids, humans, people, {}, {}, left_out)
