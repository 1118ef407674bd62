"""Training data of a connector: images, what is asked about each, and the answer.

The first stage takes captions: a benchmark's texts that are relevant to an image. The second takes questions
with answers: a benchmark's table `questions`, with an `answer`, or with `options` and `truth`. Either may be
a file of JSON Lines instead, `{"image": FILE, "caption": TEXT}` or `{"image": FILE, "question": TEXT,
"answer": TEXT}`; files are looked for beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.files import read_json_lines
from equiview.io.fingerprint import fingerprint
from equiview.mitigation.connector.settings import QUESTION


@dataclass(frozen=True)
class Examples:
    """Examples of one stage: `table` has a row for each, `image` being a row number of `images`.

    `left_out` counts questions without an answer. InputError when there is no example.
    """

    name: str
    images: Items
    table: pl.DataFrame
    left_out: int = 0
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        if not len(self.table):
            raise InputError(f"{self.name}: holds nothing to learn from")

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the pictures and the words."""
        return fingerprint(self.images.fingerprint, self.table.write_csv())

    def compact(self) -> Examples:
        """The same with only the images in use."""
        used, places = np.unique(self.table["image"].to_numpy(), return_inverse=True)
        table = self.table.with_columns(image=pl.Series(places, dtype=pl.Int64))
        return replace(self, images=self.images.take(used), table=table)


def load_captions(name: str, prompt: str) -> Examples:
    """Captions of a benchmark by name, or of a file of JSON Lines, each an answer to `prompt`."""
    if name.endswith(".jsonl"):
        return _read(Path(name), {"caption": "answer"}, prompt)
    return captions_of(load_benchmark(name), prompt)


def load_questions(name: str, prompt: str = QUESTION) -> Examples:
    """Questions and answers of a benchmark by name, or of a file of JSON Lines, put into `prompt`."""
    if name.endswith(".jsonl"):
        return _asked(_read(Path(name), {"question": "prompt", "answer": "answer"}), prompt)
    return questions_of(load_benchmark(name), prompt)


def captions_of(benchmark: Benchmark, prompt: str) -> Examples:
    """Every caption of an image as an answer to `prompt`.

    >>> from equiview.benchmarks import load_benchmark
    >>> captions_of(load_benchmark("pictograms"), "What is it?").table.columns
    ['image', 'prompt', 'answer']
    """
    texts, relevance = benchmark.need_texts(), benchmark.need_relevance()
    answers = pl.Series(texts.texts)[relevance.items]
    table = pl.DataFrame({"image": relevance.queries, "answer": answers}).with_columns(prompt=pl.lit(prompt))
    return _of(benchmark, table.select("image", "prompt", "answer"))


def questions_of(benchmark: Benchmark, prompt: str = QUESTION) -> Examples:
    """The questions of a benchmark, put into `prompt`; those without an answer are left out and counted."""
    table = benchmark.tables.get("questions")
    if table is None:
        raise InputError(f"benchmark {benchmark.name!r} has no table 'questions', which this stage needs")
    if {"options", "truth"} <= set(table.columns):
        table = table.with_columns(answer=pl.col("options").list.get(pl.col("truth")))
    if "answer" not in table.columns:
        raise InputError(f"benchmark {benchmark.name!r}: its questions have neither an answer nor options")
    rows = benchmark.images.rows_of(table["image_id"])
    if rows.null_count():
        row = rows.is_null().arg_true()[0]
        raise InputError(
            f"benchmark {benchmark.name!r}, table 'questions', row {row + 1}: image "
            f"{table['image_id'][row]!r} is not among the images"
        )
    known = table.select(image=rows, prompt="question", answer="answer").filter(
        pl.col("answer").str.strip_chars() != ""
    )
    if not len(known):
        raise InputError(f"benchmark {benchmark.name!r}: none of its {len(table)} questions has an answer")
    return _asked(_of(benchmark, known, len(table) - len(known)), prompt)


def _of(benchmark: Benchmark, table: pl.DataFrame, left_out: int = 0) -> Examples:
    examples = Examples(
        benchmark.name, benchmark.images, table, left_out, benchmark.source, benchmark.licence
    )
    return examples.compact()


def _asked(examples: Examples, prompt: str) -> Examples:
    """The same with each question at its place in a prompt."""
    questions = [prompt.replace(QUESTION, text) for text in examples.table["prompt"]]
    return replace(examples, table=examples.table.with_columns(prompt=pl.Series(questions)))


def _read(path: Path, fields: dict[str, str], prompt: str = "") -> Examples:
    """Examples of a file of JSON Lines; `fields` maps its fields to columns."""
    rows: list[dict[str, str]] = []
    for number, entry in read_json_lines(path):
        where = f"{path}, line {number}"
        for name in ("image", *fields):
            if not isinstance(entry.get(name), str) or not entry[name].strip():
                raise InputError(f"{where}: needs a field {name!r} that is text and not empty")
        rows.append({"id": entry["image"], "prompt": prompt} | {fields[name]: entry[name] for name in fields})
    if not rows:
        raise InputError(f"{path}: holds nothing to learn from")
    table = pl.DataFrame(rows)
    names = table["id"].unique(maintain_order=True)
    files = [str(path.parent / name) for name in names]
    images = Items("image", pl.DataFrame({"id": names, "path": files}), str(path))
    return Examples(
        path.name, images, table.select(image=images.rows_of(table["id"]), prompt="prompt", answer="answer")
    )
