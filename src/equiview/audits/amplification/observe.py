"""Ask, score each reply against what people said, find what it names, and guess from it who is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.amplification.ask import Asked, asked_of
from equiview.audits.amplification.captions import known_words, masked
from equiview.audits.amplification.cider import cider
from equiview.audits.amplification.leakage import LEAKAGE, leakage
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.amplification.vqa import PEOPLE_NEEDED, plain_answer, vqa_accuracy
from equiview.benchmarks import Benchmark
from equiview.data.observations import Observations
from equiview.data.requests import Plan
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.subjects import Answerer
from equiview.text.things import coco_things, read_things

Floats = NDArray[np.float64]
SCORES = {"questions": "accuracy", "captions": "CIDEr"}
SCHEMAS = schemas(
    replies=(
        Column("query_id", pl.String, "the question or the image that was asked about", unique=True),
        Column("image_id", pl.String, "the image"),
        Column("task", pl.String, "questions or captions"),
        Column("question", pl.String, "the question; empty for captions"),
        Column("reply", pl.String, "what the subject said; null where it is missing", nullable=True),
        Column("human", pl.String, "the most common human answer, or the first human caption"),
        Column("score", pl.Float64, "VQA accuracy or CIDEr of the reply", nullable=True),
        Column("blind_score", pl.Float64, "that of another image's reply to such a question", nullable=True),
    ),
    people=(
        Column("image_id", pl.String, "the image"),
        Column("attribute", pl.String, "gender, skin, ..."),
        Column("group", pl.String, "its value of the attribute"),
    ),
    tasks=(
        Column("query_id", pl.String, "the question or the image"),
        Column("task", pl.String, "an answer, or a noun"),
        Column("replied", pl.Float64, "1 if the reply is or has it, else 0"),
        Column("true", pl.Float64, "share of people who said so; for questions 1 if most did"),
    ),
    leakage=LEAKAGE.columns,
    left_out=(
        Column("what", pl.String, "what does not count"),
        Column("n", pl.Int64, "how many"),
    ),
)


def plan(subject: Answerer, benchmark: Benchmark, settings: AmplificationSettings) -> list[Plan]:
    """How much would be asked of the subject: one request for each question, or image to caption."""
    asked = asked_of(benchmark, settings)
    questions = asked.task == "questions"
    purpose = "answers to questions" if questions else "captions"
    return [Plan.of(subject.name, purpose, asked.requests, 5 if questions else 20)]


def observe(
    subject: Answerer, benchmark: Benchmark, settings: AmplificationSettings, progress: Progress
) -> Observations:
    """What the subject says about images that show people of known groups.

    Raises InputError for what `asked_of` refuses, for replies that are missing unless they are to be counted,
    and for nouns of the user's own in another language than the captions.
    """
    asked = asked_of(benchmark, settings)
    few = sum(len(answers) <= PEOPLE_NEEDED for answers in asked.humans.values())
    if asked.task == "questions" and few:
        notice(
            f"{few:,} of {len(asked.humans):,} questions have at most {PEOPLE_NEEDED} human answers: on them "
            "no reply can be wholly right, and where one person answered none scores above 0"
        )
    texts = _replies(subject, asked, benchmark, settings, progress)
    there = [row for row, text in enumerate(texts) if text is not None]
    if len(there) < 2:
        raise InputError(
            f"{subject.name}: {len(there)} of {len(texts)} requests have a reply; nothing to audit"
        )
    said = [texts[row] or "" for row in there]
    ids = [asked.requests[row].id for row in there]
    humans = [asked.humans[name] for name in ids]
    scores = _scores(asked, ids, said, humans, settings)
    left_out = dict(asked.left_out) | {"requests without a reply": len(texts) - len(there)}
    people = asked.people.filter(pl.col("image_id").is_in(asked.image_ids))
    if asked.task == "questions":
        tasks = _answers(asked, ids, said, settings.top)
        guesses = LEAKAGE.table()
    else:
        tasks = _nouns(ids, said, humans, settings)
        guesses, unmasked = _leakage(people, ids, said, humans, _contents(ids, tasks), settings, progress)
        left_out |= unmasked | (
            {} if len(tasks) else {"captions of whose language no nouns are known": len(said)}
        )
    return Observations(
        {
            "replies": _reply_table(asked, texts, there, scores),
            "people": people,
            "tasks": tasks,
            "leakage": guesses,
            "left_out": pl.DataFrame({"what": list(left_out), "n": list(left_out.values())}),
        }
    )


def _reply_table(
    asked: Asked, texts: Sequence[str | None], there: Sequence[int], scores: tuple[Floats, Floats]
) -> pl.DataFrame:
    """A row for each request; `scores`, and the blind ones, are of the requests that are `there`."""
    filled = {name: np.full(len(texts), np.nan) for name in ("score", "blind_score")}
    for column, numbers in zip(filled.values(), scores, strict=True):
        column[list(there)] = numbers
    return pl.DataFrame(
        {
            "query_id": [request.id for request in asked.requests],
            "image_id": asked.image_ids,
            "task": asked.task,
            "question": [request.question for request in asked.requests],
            "reply": pl.Series(texts, dtype=pl.String),
            "human": [_typical(asked.humans[request.id]) for request in asked.requests],
            **{name: pl.Series(values).fill_nan(None) for name, values in filled.items()},
        }
    )


def _replies(
    subject: Answerer,
    asked: Asked,
    benchmark: Benchmark,
    settings: AmplificationSettings,
    progress: Progress,
) -> list[str | None]:
    """What is replied to each request, None where a reply is missing and that is to be counted."""
    requests, images = asked.requests, benchmark.images
    if not settings.count_missing:
        return [reply.text for reply in subject.ask(requests, images, progress)]
    texts: list[str | None] = [None] * len(requests)
    try:
        for place, reply in subject.checked(requests, images, progress):
            texts[place] = reply.text
    except InputError:
        if texts.count(None) == len(texts):
            raise
    return texts


def _scores(
    asked: Asked,
    ids: Sequence[str],
    said: Sequence[str],
    humans: Sequence[Sequence[str]],
    settings: AmplificationSettings,
) -> tuple[Floats, Floats]:
    """How good each reply is, and how good another image's reply would be, to a question of its type."""
    others = other_replies([asked.kinds.get(name, "") for name in ids], settings.seed_of("blind"))
    blind = [said[row] for row in others]
    if asked.task == "captions":
        scored = (_cider(asked, ids, texts, humans, settings) for texts in (said, blind))
        return next(scored), next(scored)
    scores, at_random = (
        np.array([vqa_accuracy(reply, people) for reply, people in zip(replies, humans, strict=True)])
        for replies in (said, blind)
    )
    return scores, at_random


def _cider(
    asked: Asked,
    ids: Sequence[str],
    texts: Sequence[str],
    humans: Sequence[Sequence[str]],
    settings: AmplificationSettings,
) -> Floats:
    """CIDEr over all images, or within each group of `cider_within`; those of one image over all."""
    people = asked.people.filter(attribute=settings.cider_within)
    if settings.cider_within and not len(people):
        raise InputError(
            f"amplification.cider_within: no image has {settings.cider_within!r}; name an attribute of people"
        )
    group_of: dict[str, str] = dict(people.select("image_id", "group").iter_rows())
    counts = Counter(group_of.get(name, "") for name in ids)
    groups = np.array([name if counts[name] > 1 else "" for name in (group_of.get(row, "") for row in ids)])
    scores = cider(texts, humans, settings.language)
    for group in sorted(set(groups) - {""}):
        rows = np.flatnonzero(groups == group).tolist()
        scores[rows] = cider([texts[row] for row in rows], [humans[row] for row in rows], settings.language)
    return scores


def other_replies(kinds: Sequence[str], seed: int) -> NDArray[np.int64]:
    """For each row another of its kind, in one long cycle; itself where a kind has one row.

    >>> other_replies(["how", "how", "what"], 0).tolist()
    [1, 0, 2]
    """
    order = np.random.default_rng(seed).permutation(len(kinds))
    others = np.arange(len(kinds))
    rows_of: dict[str, list[int]] = {}
    for row in order:
        rows_of.setdefault(kinds[row], []).append(int(row))
    for rows in rows_of.values():
        others[rows] = np.roll(rows, 1)
    return others


def _typical(humans: Sequence[str]) -> str:
    """The most common of some answers, the first of captions, which differ."""
    return Counter(humans).most_common(1)[0][0]


def _answers(asked: Asked, ids: Sequence[str], said: Sequence[str], top: int) -> pl.DataFrame:
    """The tasks of questions: the `top` most frequent answers, of which each question has one.

    Questions about numbers and those answered by yes or no do not count, nor does a question whose answer is
    rarer. A reply that is none of these answers has no task.
    """
    true = {name: plain_answer(asked.frequent[name]) for name in ids if name in asked.frequent}
    counts = Counter(true.values())
    kept = {answer for answer, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:top]}
    rows = [
        (name, task, float(task == plain_answer(reply)), float(task == true[name]))
        for name, reply in zip(ids, said, strict=True)
        if true.get(name) in kept
        for task in dict.fromkeys((true[name], plain_answer(reply)))
        if task in kept
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["tasks"].dtypes, orient="row")


def _nouns(
    ids: Sequence[str], said: Sequence[str], humans: Sequence[Sequence[str]], settings: AmplificationSettings
) -> pl.DataFrame:
    """The tasks of captions: the nouns that a caption names, beside the share of human captions that do."""
    things = read_things(Path(settings.nouns).expanduser()) if settings.nouns else coco_things()
    people = frozenset() if settings.nouns else frozenset({"person"})  # who is shown is not what is named
    if things.language != settings.language and not settings.nouns:
        return SCHEMAS["tasks"].table()  # it is said that no nouns are known
    if things.language != settings.language:
        raise InputError(
            f"the nouns are in {things.language!r} and the captions in {settings.language!r}; set "
            "amplification.nouns to a file of that language"
        )
    rows = []
    for name, reply, captions in zip(ids, said, humans, strict=True):
        replied = things.named(reply) - people
        named = Counter(noun for text in captions for noun in things.named(text) - people)
        for noun in sorted({*replied, *named}):
            rows.append((name, noun, float(noun in replied), named[noun] / len(captions)))
    return pl.DataFrame(rows, schema=SCHEMAS["tasks"].dtypes, orient="row")


def _contents(ids: Sequence[str], tasks: pl.DataFrame) -> list[str]:
    """What most people name on each image, empty where nobody names anything."""
    named = tasks.filter(pl.col("true") > 0).sort(pl.col("true"), "task", descending=[True, False])
    first = dict(
        named.unique("query_id", keep="first", maintain_order=True).select("query_id", "task").iter_rows()
    )
    return [first.get(name, "") for name in ids]


def _leakage(
    people: pl.DataFrame,
    ids: Sequence[str],
    said: Sequence[str],
    humans: Sequence[Sequence[str]],
    contents: Sequence[str],
    settings: AmplificationSettings,
    progress: Progress,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """What a classifier guesses of each attribute, and which attributes have no words to mask."""
    parts, unmasked = [pl.DataFrame(schema=LEAKAGE.dtypes)], {}
    row_of = {name: row for row, name in enumerate(ids)}
    for (attribute,), shown in people.group_by("attribute", maintain_order=True):
        known = known_words(str(attribute), settings.language, settings.words)
        hidden = frozenset().union(*known.values())
        if not hidden:
            unmasked[f"attributes without words to mask: {attribute}"] = 1
        table = shown.filter(pl.col("image_id").is_in(ids))
        table = table.filter(pl.len().over("group") >= settings.least)
        if table["group"].n_unique() < 2:
            continue
        rows = [row_of[name] for name in table["image_id"]]
        parts.append(
            leakage(
                [ids[row] for row in rows],
                [masked(said[row], hidden, settings.language) for row in rows],
                [[masked(text, hidden, settings.language) for text in humans[row]] for row in rows],
                table["group"].to_list(),
                [contents[row] for row in rows],
                settings,
                str(attribute),
                progress,
            )
        )
    return pl.concat(parts), unmasked
