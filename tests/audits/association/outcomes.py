"""Observations of trials whose winners are given, without any encoder."""

import numpy as np
import polars as pl

from equiview.audits.association import ASSOCIATION
from equiview.benchmarks.trials import ROLES
from equiview.data.countries import countries
from equiview.data.observations import Observations
from tests.audits import steps

TEXT = "text-to-image"
LANGUAGE = dict(countries().select("country", "language").iter_rows())


def counted(wins):
    """Scores of each country's trials, `{country: (semantic, cultural, other)}` counts of wins."""
    return {country: np.repeat(np.eye(3), counts, axis=0) for country, counts in wins.items()}


def observations(scores, texts=None, images=None):
    """Tables of one direction; `texts` and `images` give silhouettes by language and by country."""
    country = [name for name, table in scores.items() for _ in range(len(table))]
    ids = [str(row) for row in range(len(country))]
    table = np.concatenate(list(scores.values()))
    trials = pl.DataFrame(
        {
            **dict.fromkeys(
                ("trial_id", "query_id", "query_image_id", *(f"{role}_id" for role in ROLES)), ids
            ),
            "concept": [f"c{row % 3}" for row in range(len(ids))],
            "country": country,
            "language": [LANGUAGE[name] for name in country],
            "shares_language": False,
            "direction": TEXT,
            **{f"{role}_score": table[:, place] for place, role in enumerate(ROLES)},
        }
    )
    return Observations(
        {"trials": trials, "texts": _space("language", texts), "images": _space("country", images)}
    )


def _space(key, silhouettes):
    known = silhouettes or {}
    schema = {key: pl.String, "silhouette": pl.Float64}
    return pl.DataFrame({key: list(known), "silhouette": list(known.values())}, schema=schema)


def measured(scores, **settings):
    """Estimates and settings of an audit of these scores, text to image."""
    space = {name: settings.pop(name) for name in ("texts", "images") if name in settings}
    options = ASSOCIATION.configure({"replicates": 200, "directions": [TEXT], **settings})
    return steps.measured(ASSOCIATION, observations(scores, **space), options), options


def judged(scores, **settings):
    """The verdict of these scores."""
    return ASSOCIATION.judge(*measured(scores, **settings))
