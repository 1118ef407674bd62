"""Examples: questions known in one language alone, and replies that no rule reads; the same in every run."""

from __future__ import annotations

import polars as pl

from equiview.data.items import blind_order

SHOWN = 6
"""Examples of each kind."""


def known_in_one(answers: pl.DataFrame) -> pl.DataFrame:
    """All answers to some of the questions that are answered correctly in exactly one language.

    Where there are none, to those that the fewest languages know, but at least one.
    """
    correct = (pl.col("chosen") == pl.col("truth")).fill_null(False).cast(pl.Int64)
    by_question = answers.group_by("question_id", maintain_order=True).agg(right=correct)
    right = by_question.with_columns(pl.col("right").list.sum())
    known = right.filter(pl.col("right") > 0, pl.col("right") < answers["language"].n_unique())
    fewest = known.filter(pl.col("right") == pl.col("right").min())["question_id"]
    shown = fewest[blind_order(fewest)[:SHOWN]] if len(fewest) else fewest
    order = {question: place for place, question in enumerate(shown)}
    some = answers.filter(pl.col("question_id").is_in(shown.to_list()))
    place = pl.col("question_id").replace_strict(order, default=0, return_dtype=pl.Int64)
    return some.sort(place, maintain_order=True)


def unread(answers: pl.DataFrame) -> pl.DataFrame:
    """Some replies that no rule reads."""
    rows = answers.filter(pl.col("chosen").is_null())
    if not len(rows):
        return rows
    ids = rows.select(pl.concat_str("question_id", "language", separator=":")).to_series()
    return rows[blind_order(ids)[:SHOWN]]
