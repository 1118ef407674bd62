"""Scores by language, consistency (T, Figure 2), what replies were, score against length, examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from equiview.audits.charts import BY_WEB, MEASURED, in_families, matrix, named, points_by_language
from equiview.audits.memory.consistency import CONSISTENCY
from equiview.audits.memory.measure import SCORE, SHIFT, TESTED, Described
from equiview.audits.memory.reading import CATEGORIES, SCORED
from equiview.audits.memory.replies import ADHERENCE, SHARE
from equiview.audits.memory.settings import MemorySettings
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.items import blind_order
from equiview.data.languages import language_names

POINTS = 900
"""Descriptions drawn as points, at most."""
EXAMPLES, UNSCORED = 6, 12
"""Landmarks shown with their descriptions, and replies without a score that are shown."""
LONGEST = 600
"""Characters of a reply that the page shows."""
ASKED = ("in English", "in the region's language", "in another language")


def draw(view: Described, estimates: Estimates, settings: MemorySettings) -> list[Figure | None]:
    """The figures; None for those without data."""
    return [
        _scores(view, estimates),
        _shifts(estimates, settings),
        _consistency(estimates),
        _adherence(estimates),
        _categories(estimates),
        _lengths(view, settings),
        _examples(view),
        _unscored(view),
    ]


def _scores(view: Described, estimates: Estimates) -> Chart | None:
    rows = estimates.by("language", SCORE).table
    if not len(rows):
        return None
    audited = view["models"]["audited"].drop_nulls()
    beside = f" The scorer was audited itself: {audited[0]}" if len(audited) else ""
    return replace(
        points_by_language(
            named(rows.select("language", *MEASURED, "chance")),
            name="score-by-language",
            title="How well descriptions in each language fit pictures of the landmark",
            see="CLIPScore, the mean over landmarks and prompts. The tick is what the same descriptions "
            f"score with pictures of other landmarks: only what lies above it is of the place.{beside}",
            y_title="CLIPScore",
            percent=False,
        ),
        marker="chance" if rows["chance"].null_count() < len(rows) else None,
    )


def _shifts(estimates: Estimates, settings: MemorySettings) -> Chart | None:
    rows = estimates.by("language", TESTED[SHIFT]).table
    if not len(rows):
        return None
    chart = points_by_language(
        named(rows.select("language", *MEASURED)),
        name="shift-by-language",
        title="How much better each language describes the same landmarks than the others",
        see="In percent of what a description scores with its own landmark over others. Where all languages "
        f"are alike none stands off 0; the verdict tolerates {settings.tolerance:.0%}.",
        y_title=TESTED[SHIFT],
        percent=True,
    )
    return replace(
        chart, reference={"tolerance": settings.tolerance, "tolerance, below": -settings.tolerance}
    )


def _consistency(estimates: Estimates) -> Chart | None:
    rows = estimates.by(("region", "language"), CONSISTENCY).table
    if len(rows) < 3:
        return None
    return matrix(
        name="consistency",
        title="Consistency of each region's language with every other, on the landmarks of the region",
        see="As T's Figure 2, which is of questions. 1: both languages score alike on every landmark. A high "
        "value says little, since any descriptions share most of their score: see beside it, in the table of "
        "numbers, what shuffled landmarks would have (chance).",
        table=in_families(rows, "region", "language").select(
            "region", "language", "value", "low", "high", "chance", "n"
        ),
        x=("language", "language"),
        y=("region", "language of the region"),
    )


def _adherence(estimates: Estimates) -> Chart | None:
    rows = estimates.by("language", ADHERENCE).table
    if not len(rows):
        return None
    return points_by_language(
        named(rows.select("language", *MEASURED)),
        name="adherence-by-language",
        title="Share of replies that are in the language asked for",
        see="Languages that the detector does not know are not here.",
        y_title=ADHERENCE,
        percent=True,
    )


def _categories(estimates: Estimates) -> Chart | None:
    rows = estimates.by(("language", "category"), SHARE).table
    if not len(rows):
        return None
    return Chart(
        name="categories-by-language",
        title="What replies were, by language",
        see="Refused and empty replies have no score, and are no zeros in any mean. What was cut off, or is "
        "in another language, is scored.",
        table=named(rows).select("name", "category", "value", "n"),
        mark="stacked",
        x="name",
        y="value",
        color="category",
        domain=CATEGORIES,
        x_title=BY_WEB,
        y_title="share of replies",
        percent=True,
    )


def _lengths(view: Described, settings: MemorySettings) -> Chart | None:
    scores = view["scores"].filter(translator="first", scorer="first").drop_nulls("score")
    if not len(scores):
        return None
    regions = view["landmarks"].select("landmark_id", "region")
    table = scores.join(regions, on="landmark_id", how="left", maintain_order="left")
    chosen = np.random.default_rng(settings.seed_of("figure")).permutation(len(table))[:POINTS]
    english, local = pl.col("language") == "en", pl.col("language") == pl.col("region")
    in_english, locally, elsewhere = map(pl.lit, ASKED)
    asked = pl.when(english).then(in_english).when(local).then(locally).otherwise(elsewhere)
    return Chart(
        name="score-by-length",
        title="Scores of descriptions by their length",
        see="Each point is a description, by the words of its English text. Where scores rise to the right, "
        "a language whose descriptions are short scores low for that alone.",
        table=table[np.sort(chosen)].select(
            "words", "score", asked=asked, about=pl.concat_str("landmark_id", pl.lit(", "), "language")
        ),
        mark="scatter",
        x="words",
        y="score",
        color="asked",
        domain=ASKED,
        label="about",
        x_title="words of the English text",
        y_title="CLIPScore",
    )


def _examples(view: Described) -> Gallery | None:
    """Replies about a few landmarks to the first prompt, in every language, best first."""
    descriptions = view["descriptions"].filter(prompt=0)
    scores = view["scores"].filter(translator="first", scorer="first", prompt=0)
    rows = descriptions.join(
        scores.select("landmark_id", "language", "score"),
        on=["landmark_id", "language"],
        maintain_order="left",
    )
    described = rows.drop_nulls("score")["landmark_id"].unique().to_list()
    landmarks = view["landmarks"].filter(pl.col("landmark_id").is_in(described))
    if not len(landmarks):
        return None
    shown = landmarks[blind_order(landmarks["landmark_id"])[:EXAMPLES]]
    regions = language_names()
    tables = []
    for landmark in shown.iter_rows(named=True):
        part = rows.filter(landmark_id=landmark["landmark_id"]).sort(
            "score", "language", descending=[True, False], nulls_last=True
        )
        heading = f"{landmark['name']} (region: {regions.get(landmark['region'], landmark['region'])})"
        tables.append(_listed(part, heading))
    return Gallery(
        name="examples",
        title="What was said of some landmarks, first prompt",
        see="In every language, from the highest to the lowest score; without a score where it was refused "
        "or is empty.",
        table=pl.concat(tables),
        pictures=_pictures(shown),
    )


def _unscored(view: Described) -> Gallery | None:
    """Some of the replies without a score, so that a reader can check how they were classified."""
    replies = view["descriptions"].filter(~pl.col("category").is_in(SCORED))
    if not len(replies):
        return None
    order = blind_order(replies["landmark_id"] + ":" + replies["language"])[:UNSCORED]
    part = replies[np.sort(order)].with_columns(
        score=pl.lit(None, dtype=pl.Float64), landmark_id=pl.lit("unscored")
    )
    return Gallery(
        name="unscored",
        title="Replies that were refused or are empty",
        see=f"{len(part)} of {len(replies)}, drawn by a hash of their names. Refusals are read by phrases, "
        "and only in short replies.",
        table=_listed(part, f"{len(part)} of {len(replies)} replies without a score"),
        pictures={},
    )


def _listed(rows: pl.DataFrame, heading: str) -> pl.DataFrame:
    text = pl.col("text").str.strip_chars()
    return rows.select(
        group="landmark_id",
        heading=pl.lit(heading),
        rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32),
        text=pl.when(text.str.len_chars() > LONGEST).then(text.str.slice(0, LONGEST) + " …").otherwise(text),
        language="language",
        score="score",
        note=pl.when(pl.col("category") == CATEGORIES[0]).then(None).otherwise(pl.col("category")),
    )


def _pictures(landmarks: pl.DataFrame) -> dict[str, bytes]:
    return dict(landmarks.select("landmark_id", "picture").drop_nulls().iter_rows())
