"""What scored trials say of association bias: who wins each, then rates and SP with intervals."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from equiview.audits._summary import column_name, summarise
from equiview.audits.base import Settings, Values
from equiview.benchmarks.trials import ROLES
from equiview.data.countries import countries
from equiview.data.estimates import Estimates
from equiview.data.observations import Observations
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.metrics import wins
from equiview.stats import bootstrap_interval, bootstrap_means, interval, pearson_interval

Direction = Literal["text-to-image", "image-to-image"]
DIRECTIONS: tuple[Direction, ...] = ("text-to-image", "image-to-image")
RATES = ("M_sem", "M_cul", "M_non")
PULL = "M_cul - M_non"
CHANCE = {"M_sem": 1 / 3, "M_cul": 1 / 3, "M_non": 1 / 3, PULL: 0.0, "SP": 1.0}
SHARED = "trials sharing the query's language"
GROUPINGS = ("country", "language", "concept")


class AssociationSettings(Settings):
    """What can be chosen: how ties count, which trials, which directions, which silhouette."""

    ties: Literal["first", "all", "split"] = "first"
    strict: bool = Field(
        default=False, description="leave out trials with candidates of the query's language"
    )
    directions: tuple[Direction, ...] = Field(default=DIRECTIONS, min_length=1)
    silhouette: Literal["euclidean", "sqeuclidean", "cosine"] = "euclidean"


def scored(observations: Observations, settings: AssociationSettings) -> pl.DataFrame:
    """The trials that count, with columns M_sem, M_cul, M_non: 1 for the winner."""
    trials = observations["trials"]
    if settings.strict:
        trials = trials.filter(~pl.col("shares_language"))
    if not len(trials):
        raise InputError("association: no trial is left; every one shares its query's language (strict)")
    won = wins(trials.select(f"{role}_score" for role in ROLES).to_numpy(), ties=settings.ties)
    return trials.with_columns(
        *(pl.Series(name, won[:, index]) for index, name in enumerate(RATES)),
        pl.Series(PULL, won[:, 1] - won[:, 2]),
    )


def values(observations: Observations, settings: AssociationSettings) -> Values:
    """One row a trial, a column for each rate and direction; trials of one query are a cluster."""
    trials = scored(observations, settings)
    table = trials.select("trial_id", "query_id").unique("trial_id", keep="first", maintain_order=True)
    table = table.rename({"query_id": "cluster", "trial_id": "query_id"})
    for direction in settings.directions:
        own = trials.filter(direction=direction).select(
            pl.col("trial_id").alias("query_id"),
            *(pl.col(name).alias(column_name(name, direction=direction)) for name in (*RATES, PULL)),
        )
        table = table.join(own, on="query_id", how="left", maintain_order="left")
    return Values(table)


def measure(observations: Observations, settings: AssociationSettings) -> Estimates:
    """Rates and SP overall (pooled counts), by country, language and concept; silhouettes; correlations."""
    trials = scored(observations, settings)
    rows: list[dict[str, Any]] = []
    for direction in settings.directions:
        rows += _rates(trials.filter(direction=direction), direction, settings)
    estimates = Estimates(pl.from_dicts(rows, infer_schema_length=None))
    silhouettes = _silhouettes(observations, settings)
    together = _correlations(estimates, silhouettes, settings)
    extra = [
        Estimates(pl.from_dicts(part, infer_schema_length=None)) for part in (silhouettes, together) if part
    ]
    return Estimates.concat([estimates, _shared_language(observations, settings), *extra])


def _rates(trials: pl.DataFrame, direction: Direction, settings: AssociationSettings) -> list[dict[str, Any]]:
    """Estimates of one direction: of all trials, then of each group over draws of its own queries."""
    rows = []
    for grouping in (None, *GROUPINGS):
        parts = (
            [((None,), trials)]
            if grouping is None
            else trials.sort(grouping).group_by(grouping, maintain_order=True)
        )
        for (group,), part in parts:
            keys = {} if grouping is None else {grouping: str(group)}
            rows += [row | {"direction": direction} | keys for row in _rates_of(part, direction, settings)]
    return rows


def _rates_of(
    trials: pl.DataFrame, direction: Direction, settings: AssociationSettings
) -> list[dict[str, Any]]:
    won = trials.select(RATES).to_numpy()
    replicates = bootstrap_means(
        won,
        clusters=trials["query_id"].rank("dense").to_numpy().astype(np.int64),
        replicates=settings.replicates,
        seed=seed_for(settings.seed, f"association.{direction}"),
    )
    semantic, cultural, other = won.mean(axis=0)
    found = {
        name: (value, replicates[:, index])
        for index, (name, value) in enumerate(zip(RATES, won.mean(axis=0), strict=True))
    }
    found[PULL] = (cultural - other, replicates[:, 1] - replicates[:, 2])
    if semantic + cultural > 0:  # else no win to divide: SP is undefined, and the rates say why
        with np.errstate(divide="ignore", invalid="ignore"):
            found["SP"] = (cultural / semantic, replicates[:, 1] / replicates[:, 0])
    return [_row(name, value, *interval(draws), len(trials)) for name, (value, draws) in found.items()]


def _row(metric: str, value: float, low: Any, high: Any, n: int) -> dict[str, Any]:
    chance = CHANCE[metric]
    return {
        "audit": "association",
        "metric": metric,
        "value": float(value),
        "low": float(low),
        "high": float(high),
        "n": n,
        "chance": chance,
        "excess": float(value) - chance,
    }


def _shared_language(observations: Observations, settings: AssociationSettings) -> Estimates:
    """Share of trials that show a rival of the query's own language, `strict` or not."""
    trials = observations["trials"].unique("trial_id", keep="first", maintain_order=True)
    table = trials.select("shares_language", query_id="trial_id", cluster="query_id").select(
        "query_id", "cluster", pl.col("shares_language").cast(pl.Float64).alias(SHARED)
    )
    return summarise("association", Values(table), {}, settings)


def _silhouettes(observations: Observations, settings: AssociationSettings) -> list[dict[str, Any]]:
    """Mean silhouette of each language's texts and each country's images, and of all."""
    rows = []
    for table, key in (("texts", "language"), ("images", "country")):
        space = observations[table].filter(pl.col("silhouette").is_not_null())
        if not len(space):
            continue
        groups = space[key].unique().sort().to_list()
        own = {None: space["silhouette"].to_numpy()}
        data = np.column_stack(
            [own[None], *(np.where(space[key] == group, own[None], np.nan) for group in groups)]
        )
        found = bootstrap_interval(
            data, replicates=settings.replicates, seed=seed_for(settings.seed, f"association.{table}")
        )
        for index, group in enumerate([None, *groups]):
            row = {
                "audit": "association",
                "metric": f"silhouette ({table})",
                "value": float(found.value[index]),
                "low": float(found.low[index]),
                "high": float(found.high[index]),
                "n": int(found.n[index]),
                "chance": None,
                "excess": None,
            }
            rows.append(row if group is None else row | {key: group})
    return rows


def _correlations(
    estimates: Estimates, silhouettes: list[dict[str, Any]], settings: AssociationSettings
) -> list[dict[str, Any]]:
    """Pearson across countries of SP with each silhouette (P, Table 7); needs four countries that vary."""
    rows = []
    for direction in settings.directions:
        pairs = sp_and_silhouette(estimates.table, silhouettes, direction)
        for space in ("texts", "images"):
            known = pairs.filter(pl.col(space).is_not_null() & pl.col("value").is_finite())
            if len(known) < 4 or known["value"].n_unique() < 2 or known[space].n_unique() < 2:
                continue
            found = pearson_interval(known["value"].to_numpy(), known[space].to_numpy())
            rows.append(
                {
                    "audit": "association",
                    "metric": f"Pearson of SP and silhouette ({space})",
                    "value": found.value,
                    "low": found.low,
                    "high": found.high,
                    "n": found.n,
                    "chance": 0.0,
                    "excess": found.value,
                    "direction": direction,
                }
            )
    return rows


def sp_and_silhouette(table: pl.DataFrame, silhouettes: list[dict[str, Any]], direction: str) -> pl.DataFrame:
    """By country: SP (`value`), the silhouette of its language's `texts` and of its `images`."""
    sp = table.filter(metric="SP", direction=direction).filter(pl.col("country").is_not_null())
    by = {
        space: {
            row[key]: row["value"]
            for row in silhouettes
            if row["metric"] == f"silhouette ({space})" and row.get(key)
        }
        for space, key in (("texts", "language"), ("images", "country"))
    }
    language = dict(zip(countries()["country"], countries()["language"], strict=True))
    return sp.select("country", "value", "low", "high", "n").with_columns(
        texts=pl.Series([by["texts"].get(language.get(name)) for name in sp["country"]], dtype=pl.Float64),
        images=pl.Series([by["images"].get(name) for name in sp["country"]], dtype=pl.Float64),
    )
