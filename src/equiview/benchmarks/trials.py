"""Trials of association bias (P, section 3.2): a query and three images that share only what they should.

For a query of one concept and country: the semantic image has its concept and another country, the cultural
one its country and another concept, the non-relevant one neither. Beyond P, the non-relevant image also
shares neither concept with the cultural nor country with the semantic one, so that a win is of one cause.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.countries import languages_of
from equiview.data.items import Items
from equiview.data.seeds import seed_for
from equiview.data.tables import Column, Schema
from equiview.errors import InputError

ROLES = ("semantic", "cultural", "nonrelevant")

SCHEMA = Schema(
    "trials",
    (
        Column("trial_id", pl.String, "a distinct name of the trial", unique=True),
        Column("query_id", pl.String, "the text asked"),
        Column("query_image_id", pl.String, "the query culture's own image"),
        *(Column(f"{role}_id", pl.String, f"the {role} image") for role in ROLES),
        Column("concept", pl.String, "concept of the query"),
        Column("country", pl.String, "country of the query"),
        Column("language", pl.String, "language of the query"),
        Column(
            "shares_language", pl.Boolean, "the semantic or non-relevant country speaks the query's language"
        ),
    ),
)


def make_trials(
    images: Items, texts: Items, *, seed: int = 0, labels: Sequence[Sequence[str]] | None = None
) -> pl.DataFrame:
    """One trial for each image whose candidates exist, as a table that satisfies `SCHEMA`.

    `images` have attributes `concept` and `country`; `texts` have them too, and the text of an image's
    concept and country is its query. `labels` gives for each image further concepts that it shows: neither
    the cultural nor the non-relevant image may show any concept of the query's image, nor the non-relevant
    one any of the others'. Raises InputError when no trial can be made.
    """
    concept, country = images.attribute("concept"), images.attribute("country")
    shown = [[own, *more] for own, more in zip(concept, labels or [()] * len(images), strict=True)]
    shows = _incidence(shown)
    concepts, countries = concept.rank("dense").to_numpy(), country.rank("dense").to_numpy()
    asked = {
        (row["concept"], row["country"]): row["id"]
        for row in texts.table.select("id", "concept", "country").iter_rows(named=True)
    }
    rng = np.random.default_rng(seed_for(seed, "trials"))
    rows = []
    for query in range(len(images)):
        here = countries == countries[query]
        text = asked.get((concept[query], country[query]))
        semantic = _pick(rng, (concepts == concepts[query]) & ~here)
        cultural = _pick(rng, here & ~(shows @ shows[query]))
        if text is None or semantic is None or cultural is None:
            continue
        taken = shows[query] | shows[semantic] | shows[cultural]
        other = _pick(rng, ~here & (countries != countries[semantic]) & ~(shows @ taken))
        if other is not None:
            rows.append((query, text, semantic, cultural, other))
    if not rows:
        raise InputError(
            f"{images.source}: no trial can be made; each needs three concepts and three countries"
        )
    ids = images.ids
    queries, asked_texts, *roles = map(list, zip(*rows, strict=True))
    table = pl.DataFrame(
        {
            "trial_id": ids[queries],
            "query_id": asked_texts,
            "query_image_id": ids[queries],
            **{f"{role}_id": ids[chosen] for role, chosen in zip(ROLES, roles, strict=True)},
            "concept": [concept[i] for i in queries],
            "country": [country[i] for i in queries],
        }
    )
    return with_languages(table, images)


def with_languages(trials: pl.DataFrame, images: Items) -> pl.DataFrame:
    """Add `language` and `shares_language`, and check the whole against `SCHEMA`."""
    of_image = images.table.select("id", "country").with_columns(
        languages_of(images.attribute("country"), images.source)
    )
    language = dict(zip(of_image["id"], of_image["language"], strict=True))
    spoken = languages_of(trials["country"], images.source)
    shares = [
        own in {language.get(semantic), language.get(other)}
        for own, semantic, other in zip(spoken, trials["semantic_id"], trials["nonrelevant_id"], strict=True)
    ]
    return SCHEMA.check(trials.with_columns(spoken, shares_language=pl.Series(shares)), images.source)


def _incidence(shown: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Which image shows which concept, `(n_images, n_concepts)`."""
    names = {name: column for column, name in enumerate(sorted({name for one in shown for name in one}))}
    table = np.zeros((len(shown), len(names)), dtype=bool)
    for row, one in enumerate(shown):
        table[row, [names[name] for name in one]] = True
    return table


def _pick(rng: np.random.Generator, fits: NDArray[np.bool_]) -> int | None:
    candidates = np.flatnonzero(fits)
    return int(rng.choice(candidates)) if candidates.size else None
