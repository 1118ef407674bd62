"""Tasks of Inspect AI, for its own command: `inspect eval equiview/knowrecall -T data=DIR --model ...`.

They ask the questions of the audit `knowledge`, read answers by the same rules, and report, as T does,
accuracy in English (EN), in the picture's local language (LOC) and in the others (GLO), and consistency.
`visrecall` asks the questions of the audit `memory` and reports the categories of replies; its scores need
translations and an encoder, which only the audit has. Their log is a subject: `inspect-log:FILE`. Inspect
finds this file by an entry point; nothing in equiview imports it.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from equiview.subjects.chat.local import register_provider
from equiview.subjects.chat.sending import SIDE
from equiview.subjects.chat.task import asker, samples

REPLICATES = 100
"""Bootstrap replicates; few, since Inspect shows no intervals."""
SETTINGS = ("EN", "LOC", "GLO")

register_provider()


@task
def knowrecall(data: str, side: int = SIDE, **kwargs: Any) -> Task:
    """KnowRecall from the folder `data`; other arguments are settings of the audit `knowledge`.

    `side` is the longer side of a picture, in pixels, above which it is made smaller.
    """
    return _quiz(f"knowrecall:{data}", side, kwargs)


@task
def pictograms_quiz(side: int = SIDE, **kwargs: Any) -> Task:
    """The embedded quiz of pictograms; arguments as of `knowrecall`, without `data`."""
    return _quiz("pictograms-quiz", side, kwargs)


@task
def visrecall(data: str, **kwargs: Any) -> Task:
    """VisRecall from the folder `data`; the other arguments are settings of the audit `memory`."""
    from equiview.audits.memory import MEMORY
    from equiview.audits.memory.asking import questions_of
    from equiview.benchmarks import load_benchmark

    benchmark = load_benchmark(f"visrecall:{data}")
    questions = questions_of(benchmark, MEMORY.configure(_given(kwargs)))
    about = [
        {"landmark_id": asked.landmark_id, "language": asked.language, "prompt": asked.prompt}
        for asked in questions
    ]
    requests = [asked.request for asked in questions]
    return Task(
        dataset=MemoryDataset(samples(requests, about), name=benchmark.name),
        solver=asker(requests, None),
        scorer=read_description(),
        config=GenerateConfig(temperature=0),
    )


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as given to Inspect, where one language is not a list."""
    languages = settings.get("languages")
    return settings | ({"languages": [languages]} if languages and isinstance(languages, str) else {})


def _quiz(name: str, side: int, settings_given: dict[str, Any]) -> Task:
    from equiview.audits.knowledge import KNOWLEDGE
    from equiview.audits.knowledge.ask import questions_of, requests_of
    from equiview.benchmarks import load_benchmark

    given = {"replicates": REPLICATES, **_given(settings_given)}
    settings = KNOWLEDGE.configure(given)
    benchmark = load_benchmark(name)
    requests = requests_of(benchmark, settings)
    rows = questions_of(benchmark, settings).to_dicts()
    targets = [row["options"][row["truth"]] for row in rows]
    return Task(
        dataset=MemoryDataset(samples(requests, rows, targets), name=benchmark.name),
        solver=asker(requests, benchmark.images, side=side),
        scorer=read_answer(given),
        config=GenerateConfig(temperature=0),
    )


@metric
def knowledge(given: dict[str, Any]) -> Metric:
    """Accuracy, EN, LOC, GLO and consistency, over the questions that were answered in every language."""
    from equiview.audits.knowledge import KNOWLEDGE, SCHEMAS, reading
    from equiview.data.observations import Observations

    settings = KNOWLEDGE.configure(given)

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [(of.sample_metadata | (of.score.metadata or {})) for of in scores if of.sample_metadata]
        answers = pl.DataFrame(rows, schema_overrides=SCHEMAS["answers"].dtypes, infer_schema_length=None)
        if not len(answers):
            return {}
        right = answers["chosen"].eq_missing(answers["truth"])
        unread = answers["rule"] == reading.RULES[-1]
        numbers = {"accuracy": int(right.sum()) / len(right), "unread": int(unread.sum()) / len(unread)}
        answers = answers.select(list(SCHEMAS["answers"].dtypes))
        asked = answers["language"].n_unique()
        whole = answers.filter(pl.len().over("question_id") == asked)
        if asked < 2 or not len(whole):  # nothing to compare, as with --limit
            return numbers
        estimates = KNOWLEDGE.measure(KNOWLEDGE.view(Observations({"answers": whole}), settings), settings)
        of_paper = {name: estimates.maybe("accuracy", setting=name) for name in SETTINGS}
        of_paper["consistency"] = estimates.maybe("consistency")
        return numbers | {name: entry.value for name, entry in of_paper.items() if entry is not None}

    return compute


def read_answer(given: dict[str, Any]) -> Scorer:
    """A scorer that reads answers as the audit `knowledge` does; `given` are its settings."""
    from equiview.audits.knowledge import reading
    from equiview.subjects.chat.task import reply_of

    @scorer(metrics=[knowledge(given)], name="read_answer")
    def reading_scorer() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            options = state.metadata["options"]
            reply = reply_of(state.output)
            chosen, rule = reading.read_answer(reply.text, options)
            return Score(
                value=CORRECT if chosen == state.metadata["truth"] else INCORRECT,
                answer=None if chosen is None else options[chosen],
                explanation=f"read by rule {rule!r}",
                metadata={
                    "text": reply.text,
                    "chosen": chosen,
                    "rule": rule,
                    "stopped": reply.stopped,
                    "tokens": reply.output_tokens,
                },
            )

        return score

    return reading_scorer()


@metric
def replies() -> Metric:
    """Language adherence, over the replies whose language can be told, and the share of each category."""
    from equiview.audits.memory.reading import CATEGORIES

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [score.score.metadata or {} for score in scores]
        if not rows:
            return {}
        known = [row["adheres"] for row in rows if row["adheres"] is not None]
        adherence = {"language adherence": sum(known) / len(known)} if known else {}
        return adherence | {
            category: sum(row["category"] == category for row in rows) / len(rows) for category in CATEGORIES
        }

    return compute


def read_description() -> Scorer:
    """A scorer that reads what kind of reply came as the audit `memory` does; a description is correct."""
    from equiview.audits.memory.reading import category_of
    from equiview.audits.memory.replies import adherence
    from equiview.subjects.chat.spoken import Detector
    from equiview.subjects.chat.task import reply_of

    detector = Detector()

    @scorer(metrics=[replies()], name="read_description")
    def describing_scorer() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            language = state.metadata["language"]
            reply = reply_of(state.output)
            detected = detector.detect(reply.text) if reply.text.strip() else None
            known = detector.knows(language)
            category = category_of(reply, language, detected, known)
            adheres = adherence(reply.text, language, detected, known)
            return Score(
                value=CORRECT if category == "described" else INCORRECT,
                answer=reply.text,
                explanation=category,
                metadata={"category": category, "detected": detected, "adheres": adheres},
            )

        return score

    return describing_scorer()
