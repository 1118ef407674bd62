"""Answers made by hand, and models that know some facts in some languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from equiview.audits.knowledge.observe import SCHEMAS
from equiview.benchmarks import Benchmark
from equiview.benchmarks.quiz import QUESTIONS
from equiview.data.items import Items
from equiview.data.observations import Observations
from equiview.data.requests import Reply, Request
from equiview.io.hashes import hash_bytes
from equiview.io.progress import Progress
from equiview.subjects import Answerer

OPTIONS = ["a hat", "a doll", "a bell", "a drum"]


def observed(
    correct: Sequence[Sequence[int]],
    languages: Sequence[str] = ("de", "en", "fr"),
    regions: Sequence[str | None] | None = None,
    images: Sequence[str] | None = None,
) -> Observations:
    """Answers that are right where `correct` has 1, unread where it has -1, and else any wrong option.

    The options are right in turn.
    """
    wrong = np.random.default_rng(len(correct)).integers(1, 4, size=(len(correct), len(languages)))

    def chosen(question: int, place: int, value: int) -> int | None:
        return None if value < 0 else int(question + (1 - value) * wrong[question, place]) % 4

    rows = [
        {
            "question_id": f"q{question}",
            "image_id": images[question] if images else f"i{question}",
            "language": language,
            "region": regions[question] if regions else None,
            "question": f"{language}?",
            "options": OPTIONS,
            "truth": question % 4,
            "text": "..." if (at := chosen(question, place, value)) is None else "ABCD"[at],
            "chosen": at,
            "rule": "unread" if value < 0 else "letter",
            "stopped": "stop",
            "tokens": None,
        }
        for question, values in enumerate(correct)
        for place, (language, value) in enumerate(zip(languages, values, strict=True))
    ]
    answers = SCHEMAS["answers"].check(pl.DataFrame(rows, infer_schema_length=None), "answers")
    return Observations({"answers": answers, "pictures": pl.DataFrame(schema=SCHEMAS["pictures"].dtypes)})


def quiz(size: int, languages: Sequence[str] = ("de", "en", "fr", "sw")) -> Benchmark:
    """A quiz whose regions are its languages in turn; the options are right in turn."""
    words = ("right", "falsehood", "mistake", "error")
    rows = [
        {
            "question_id": f"q{n}",
            "image_id": f"i{n // 2}",
            "language": language,
            "question": f"{language}: {n}?",
            "options": [f"{language} {words[(place - n) % 4]} {n}" for place in range(4)],
            "truth": n % 4,
            "region": languages[n % len(languages)],
        }
        for n in range(size)
        for language in languages
    ]
    images = Items("image", pl.DataFrame({"id": [f"i{n}" for n in range(-(-size // 2))]}))
    return Benchmark(
        "quiz", images, tables={"questions": pl.DataFrame(rows)}, schemas={"questions": QUESTIONS}
    )


class Model(Answerer):
    """Answers a share of the questions correctly, the same in each language, but in `weak` fewer of them.

    `noise` is the share of answers that are drawn anew each time.
    """

    sampled = False

    def __init__(
        self,
        weak: str = "",
        share: float = 0.8,
        lost: float = 0.5,
        said: str = "{option}",
        noise: float = 0.0,
    ) -> None:
        super().__init__()
        self.weak, self.share, self.lost, self.said, self.noise = weak, share, lost, said, noise

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        for place, request in enumerate(requests):
            number = int.from_bytes(hash_bytes(request.id.split(":")[0].encode())[:4], "little")
            share = self.share * (1 - self.lost * (request.language == self.weak))
            rng = np.random.default_rng(int.from_bytes(hash_bytes(request.id.encode())[:4], "little"))
            right = np.random.default_rng(number).random() < share
            if rng.random() < self.noise:
                right = rng.random() < 0.5
            at = next(place for place, option in enumerate(request.options) if " right " in option)
            option = request.options[at if right else (at + int(rng.integers(1, 4))) % 4]
            yield place, Reply(self.said.format(option=option), output_tokens=3)


class Knowing(Answerer):
    """Answers every question of a quiz correctly, by its letter."""

    def __init__(self, benchmark: Benchmark) -> None:
        super().__init__()
        questions = benchmark.tables["questions"].select("question_id", "language", "truth")
        self.letters = {
            f"{name}:{language}": "ABCD"[truth] for name, language, truth in questions.iter_rows()
        }

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        for place, request in enumerate(requests):
            yield place, Reply(self.letters[request.id])
