"""Wins and self-preference by country, maps of the spaces, and example trials."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits.association.measure import RATES, SPACES, Trials, sp_and_silhouette
from equiview.audits.association.observe import example_trials
from equiview.audits.association.pull import PULL
from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.audits.charts import MEASURED, intervals
from equiview.benchmarks.trials import ROLES
from equiview.data.countries import countries
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.roles import Role

MAPPED = 2000
"""Points on a map of images without pictures; more would say no more."""

OUTCOMES = dict(zip(RATES, ("semantic", "cultural", "non-relevant"), strict=True))
OUTCOME_ROLES: dict[str, Role] = {"semantic": "right", "cultural": "biased", "non-relevant": "wrong"}


def draw(view: Trials, estimates: Estimates, settings: AssociationSettings) -> list[Figure | None]:
    """Wins and SP by country, SP against silhouettes, the two maps, and example trials."""
    figures: list[Figure | None] = []
    for direction in settings.directions:
        figures += [_wins_by_country(estimates, direction), _sp_by_country(estimates, direction)]
        figures.append(_pull_by_language(estimates, direction, settings.tolerance))
    figures += [_sp_against(estimates, settings.directions[0], space) for space in SPACES]
    maps = ["pca", "umap"] if "umap_x" in view["images"].columns else ["pca"]
    for kind in maps:
        figures += [_text_map(view, kind), _image_map(view, kind)]
    figures.append(_examples(view, settings))
    return figures


def _by_country(estimates: Estimates, direction: Direction, *metrics: str) -> pl.DataFrame:
    """The rows of each country, in the order of P's tables, and for each country those of each metric."""
    order = {name: place for place, name in enumerate(countries()["country"])}
    rows = pl.concat([estimates.by("country", metric, direction=direction).table for metric in metrics])
    return (
        rows.select("country", "metric", *MEASURED, "chance")
        .with_columns(
            place=pl.col("country").replace_strict(order, default=len(order)),
            which=pl.col("metric").cast(pl.Enum(metrics)),
        )
        .sort("place", "country", "which")
        .drop("place", "which")
    )


def _wins_by_country(estimates: Estimates, direction: Direction) -> Chart:
    cause = (
        "language of the query was taken for its meaning"
        if direction == "text-to-image"
        else "look of a place was taken for what its picture shows"
    )
    table = _by_country(estimates, direction, *RATES)
    return Chart(
        name=f"wins-by-country-{direction}",
        title=f"Which image wins, by the country of the query ({direction.replace('-', ' ')})",
        see="A fair system leaves cultural and non-relevant images equal, small shares. Where the cultural "
        f"share outgrows the non-relevant one, the {cause}.",
        table=table.with_columns(outcome=pl.col("metric").replace_strict(OUTCOMES)),
        mark="stacked",
        x="country",
        y="value",
        color="outcome",
        roles=OUTCOME_ROLES,
        domain=tuple(OUTCOMES.values()),
        x_title="country of the query",
        y_title="share of trials won",
        percent=True,
    )


def _sp_by_country(estimates: Estimates, direction: Direction) -> Chart | None:
    table = _by_country(estimates, direction, "SP").filter(
        pl.col("value").is_finite() & (pl.col("value") > 0)
    )
    if not len(table):
        return None
    finite = table.with_columns(
        low=pl.when(pl.col("low") > 0).then("low").otherwise("value"),
        high=pl.when(pl.col("high").is_finite()).then("high").otherwise("value"),
    )
    return intervals(
        name=f"sp-by-country-{direction}",
        title=f"Self-preference (SP) by the country of the query ({direction.replace('-', ' ')})",
        see="SP is cultural wins over semantic wins, on a log scale: at 1 culture wins as often as meaning. "
        "Countries that never lost a trial to culture have no point.",
        table=finite,
        x=("country", "country of the query"),
        y_title="SP = M_cul / M_sem",
        log=True,
        reference={"as often as meaning": 1.0},
    )


def _pull_by_language(estimates: Estimates, direction: Direction, tolerance: float) -> Chart:
    rows = estimates.by("language", PULL, direction=direction).table
    names = dict(countries().select("language", "language_name").iter_rows())
    return intervals(
        name=f"pull-by-language-{direction}",
        title=f"What culture wins beyond a random mistake, by language ({direction.replace('-', ' ')})",
        see="M_cul - M_non of each language's trials. Points on both sides of 0 are languages that lie this "
        "way or that by accident; points that lie above it together are a tie of language to place.",
        table=rows.select(*MEASURED, language=pl.col("language").replace(names)).sort(
            "value", "language", descending=[True, False]
        ),
        x=("language", "language of the query"),
        y_title="M_cul - M_non",
        points=True,
        reference={"no pull": 0.0, "tolerance": tolerance},
    )


def _sp_against(estimates: Estimates, direction: Direction, space: str) -> Chart | None:
    table = sp_and_silhouette(estimates, direction, space)
    if len(table) < 4:
        return None
    what = "its language's words" if space == "texts" else "its images"
    return Chart(
        name=f"sp-against-{space}",
        title=f"SP against how far {what} stand apart",
        see=f"Each point is a country. A rising line says that where {what} form an island of their own "
        "(higher silhouette), culture wins more. Country shares and silhouettes are of the same embeddings.",
        table=table,
        mark="scatter",
        x="silhouette",
        y="value",
        label="country",
        x_title=f"silhouette of {what}",
        y_title="SP = M_cul / M_sem",
        fit=True,
    )


def _text_map(view: Trials, kind: str) -> Chart | None:
    table = view["texts"].filter(pl.col(f"{kind}_x").is_not_null())
    if not len(table):
        return None
    names = dict(countries().select("language", "language_name").iter_rows())
    return Chart(
        name=f"text-map-{kind}",
        title=f"Map of the queries ({kind.upper()})",
        see="Each point is a word in one language. Islands of one colour are languages that the encoder "
        "keeps apart; a mixed cloud is a space of meanings.",
        table=table.select(
            "text", "concept", language=pl.col("language").replace(names), x=f"{kind}_x", y=f"{kind}_y"
        ),
        mark="scatter",
        x="x",
        y="y",
        color="language",
        label="text",
        x_title="first axis",
        y_title="second axis",
    )


def _image_map(view: Trials, kind: str) -> Chart:
    images = view["images"]
    shown = images.filter(pl.col("picture").is_not_null())
    if not len(shown):
        sample = np.random.default_rng(0).permutation(len(images))[:MAPPED]
        shown = images[np.sort(sample)]
    return Chart(
        name=f"image-map-{kind}",
        title=f"Map of the images ({kind.upper()})",
        see="Each point is a picture (a sample when there are many). Islands of one colour are countries "
        "whose pictures the encoder keeps apart, whatever they show.",
        table=shown.select(
            "country", "concept", "picture", x=pl.col(f"{kind}_x"), y=pl.col(f"{kind}_y"),
            label=pl.concat_str("concept", pl.lit(", "), "country"),
        ),
        mark="scatter",
        x="x",
        y="y",
        color="country",
        label="label",
        picture="picture",
        x_title="first axis",
        y_title="second axis",
    )  # fmt: skip


def _examples(view: Trials, settings: AssociationSettings) -> Gallery:
    """Trials as pictures, the winner marked."""
    chosen = example_trials(view.scored.filter(direction=settings.directions[0]))
    texts = dict(view["texts"].select("text_id", "text").iter_rows())
    images = {row["image_id"]: row for row in view["images"].iter_rows(named=True)}
    rows = []
    for trial in chosen.iter_rows(named=True):
        for rank, (role, metric) in enumerate(zip(ROLES, RATES, strict=True), start=1):
            image = images[trial[f"{role}_id"]]
            rows.append(
                {
                    "group": trial["trial_id"],
                    "heading": f"{texts[trial['query_id']]} ({trial['concept']}, {trial['country']})",
                    "rank": rank,
                    "text": f"{image['concept']}, {image['country']}",
                    "note": OUTCOMES[metric],
                    "score": trial[f"{role}_score"],
                    "correct": role == ROLES[0],
                    "winner": trial[metric] > 0,
                    "item_picture": image["picture"],
                }
            )
    return Gallery(
        name="examples",
        title="Six trials as pictures",
        see="A trial from each of six countries, drawn by lot and the same for every system. The semantic "
        "image is right.",
        table=pl.from_dicts(rows, schema_overrides={"item_picture": pl.Binary}, infer_schema_length=None),
        pictures={},
    )
