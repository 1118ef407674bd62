"""What scored trials say of association bias: who wins each, then rates and SP with intervals."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from equiview.audits.association.pull import PULL, SCORES, mean_pulls, query_test
from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.audits.base import View, once
from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline, Means
from equiview.data.metric import quantity
from equiview.data.values import Values, column
from equiview.errors import InputError
from equiview.metrics import preference_ratio, win_rates, wins
from equiview.stats import pearson_interval

RATES = ("M_sem", "M_cul", "M_non")
CHANCE = {"M_sem": 1 / 3, "M_cul": 1 / 3, "M_non": 1 / 3, PULL: 0.0, "SP": 1.0}
SHARED = "trials sharing the query's language"
SILHOUETTE = "silhouette"
TOGETHER = "Pearson of SP and silhouette"
GROUPINGS = ("country", "language", "concept")
SPACES = {"texts": "language", "images": "country"}
"""The spaces that are described, each with the key of its groups."""


def self_preference_in(direction: Direction) -> Headline:
    """SP of one direction: M_cul over M_sem (P, Eq. 4)."""
    cultural, semantic = (quantity(name, direction=direction) for name in ("M_cul", "M_sem"))
    return Headline(quantity("SP", direction=direction), of=(cultural, semantic), combine=_preference)


def _preference(means: Means) -> Means:
    return preference_ratio(means[..., 0], means[..., 1])


class Trials(View[AssociationSettings]):
    """What was observed, with the winners of trials."""

    @cached_property
    def scored(self) -> pl.DataFrame:
        """The trials that count, with columns M_sem, M_cul, M_non: 1 for the winner; and M_cul - M_non."""
        trials = self["trials"]
        if self.settings.strict:
            trials = trials.filter(~pl.col("shares_language"))
        if not len(trials):
            raise InputError("strict=true leaves no trial: every one has an image of its query's language")
        won = wins(trials.select(SCORES).to_numpy(), ties=self.settings.ties)
        return trials.with_columns(
            *(pl.Series(name, won[:, index]) for index, name in enumerate(RATES)),
            pl.Series(PULL, won[:, 1] - won[:, 2]),
        )


@once
def values(view: Trials, settings: AssociationSettings) -> Values:
    """One row a trial, a column for each rate and direction; trials of one query are a cluster."""
    trials = view.scored
    rows = trials.select("trial_id", "query_id").unique("trial_id", keep="first", maintain_order=True)
    columns = []
    for direction in settings.directions:
        outcomes = rows.select("trial_id").join(
            trials.filter(direction=direction), on="trial_id", how="left", maintain_order="left"
        )
        columns += [
            column(name, outcomes[name].to_numpy(), chance=CHANCE[name], direction=direction)
            for name in (*RATES, PULL)
        ]
    return Values.of(rows["trial_id"], columns, clusters=rows["query_id"])


def measure(view: Trials, settings: AssociationSettings) -> Estimates:
    """Rates and SP overall (pooled counts), by country, language and concept; silhouettes; correlations."""
    trials = view.scored
    rates, pulls = Rows(), []
    for direction in settings.directions:
        asked = trials.filter(direction=direction)
        pulls.append(mean_pulls(asked, direction, settings))
        _add_rates(rates, asked, direction, settings)
        for grouping in GROUPINGS:
            groups = asked.sort(grouping).group_by(grouping, maintain_order=True)
            for (group,), part in groups:
                _add_rates(rates, part, direction, settings, **{grouping: str(group)})
    estimates = joined(
        [
            rates.estimates(),
            *pulls,
            _shared_language(view, settings),
            _silhouettes(view, settings),
        ]
    )
    return joined([estimates, _correlations(estimates, settings)])


def _add_rates(
    rows: Rows, trials: pl.DataFrame, direction: Direction, settings: AssociationSettings, **keys: str
) -> None:
    """Estimates of one direction, of all trials or of a group, over draws of its own queries."""
    drawn = Replicates.of(
        trials.select(RATES).to_numpy(),
        settings,
        direction,
        clusters=trials["query_id"].rank("dense").to_numpy().astype(np.int64),
    )
    rates = replace(drawn, value=win_rates(trials.select(SCORES).to_numpy(), ties=settings.ties))
    _, cultural, other = rates.split()
    measured = dict(zip(RATES, rates.split(), strict=True)) | {PULL: cultural.gap(other)}
    headline = self_preference_in(direction)
    sp = rates[[RATES.index("M_cul"), RATES.index("M_sem")]].headline(headline)
    if not np.isnan(sp.value):  # nan: there is no win to divide by, which the rates show
        measured[headline.quantity.metric] = sp
    for name, replicates in measured.items():
        # Each language is tested for a pull of its own; those of one direction are a family.
        p = query_test(trials, settings, direction) if name == PULL and "language" in keys else None
        about = quantity(name, None, direction=direction, **keys)
        rows.add(about, replicates, len(trials), CHANCE[name], p=p, family=direction)


def _shared_language(view: Trials, settings: AssociationSettings) -> Estimates:
    """Share of trials with a candidate of the query's own language, `strict` or not."""
    trials = view["trials"].unique("trial_id", keep="first", maintain_order=True)
    shared = column(SHARED, trials["shares_language"].to_numpy())
    return summarise(Values.of(trials["trial_id"], [shared], clusters=trials["query_id"]), settings)


def _silhouettes(view: Trials, settings: AssociationSettings) -> Estimates | None:
    """Mean silhouette of each language's texts and each country's images, and of all.

    The texts of a country are those of its language, as in P's Table 8.
    """
    rows = Rows()
    language_of = view["trials"].select("country", "language").unique().sort("country", "language")
    for space, key in SPACES.items():
        points = view[space].filter(pl.col("silhouette").is_not_null())
        if not len(points):
            continue
        groups = points[key].unique().sort().to_list()
        silhouettes = points["silhouette"].to_numpy()
        matrix = np.column_stack(
            [silhouettes, *(np.where(points[key] == group, silhouettes, np.nan) for group in groups)]
        )
        means = Replicates.of(matrix, settings, space).split()
        counts = np.count_nonzero(~np.isnan(matrix), axis=0)
        rows.add(quantity(SILHOUETTE, space=space), means[0], counts[0])
        for group, mean, count in zip(groups, means[1:], counts[1:], strict=True):
            rows.add(quantity(SILHOUETTE, None, space=space, **{key: group}), mean, count)
            if key == "language":
                for country in language_of.filter(language=group)["country"]:
                    rows.add(quantity(SILHOUETTE, space=space, country=country), mean, count)
    return rows.estimates()


def _correlations(estimates: Estimates, settings: AssociationSettings) -> Estimates | None:
    """Pearson across countries of SP with each silhouette (P, Table 7); needs four countries that vary."""
    rows = Rows()
    for direction in settings.directions:
        for space in SPACES:
            pairs = sp_and_silhouette(estimates, direction, space)
            if len(pairs) < 4 or pairs["value"].n_unique() < 2 or pairs["silhouette"].n_unique() < 2:
                continue
            pearson = pearson_interval(pairs["value"].to_numpy(), pairs["silhouette"].to_numpy())
            rows.add_known(
                quantity(TOGETHER, direction=direction, space=space),
                (pearson.value, pearson.low, pearson.high),
                pearson.n,
                chance=0.0,
            )
    return rows.estimates()


def sp_and_silhouette(estimates: Estimates, direction: Direction, space: str) -> pl.DataFrame:
    """Countries with a finite SP: country, SP (value, low, high, n) and the silhouette in a space.

    In the space of texts the silhouette is that of the country's language, else of its images.
    """
    apart = {
        entry.quantity.keys["country"]: entry.value
        for entry in estimates.by("country", SILHOUETTE, space=space)
    }
    sp = estimates.by("country", "SP", direction=direction).table
    silhouettes = pl.Series("silhouette", [apart.get(name) for name in sp["country"]], dtype=pl.Float64)
    return (
        sp.select("country", "value", "low", "high", "n")
        .with_columns(silhouettes)
        .filter(pl.col("silhouette").is_not_null() & pl.col("value").is_finite())
    )
