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
from equiview.errors import InputError
from equiview.io.tables import Column, Schema

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
    one any of the others'. Raises InputError if no trial can be made.
    """
    concept, country = images.attribute("concept"), images.attribute("country")
    labels = labels or [()] * len(images)
    shows = _incidence([[name, *more] for name, more in zip(concept, labels, strict=True)])
    concepts, countries = concept.rank("dense").to_numpy(), country.rank("dense").to_numpy()
    query_ids = {
        (row["concept"], row["country"]): row["id"]
        for row in texts.table.select("id", "concept", "country").iter_rows(named=True)
    }
    rng = np.random.default_rng(seed_for(seed, "trials"))
    rows = []
    for image in range(len(images)):
        compatriot = countries == countries[image]
        query_id = query_ids.get((concept[image], country[image]))
        semantic = _pick(rng, (concepts == concepts[image]) & ~compatriot)
        cultural = _pick(rng, compatriot & ~(shows @ shows[image]))
        if query_id is None or semantic is None or cultural is None:
            continue
        excluded = shows[image] | shows[semantic] | shows[cultural]
        other = _pick(rng, ~compatriot & (countries != countries[semantic]) & ~(shows @ excluded))
        if other is not None:
            rows.append((query_id, image, semantic, cultural, other))
    if not rows:
        raise InputError(
            f"{images.source}: no trial can be made; each needs three concepts and three countries"
        )
    ids = images.ids
    chosen_queries, chosen_images, *candidates = map(list, zip(*rows, strict=True))
    table = pl.DataFrame(
        {
            "trial_id": ids[chosen_images],
            "query_id": chosen_queries,
            "query_image_id": ids[chosen_images],
            **{f"{role}_id": ids[chosen] for role, chosen in zip(ROLES, candidates, strict=True)},
            "concept": concept[chosen_images],
            "country": country[chosen_images],
        }
    )
    return with_languages(table, images)


def with_languages(trials: pl.DataFrame, images: Items) -> pl.DataFrame:
    """Add the columns `language` and `shares_language`; InputError names a country without a language."""
    image_languages = languages_of(images.attribute("country"), images.source)
    language_of = dict(zip(images.ids, image_languages, strict=True))
    languages = languages_of(trials["country"], images.source)
    candidates = zip(languages, trials["semantic_id"], trials["nonrelevant_id"], strict=True)
    shares = [
        language in {language_of.get(semantic), language_of.get(other)}
        for language, semantic, other in candidates
    ]
    return trials.with_columns(languages, shares_language=pl.Series(shares, dtype=pl.Boolean))


def _incidence(concepts: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Which image shows which concept, `(n_images, n_concepts)`."""
    names = sorted({name for shown in concepts for name in shown})
    columns = {name: column for column, name in enumerate(names)}
    table = np.zeros((len(concepts), len(names)), dtype=bool)
    for row, shown in enumerate(concepts):
        table[row, [columns[name] for name in shown]] = True
    return table


def _pick(rng: np.random.Generator, eligible: NDArray[np.bool_]) -> int | None:
    rows = np.flatnonzero(eligible)
    return int(rng.choice(rows)) if rows.size else None
