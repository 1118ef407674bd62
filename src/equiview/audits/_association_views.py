"""How association bias is shown and put into words."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits._association_values import (
    PULL,
    RATES,
    SHARED,
    AssociationSettings,
    scored,
    sp_and_silhouette,
)
from equiview.audits._examples import example_trials
from equiview.benchmarks.trials import ROLES
from equiview.data.countries import countries
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.observations import Observations
from equiview.data.run import Verdict

QUESTION = "Does the language of a query pull in images of its culture over images of what was asked?"
MAPPED = 2000
"""Points on a map of images without pictures; more would say no more."""

OUTCOMES = dict(zip(RATES, ("semantic", "cultural", "non-relevant"), strict=True))
LIMITS = (
    "A country stands for a culture, which leaves out all that crosses borders or lives within them.",
    "SP grows with weakness as well as with bias: M_cul - M_non is what culture adds over a random mistake.",
)


def draw(observations: Observations, estimates: Estimates, settings: AssociationSettings) -> list[Figure]:
    """Wins and SP by country, the two maps, SP against silhouettes, and example triplets."""
    made: list[Figure | None] = []
    for direction in settings.directions:
        made += [_wins_by_country(estimates, direction), _sp_by_country(estimates, direction)]
    first = settings.directions[0]
    made += [_sp_against(estimates, first, "texts"), _sp_against(estimates, first, "images")]
    maps = ["pca", "umap"] if "umap_x" in observations["images"].columns else ["pca"]
    for kind in maps:
        made += [_text_map(observations, kind), _image_map(observations, kind)]
    made.append(_examples(observations, settings))
    return [figure for figure in made if figure is not None]


def _by_country(estimates: Estimates, direction: str, metrics: tuple[str, ...]) -> pl.DataFrame:
    order = {name: place for place, name in enumerate(countries()["country"])}
    rows = estimates.table.filter(
        pl.col("metric").is_in(metrics) & (pl.col("direction") == direction) & pl.col("country").is_not_null()
    )
    return (
        rows.select("country", "metric", "value", "low", "high", "n", "chance")
        .with_columns(
            place=pl.col("country").replace_strict(order, default=99),
            which=pl.col("metric").cast(pl.Enum(metrics)),
        )
        .sort("place", "which")
        .drop("place", "which")
    )


def _wins_by_country(estimates: Estimates, direction: str) -> Chart:
    taken = (
        "language of the query was taken for its meaning"
        if direction == "text-to-image"
        else ("look of a place was taken for what its picture shows")
    )
    table = _by_country(estimates, direction, RATES).with_columns(
        outcome=pl.col("metric").replace_strict(OUTCOMES)
    )
    return Chart(
        name=f"wins-by-country-{direction}",
        title=f"Which image wins, by the country of the query ({direction.replace('-', ' ')})",
        see="A fair system leaves cultural and non-relevant images equal, small shares. Where the cultural "
        f"share outgrows the non-relevant one, the {taken}.",
        table=table,
        mark="stacked",
        x="country",
        y="value",
        color="outcome",
        palette="outcome",
        x_title="country of the query",
        y_title="share of trials won",
        percent=True,
    )


def _sp_by_country(estimates: Estimates, direction: str) -> Chart | None:
    table = _by_country(estimates, direction, ("SP",)).filter(
        pl.col("value").is_finite() & (pl.col("value") > 0)
    )
    if not len(table):
        return None
    finite = table.with_columns(
        low=pl.when(pl.col("low") > 0).then("low").otherwise("value"),
        high=pl.when(pl.col("high").is_finite()).then("high").otherwise("value"),
    )
    return Chart(
        name=f"sp-by-country-{direction}",
        title=f"Self-preference (SP) by the country of the query ({direction.replace('-', ' ')})",
        see="SP is cultural wins over semantic wins, on a log scale: at 1 culture wins as often as meaning. "
        "Countries that never lost a trial to culture have no point.",
        table=finite,
        mark="points",
        x="country",
        y="value",
        low="low",
        high="high",
        x_title="country of the query",
        y_title="SP = M_cul / M_sem",
        log=True,
        reference={"as often as meaning": 1.0},
    )


def _sp_against(estimates: Estimates, direction: str, space: str) -> Chart | None:
    silhouettes = estimates.table.filter(pl.col("metric") == f"silhouette ({space})").to_dicts()
    if not silhouettes:
        return None
    table = sp_and_silhouette(estimates.table, silhouettes, direction).filter(
        pl.col(space).is_not_null() & pl.col("value").is_finite()
    )
    if len(table) < 4:
        return None
    what = "its language's words" if space == "texts" else "its images"
    return Chart(
        name=f"sp-against-{space}",
        title=f"SP against how far {what} stand apart",
        see=f"Each point is a country. A rising line says that where {what} form an island of their own "
        "(higher silhouette), culture wins more. Country shares and silhouettes are of the same embeddings.",
        table=table.select("country", "value", "low", "high", "n", silhouette=pl.col(space)),
        mark="scatter",
        x="silhouette",
        y="value",
        label="country",
        x_title=f"silhouette of {what}",
        y_title="SP = M_cul / M_sem",
        fit=True,
    )


def _text_map(observations: Observations, kind: str) -> Chart | None:
    table = observations["texts"].filter(pl.col(f"{kind}_x").is_not_null())
    if not len(table):
        return None
    return Chart(
        name=f"text-map-{kind}",
        title=f"Map of the queries ({kind.upper()})",
        see="Each point is a word in one language. Islands of one colour are languages that the encoder "
        "keeps apart; a mixed cloud is a space of meanings.",
        table=table.select("language", "text", "concept", x=pl.col(f"{kind}_x"), y=pl.col(f"{kind}_y")),
        mark="scatter",
        x="x",
        y="y",
        color="language",
        label="text",
        x_title="first axis",
        y_title="second axis",
    )


def _image_map(observations: Observations, kind: str) -> Chart | None:
    images = observations["images"]
    pictured = images.filter(pl.col("picture").is_not_null())
    rest = np.random.default_rng(0).permutation(len(images))[:MAPPED]
    shown = pictured if len(pictured) else images[np.sort(rest)]
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


def _examples(observations: Observations, settings: AssociationSettings) -> Gallery:
    """Triplets as pictures, the winner marked."""
    trials = scored(observations, settings)
    direction = settings.directions[0]
    chosen = example_trials(trials.filter(direction=direction), settings.seed)
    texts = dict(observations["texts"].select("text_id", "text").iter_rows())
    images = {row["image_id"]: row for row in observations["images"].iter_rows(named=True)}
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
        see="A trial from each of six countries, drawn by seed and not by hand. The semantic image is right.",
        table=pl.from_dicts(rows, schema_overrides={"item_picture": pl.Binary}, infer_schema_length=None),
        pictures={},
    )


def judge(estimates: Estimates, settings: AssociationSettings) -> Verdict:
    """Biased when cultural images win more trials than non-relevant ones, by an interval that excludes 0."""
    direction = settings.directions[0]
    pull, sem, cul, non = (estimates.one(name, direction=direction) for name in (PULL, *RATES))
    sp = _overall(estimates, "SP", direction)
    numbers = f", SP {sp['value']:.2f} [{sp['low']:.2f}, {sp['high']:.2f}]" if sp else ""
    against = f"{cul['value']:.0%} of trials against {non['value']:.0%} for an unrelated image{numbers}"
    if pull["low"] > 0:
        finding, answer = "biased", f"Yes: a wrong image of the query's culture wins {against}."
    elif pull["high"] < 0.05:
        finding, answer = "fair", f"No: when meaning loses, culture gains nothing; it wins {against}."
    else:
        finding, answer = (
            "unclear",
            f"Too few trials to tell: a wrong image of the query's culture wins {against}.",
        )
    share = f"{sem['value']:.0%} [{sem['low']:.0%}, {sem['high']:.0%}]"
    right = f"The right image wins {share} of {sem['n']:,} trials."
    return Verdict(
        audit="association",
        question=QUESTION,
        finding=finding,
        answer=answer,
        evidence=tuple(
            filter(
                None,
                (
                    right,
                    _worst(estimates, direction),
                    _together(estimates, direction),
                    _shared(estimates, settings),
                ),
            )
        ),
        advice=_advice(finding),
        limits=LIMITS,
    )


def _overall(estimates: Estimates, metric: str, direction: str) -> dict[str, float] | None:
    rows = estimates.where(metric, direction=direction)
    return rows.row(0, named=True) if len(rows) else None


def _worst(estimates: Estimates, direction: str) -> str:
    rows = _by_country(estimates, direction, (PULL,)).sort("value", "country", descending=[True, False])
    worst = ", ".join(f"{row['country']} {row['value']:+.0%}" for row in rows.head(4).iter_rows(named=True))
    return (
        f"Culture gains most over an unrelated image for queries of {worst} (M_cul - M_non)." if worst else ""
    )


def _together(estimates: Estimates, direction: str) -> str:
    row = _overall(estimates, "Pearson of SP and silhouette (texts)", direction)
    if row is None:
        return ""
    return (
        f"Across {row['n']} countries SP goes with how far the language's words stand apart: "
        f"Pearson {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]."
    )


def _shared(estimates: Estimates, settings: AssociationSettings) -> str:
    row = estimates.one(SHARED)
    if not row["value"]:
        return ""
    done = "they are left out" if settings.strict else "--strict leaves them out"
    return f"{row['value']:.0%} of trials show a rival image of the query's own language; {done}."


def _advice(finding: str) -> tuple[str, ...]:
    if finding != "biased":
        return ()
    return (
        "Train on pairs that show each concept in many countries, so that no language predicts a place.",
        "Align the words of the worst languages to a strong one, and measure again: alignment mends what is "
        "missing language, not what is learnt association.",
    )
