"""Consistency by region and language (T, Figure 2), accuracy by language, and who knows what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from equiview.audits.charts import MEASURED, by_family, intervals, matrix, named, points_by_language, square
from equiview.audits.knowledge.answers import Answered
from equiview.audits.knowledge.consistency import CONSISTENCY
from equiview.audits.knowledge.examples import known_in_one, unread
from equiview.audits.knowledge.lost import LOST
from equiview.audits.knowledge.measure import ACCURACY, SHIFT
from equiview.audits.knowledge.reading import RULES
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.tables import SETTINGS
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.languages import known_languages, language_names

LEAST = 3
"""Fewer languages get no matrix."""
LONGEST = 300
"""Characters of a reply that are shown."""


def draw(answered: Answered, estimates: Estimates, settings: KnowledgeSettings) -> list[Figure | None]:
    """The figures; those that a quiz without regions has nothing for are left out."""
    return [
        _by_setting(estimates),
        _accuracy(estimates, answered),
        _shifts(estimates, settings),
        _by_region(estimates),
        _by_pair(estimates),
        _lost(estimates, settings),
        _in_how_many(answered),
        _one_language(answered),
        _unread(answered),
    ]


def _by_setting(estimates: Estimates) -> Chart | None:
    rows = estimates.by("setting", ACCURACY).table
    if not len(rows):
        return None
    words = dict(
        zip(SETTINGS, ("in English", "in the place's own language", "in any other language"), strict=True)
    )
    return intervals(
        mark="bars",
        name="accuracy-by-setting",
        title="Right answers by how the language of the question relates to what is shown",
        see="EN, LOC and GLO of T. The tick is what guessing scores. What a language is good or bad at "
        "everywhere is part of LOC and GLO; the local advantage in the table is without it.",
        table=rows.select(
            pl.concat_str("setting", pl.lit(": "), pl.col("setting").replace(words)).alias("asked"),
            *MEASURED,
            "chance",
        ),
        x=("asked", "asked in"),
        y_title="right answers",
        marker="chance",
        percent=True,
    )


def _accuracy(estimates: Estimates, answered: Answered) -> Chart:
    rows = named(estimates.by("language", ACCURACY).table.select("language", *MEASURED))
    chart = points_by_language(
        rows,
        name="accuracy-by-language",
        title="Right answers by the language of the question",
        see="Every language asks the same questions, so level points are what is fair. The line is what "
        "guessing scores.",
        y_title="right answers",
        percent=True,
    )
    return replace(chart, reference={"chance": float(answered.chance.mean())})


def _shifts(estimates: Estimates, settings: KnowledgeSettings) -> Chart | None:
    rows = estimates.by("language", SHIFT).table.select("language", *MEASURED)
    chart = points_by_language(
        named(rows),
        name="shift-by-language",
        title="How much more often a language is answered correctly than the others, on the same questions",
        see="No language stands off 0 where the language of a question does not matter. The verdict "
        f"tolerates {settings.tolerance:.0%} on either side.",
        y_title="right answers less those in other languages",
        percent=False,
    )
    lines = {"tolerance": settings.tolerance, "tolerance, below": -settings.tolerance}
    return replace(chart, points=True, reference=lines)


def _by_region(estimates: Estimates) -> Chart | None:
    rows = estimates.by(("region", "language"), CONSISTENCY).table
    if not len(rows) or rows["region"].n_unique() < LEAST:
        return None
    place, names = by_family(), language_names()
    at = [pl.col(name).replace_strict(place, default=len(place)) for name in ("region", "language")]
    own = rows.select("region", language="region").unique(maintain_order=True)
    cells = pl.concat([rows.select("region", "language", *MEASURED, "chance"), own], how="diagonal")
    return matrix(
        name="consistency-by-region",
        title="Consistency of a region's own language with the others, on questions about the region",
        see="As T's Figure 2: each row is a region, named by its language. A column that stands out is a "
        "language that knows other facts than the regions' own; families stand together.",
        table=cells.sort(at[0], "region", at[1], "language").with_columns(
            pl.col("region", "language").replace(names)
        ),
        x=("language", "language"),
        y=("region", "region, by its language"),
        percent=True,
    )


def _by_pair(estimates: Estimates) -> Chart | None:
    rows = estimates.by(("language", "other"), CONSISTENCY).table
    if len(rows) < LEAST:
        return None
    return matrix(
        name="consistency-by-pair",
        title="Consistency of every two languages over all questions",
        see="Of what is right in one of two languages, how much is right in the other. Blocks along the "
        "diagonal are families that know the same things.",
        table=square(rows.select("language", "other", *MEASURED), sign=1),
        x=("language", "language"),
        y=("other", "other language"),
        percent=True,
    )


def _lost(estimates: Estimates, settings: KnowledgeSettings) -> Chart | None:
    rows = estimates.by("language", LOST).table.select("language", *MEASURED)
    if not len(rows):
        return None
    chart = points_by_language(
        named(rows),
        name="lost-consistency",
        title="Consistency lost, by language",
        see="Beside a model that is right as often and knows the same facts in every language. At 0 a "
        "language knows the facts that others know, however many; above, it knows other ones. The verdict "
        f"tolerates {settings.lost_tolerance:.0%}.",
        y_title="lost consistency",
        percent=False,
    )
    return replace(chart, points=True, reference={"tolerance": settings.lost_tolerance})


def _in_how_many(answered: Answered) -> Chart:
    """In how many languages questions are answered correctly, beside what independent languages would do."""
    n_questions, n_languages = answered.correct.shape
    counts = np.bincount(answered.correct.sum(axis=1).astype(np.int64), minlength=n_languages + 1)
    independent = np.ones(1)
    for share in answered.correct.mean(axis=0):
        independent = np.convolve(independent, [1 - share, share])
    return Chart(
        name="known-in-how-many",
        title="In how many languages each question is answered correctly",
        see="A model that knows the same facts in every language has its questions at both ends: known "
        "everywhere, or guessed. Questions in between are known in some languages and not in others. The "
        "tick is what languages that know nothing of each other would give.",
        table=pl.DataFrame(
            {
                "languages": [str(n) for n in range(n_languages + 1)],
                "share": counts / n_questions,
                "independent": independent,
                "questions": counts,
            }
        ),
        mark="bars",
        x="languages",
        y="share",
        marker="independent",
        x_title="languages in which a question is answered correctly",
        y_title="share of questions",
        percent=True,
    )


def _one_language(answered: Answered) -> Gallery | None:
    rows = known_in_one(answered.answers)
    if not len(rows):
        return None
    return _gallery(
        answered,
        rows,
        name="known-in-few",
        title="Questions that the fewest languages know",
        see="What is answered to one question in each language. Questions are drawn by lot among those that "
        "are answered correctly in the fewest languages, the same for every seed.",
    )


def _unread(answered: Answered) -> Gallery | None:
    rows = unread(answered.answers)
    if not len(rows):
        return None
    return _gallery(
        answered,
        rows,
        name="unread",
        title="Replies that no rule could read",
        see="They count as wrong. If a person would find an answer in them, ask for it in another form.",
    )


def _gallery(answered: Answered, rows: pl.DataFrame, *, name: str, title: str, see: str) -> Gallery:
    """A list for each question: the option chosen in each language, or the reply where none could be read."""
    pictures = dict(answered["pictures"].select("image_id", "picture").iter_rows())
    headings = _headings(answered.answers)
    tiers = dict(known_languages().select("code", "tier").iter_rows())
    table: list[dict[str, object]] = []
    shown: dict[str, bytes] = {}
    for row in rows.iter_rows(named=True):
        question, chosen = row["question_id"], row["chosen"]
        reply = row["text"][:LONGEST] or "(nothing)"
        rank = 1 + sum(entry["group"] == question for entry in table)
        if pictures.get(row["image_id"]) is not None:
            shown[question] = pictures[row["image_id"]]
        table.append(
            {
                "group": question,
                "heading": headings[question],
                "rank": rank,
                "text": reply if chosen is None else row["options"][chosen],
                "language": row["language"],
                "tier": tiers.get(row["language"]),
                "correct": chosen == row["truth"],
                "note": RULES[-1] if chosen is None else "",
            }
        )
    return Gallery(name, title, see, pl.DataFrame(table, infer_schema_length=None), shown)


def _headings(answers: pl.DataFrame) -> dict[str, str]:
    """Each question with its right answer, in English where it was asked in English."""
    english_first = answers.sort(pl.col("language") != "en", maintain_order=True)
    asked = english_first.unique("question_id", keep="first", maintain_order=True)
    right = pl.col("options").list.get(pl.col("truth"))
    words = asked.select("question_id", pl.concat_str("question", pl.lit(" "), right))
    return dict(words.iter_rows())
