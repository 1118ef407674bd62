"""A quiz: multiple-choice questions about images, each asked in several languages.

A benchmark of questions has a table `questions` with a row for each question and language. The same question
has the same picture, region and number of options in all languages; the options' order may differ.
"""

from __future__ import annotations

import polars as pl

from equiview.data.languages import read_languages, region_languages
from equiview.errors import InputError
from equiview.io.tables import Column, Schema

MOST_OPTIONS = 26
"""A to Z, by which options are named in prompts and replies."""
LEAST_OPTIONS = 4
QUESTIONS = Schema(
    "questions",
    (
        Column("question_id", pl.String, "the question, the same in all languages"),
        Column("image_id", pl.String, "the image that it is about"),
        Column("language", pl.String, "the language it is asked in"),
        Column("question", pl.String, "its words"),
        Column("options", pl.List(pl.String), "what can be answered, 4 or more, distinct"),
        Column("truth", pl.Int32, "place of the right answer among the options, from 0"),
        Column("region", pl.String, "language that is local to what is shown; null: none", nullable=True),
    ),
)
SAME = ("image_id", "region", "n_options")
"""What a question has in common in all languages."""


def checked_questions(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """`table` if it is a quiz; InputError names the first row, counted from 1, that is not as it should be.

    Languages and regions are read by the codes of languages, however they are written. Every question is
    asked once in every language of the table, of one image and region, with equally many distinct options and
    the truth among them.

    >>> rows = {"question_id": ["1", "1"], "image_id": "a", "language": ["en", "fr"], "question": "?",
    ...         "options": [["a", "b", "c", "d"], ["a", "b", "b", "d"]], "truth": 0, "region": None}
    >>> checked_questions(pl.DataFrame(rows), "quiz")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: quiz, row 2: question '1' in fr has an option twice; options must be distinct
    """
    table = QUESTIONS.check(table, source)
    if not len(table):
        raise InputError(f"{source}: holds no question; at least one is needed")
    table = table.with_columns(read_languages(table["language"], source))
    table = table.with_columns(region_languages(table["region"], set(table["language"]), source))
    rows = table.with_columns(n_options=pl.col("options").list.len(), row=pl.int_range(1, pl.len() + 1))
    options = pl.col("options")
    wrong = {
        "has an empty question": pl.col("question").str.strip_chars() == "",
        f"has fewer than {LEAST_OPTIONS} options": pl.col("n_options") < LEAST_OPTIONS,
        f"has more than {MOST_OPTIONS} options, for which there are no letters": (
            pl.col("n_options") > MOST_OPTIONS
        ),
        "has an empty option": options.list.eval(
            pl.element().is_null() | (pl.element().str.strip_chars() == "")
        ).list.any(),
        "has an option twice; options must be distinct": options.list.n_unique() < pl.col("n_options"),
        "has its truth outside the options, which count from 0": ~pl.col("truth").is_between(
            0, pl.col("n_options") - 1
        ),
        "is there twice": pl.struct("question_id", "language").is_duplicated(),
        **{
            f"has another {name.replace('_', ' ')} than in {{first}}": pl.col(name).ne_missing(
                pl.col(name).first().over("question_id")
            )
            for name in SAME
        },
    }
    for reason, is_wrong in wrong.items():
        _refuse(rows.filter(is_wrong), reason, rows, source)
    _check_complete(rows, source)
    return table


def _refuse(bad: pl.DataFrame, reason: str, rows: pl.DataFrame, source: str) -> None:
    if len(bad):
        row = bad.row(0, named=True)
        first = rows.filter(question_id=row["question_id"])["language"][0]
        raise InputError(
            f"{source}, row {row['row']}: question {row['question_id']!r} in {row['language']} "
            f"{reason.format(first=first)}"
        )


def _check_complete(rows: pl.DataFrame, source: str) -> None:
    """InputError for a question that is not asked in every language."""
    languages = rows["language"].unique(maintain_order=True).to_list()
    asked = rows.group_by("question_id", maintain_order=True).agg("language", "row")
    incomplete = asked.filter(pl.col("language").list.len() < len(languages))
    if len(incomplete):
        question, asked_in, places = incomplete.row(0)
        missing = next(language for language in languages if language not in asked_in)
        raise InputError(
            f"{source}, row {places[0]}: question {question!r} is not asked in {missing}; every question "
            "must be in every language"
        )
