"""`knowrecall:DIR`: questions about landmarks in 15 languages, in the layout of the release.

From "Traveling Across Languages" (T), section 2. A folder holds `data/LANG-00000-of-00001.parquet` for each
language, as the Hugging Face dataset is laid out, or `LANG.jsonl` of the same fields: question, options,
answer, image, landmark_id, domestic_language_code. Row i is the same question in every language. The split
`en_sub` is ignored. Pictures are read from the first language alone; all languages have the same.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.quiz import QUESTIONS, checked_questions
from equiview.benchmarks.release import (
    Release,
    id_field,
    optional_text,
    text_field,
    texts_field,
)
from equiview.data.items import Items, with_pictures
from equiview.data.languages import read_language
from equiview.errors import InputError
from equiview.io.files import plain_name, read_json_lines
from equiview.io.tables import Column, Schema, read_table

KNOWRECALL = Release(
    name="knowrecall",
    title="KnowRecall",
    licence="see the dataset's page",
    needs=(("data/en-*.parquet", "en-*.parquet", "en.jsonl", "data/en.jsonl"),),
)
RELEASED_QUESTIONS, RELEASED_LANGUAGES = 3000, 15
IGNORED = {"en_sub"}
SPLIT = Schema(
    "split",
    (
        Column("question", pl.String, "the question's words"),
        Column("options", pl.List(pl.String), "what can be answered"),
        Column("answer", pl.String, "the right one of the options"),
        Column("landmark_id", pl.String, "the landmark that is shown"),
        Column("domestic_language_code", pl.String, "the landmark's own language", nullable=True),
    ),
)
SAME = ("landmark_id", "domestic_language_code")
"""What row i has in common in all languages."""


def knowrecall(argument: str) -> Benchmark:
    """Read the release; InputError says what is missing or does not agree, in which file and row."""
    place, _ = KNOWRECALL.open(argument)
    paths = _paths(place)
    if len(paths) < 2:
        raise InputError(f"{place}: has questions in {', '.join(paths)} alone; two languages are needed")
    first = "en" if "en" in paths else next(iter(paths))
    with_image = _read(paths[first], pictures=True)
    splits = {language: _read(files) for language, files in paths.items()}
    for language, rows in splits.items():
        _check_same(rows, splits[first], _named(paths[language]), _named(paths[first]))
    questions = pl.concat(
        [_questions(rows, language, _named(paths[language])) for language, rows in splits.items()]
    )
    images = _images(with_image, paths[first][0])
    return KNOWRECALL.benchmark(
        images,
        about=_describe(len(splits[first]), len(images), len(paths)),
        tables={"questions": checked_questions(questions, str(place))},
        schemas={"questions": QUESTIONS},
    )


def _paths(place: Path) -> dict[str, list[Path]]:
    """The files of each language, its parts in order; Parquet before JSON Lines."""
    for pattern in ("data/*-*-of-*.parquet", "*-*-of-*.parquet", "data/*.jsonl", "*.jsonl"):
        stems: dict[str, list[Path]] = {}
        for path in sorted(place.glob(pattern)):
            stem = re.sub(r"-\d+-of-\d+$", "", path.stem)
            if stem not in IGNORED:
                stems.setdefault(stem, []).append(path)
        paths: dict[str, list[Path]] = {}
        for stem, files in stems.items():
            if (language := read_language(stem, str(place))) in paths:
                raise InputError(f"{files[0]}: is in {language}, and so is {paths[language][0].name}")
            paths[language] = files
        if paths:
            return paths
    return {}


def _named(paths: list[Path]) -> str:
    """What to call the files of a language in an error."""
    return str(paths[0])


def _read(paths: list[Path], *, pictures: bool = False) -> pl.DataFrame:
    """The rows of a language; with `pictures`, only landmarks and pictures."""
    columns = {"landmark_id", "image"} if pictures else {column.name for column in SPLIT.columns}
    schema = Schema("split", tuple(column for column in SPLIT.columns if column.name in columns))
    read = [
        read_table(path, schema, only=columns) if path.suffix == ".parquet" else _read_lines(path, columns)
        for path in paths
    ]
    return pl.concat(read, how="diagonal_relaxed")


def _read_lines(path: Path, columns: set[str]) -> pl.DataFrame:
    rows = []
    for number, entry in read_json_lines(path):
        where = f"{path}, line {number}"
        image = entry.get("image")
        held, name = (image, "path") if isinstance(image, dict) else (entry, "image")
        file = optional_text(held, name, where)
        row = {
            "question": text_field(entry, "question", where),
            "options": texts_field(entry, "options", where),
            "answer": text_field(entry, "answer", where),
            "landmark_id": id_field(entry, "landmark_id", where),
            "domestic_language_code": optional_text(entry, "domestic_language_code", where),
            "image": None if file is None else str(path.parent / plain_name(file, where)),
        }
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: holds no question; get {KNOWRECALL.where}")
    table = pl.DataFrame(rows, schema={**SPLIT.dtypes, "image": pl.String})
    return table.select(name for name in table.columns if name in columns)


def _check_same(rows: pl.DataFrame, first: pl.DataFrame, source: str, other: str) -> None:
    """InputError where row i of a language is not the question of row i of the first."""
    if len(rows) != len(first):
        raise InputError(
            f"{source}: has {len(rows)} questions, but {other} has {len(first)}; row i must be the same "
            "question in every language"
        )
    for name in SAME:
        differs = rows[name].ne_missing(first[name]).arg_true()
        if len(differs):
            row = differs[0]
            raise InputError(
                f"{source}, row {row + 1}: {name} is {rows[name][row]!r}, but {first[name][row]!r} in "
                f"{other}; row i must be the same question in every language"
            )


def _questions(rows: pl.DataFrame, language: str, source: str) -> pl.DataFrame:
    """The rows of `questions` of one language; InputError for an answer that is none of its options."""
    truth = [
        options.index(answer) if answer in options else None
        for options, answer in zip(rows["options"].to_list(), rows["answer"], strict=True)
    ]
    if None in truth:
        row = truth.index(None)
        raise InputError(
            f"{source}, row {row + 1}: the answer {rows['answer'][row]!r} is none of the options "
            f"{rows['options'][row].to_list()}; it must be one of them, word for word"
        )
    return rows.select(
        question_id=pl.concat_str(
            "landmark_id", 1 + pl.int_range(pl.len()).over("landmark_id"), separator="-"
        ),
        image_id="landmark_id",
        language=pl.lit(language),
        question="question",
        options="options",
        truth=pl.Series(truth, dtype=pl.Int32),
        region="domestic_language_code",
    )


def _images(rows: pl.DataFrame, path: Path) -> Items:
    """One image a landmark: the first of its rows that has a picture, or none."""
    if rows.schema.get("image") == pl.String:
        rows = rows.rename({"image": "path"})
    table = with_pictures(rows).rename({"landmark_id": "id"})
    known = [name for name in ("picture", "path") if name in table.columns and table[name].count()]
    grouped = table.group_by("id", maintain_order=True).agg(pl.col(known).drop_nulls().first())
    return Items("image", grouped, str(path))


def _describe(questions: int, landmarks: int, languages: int) -> str:
    size = f"{questions:,} questions about {landmarks:,} landmarks in {languages} languages"
    if (questions, languages) == (RELEASED_QUESTIONS, RELEASED_LANGUAGES):
        return f"{size}, the whole release"
    return f"{size}; the release has {RELEASED_QUESTIONS:,} in {RELEASED_LANGUAGES}, so this is a part of it"
