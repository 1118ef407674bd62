"""What culture pulls, with languages as the independent units: each language counts once.

The queries of a language share its place in the encoder's space. That place may lie towards its country's
images by accident, so that many trials of one language are no evidence of a learned tie, and a random
direction for each language would pass for one. Over languages, a random direction is as often away from the
country as towards it: that is what the test holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.benchmarks.trials import ROLES
from equiview.data.estimates import Estimates
from equiview.stats import sign_flip_interval, sign_flip_test

PULL = "M_cul - M_non"
MEAN_PULL = "mean pull of languages"
TIED = "tied trials"
TO_CULTURE, FROM_CULTURE = "to-culture", "from-culture"
"""The key `ties`: who is given the tied trials, where that is varied."""
SCORES = tuple(f"{role}_score" for role in ROLES)
Floats = NDArray[np.float64]


def mean_pulls(trials: pl.DataFrame, direction: Direction, settings: AssociationSettings) -> Estimates:
    """The mean pull of the languages of one direction's scored trials, and how many trials are ties.

    Where there are ties, the mean pull is also estimated with every tie decided for the query's culture, and
    against it.
    """
    best = _best(trials)
    tied = float((best.sum(axis=1) > 1).mean())
    pulls: Mapping[str | None, Floats] = {None: trials[PULL].to_numpy()}
    if tied:
        semantic, cultural, other = best.T
        pulls = {
            **pulls,
            TO_CULTURE: np.where(cultural, 1.0, np.where(semantic, 0.0, -1.0)),
            FROM_CULTURE: np.where(other, -1.0, np.where(semantic, 0.0, 1.0)),
        }
    rows: list[dict[str, Any]] = [
        {"metric": TIED, "value": tied, "low": tied, "high": tied, "n": len(trials), "direction": direction}
    ]
    rows += [
        {"metric": MEAN_PULL, "direction": direction, "ties": ties, "chance": 0.0}
        | _over_languages(trials, won, settings)
        for ties, won in pulls.items()
    ]
    known = [{key: entry for key, entry in row.items() if entry is not None} for row in rows]
    return Estimates.of_rows(known)


def query_test(trials: pl.DataFrame, settings: AssociationSettings, purpose: str) -> float:
    """P value of these trials having no pull, by flipping the signs of queries."""
    return float(
        sign_flip_test(
            trials[PULL].to_numpy(),
            clusters=trials["query_id"].rank("dense").to_numpy().astype(np.int64),
            replicates=settings.replicates,
            seed=settings.seed_of(f"{purpose}.pull"),
        )
    )


def _best(trials: pl.DataFrame) -> NDArray[np.bool_]:
    """Which images have the highest score of their trial, `(n_trials, 3)`."""
    scores = trials.select(SCORES).to_numpy()
    return np.asarray(scores == scores.max(axis=1, keepdims=True))


def _over_languages(trials: pl.DataFrame, won: Floats, settings: AssociationSettings) -> dict[str, float]:
    """Mean, interval, p and number of languages."""
    languages = (
        trials.select("language", "query_id", won=won)
        .group_by("language", maintain_order=True)
        .agg("won", queries=pl.col("query_id").n_unique())
        .with_columns(pl.col("won").list.mean())
        .sort("won", "queries", maintain_order=True)
    )
    pulls = languages["won"].to_numpy()
    seed = settings.seed_of("languages")
    mean, reach = float(pulls.mean()), _least_reach(languages["queries"].to_numpy())
    low, high = sign_flip_interval(pulls, replicates=settings.replicates, seed=seed)
    p = float(sign_flip_test(pulls, replicates=settings.replicates, seed=seed))
    return {
        "value": mean,
        "low": max(min(low, mean - reach), -1.0),
        "high": min(max(high, mean + reach), 1.0),
        "n": len(pulls),
        "p": p,
        "p_holm": p,  # the only test that decides the finding
    }


def _least_reach(queries: NDArray[np.int64]) -> float:
    """How far the mean over languages may be off although no query was lost; `queries` counts those of each.

    The adjusted interval of a difference of paired shares, which adds a win and a loss to what was seen
    (Bonett and Price, 2012), here shared among the languages; about 2.8 / n for n queries.
    """
    added = 2 / len(queries)
    return float(NormalDist().inv_cdf(0.975) * np.sqrt((added / (queries + added) ** 2).sum()) / len(queries))
