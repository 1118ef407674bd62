"""Trials of association bias (P, section 3.2): a query and three images that share only what they should.

For a query of one concept and country: the semantic image has its concept and another country, the cultural
one its country and another concept, the non-relevant one neither. Beyond P, the non-relevant image also
shares neither concept with the cultural nor country with the semantic one, so that a win is of one cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
NO_QUERY = "no text names the concept in the language of the country"
NO_SEMANTIC = "no image of another country shows the concept"
NO_CULTURAL = "no image of the country shows another concept alone"
NO_OTHER = "no image of a third country shows a third concept alone"


def make_trials(
    images: Items, texts: Items, *, seed: int = 0, labels: Sequence[Sequence[str]] | None = None
) -> pl.DataFrame:
    """One trial for each image whose candidates exist, as a table that satisfies `SCHEMA`.

    `images` have attributes `concept` and `country`; `texts` have them too, and the text of an image's
    concept and country is its query. `labels` gives for each image further concepts that it shows: neither
    the cultural nor the non-relevant image may show any concept of the query's image, nor the non-relevant
    one any of the others'. Raises InputError if no trial can be made.
    """
    query_of = {
        (row["concept"], row["country"]): row["id"]
        for row in texts.table.select("id", "concept", "country").iter_rows(named=True)
    }
    return with_languages(choose_trials(images, query_of, seed=seed, labels=labels)[0], images)


def choose_trials(
    images: Items,
    query_of: Mapping[tuple[str, str], str],
    *,
    seed: int = 0,
    labels: Sequence[Sequence[str]] | None = None,
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """The trials of `make_trials` without languages, and the images that ask nothing, by reason.

    `query_of` is the text of a concept and country. Candidates are drawn in the order of the images, from
    one stream of random numbers, so that the same input gives the same trials. Time grows with the square of
    the images and memory with their labels: 60,000 images take some seconds.
    """
    concept, country = images.attribute("concept"), images.attribute("country")
    labels = labels or [()] * len(images)
    rng = np.random.default_rng(seed_for(seed, "trials"))
    draw = _Draw(concept.to_list(), country.to_list(), labels, rng)
    rows, left = [], dict[str, list[str]]()
    for image, (name, place) in enumerate(zip(concept, country, strict=True)):
        query_id = query_of.get((name, place))
        chosen = draw.candidates(image, asked=query_id is not None)
        if isinstance(chosen, str):
            left.setdefault(chosen, []).append(images.ids[image])
        else:
            rows.append((query_id, image, *chosen))
    if not rows:
        said = "; ".join(f"{reason} ({len(ids)} images)" for reason, ids in left.items())
        raise InputError(
            f"{images.source}: no trial can be made; each needs three concepts and three countries: {said}"
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
    return table, left


def with_languages(
    trials: pl.DataFrame, images: Items, language_of: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Add the columns `language` and `shares_language`; InputError names a country without a language.

    `language_of` is the language of each country; by default that of `equiview.data.countries`.
    """
    countries = images.attribute("country")
    if language_of is None:
        known = pl.concat([countries, trials["country"].alias("country")]).unique(maintain_order=True)
        language_of = dict(zip(known, languages_of(known, images.source), strict=True))
    spoken = {name: language_of[place] for name, place in zip(images.ids, countries, strict=True)}
    languages = [language_of[place] for place in trials["country"]]
    candidates = zip(languages, trials["semantic_id"], trials["nonrelevant_id"], strict=True)
    shares = [
        language in {spoken.get(semantic), spoken.get(other)} for language, semantic, other in candidates
    ]
    return trials.with_columns(
        language=pl.Series(languages, dtype=pl.String), shares_language=pl.Series(shares, dtype=pl.Boolean)
    )


class _Draw:
    """Draws the candidates of one image after the other."""

    def __init__(
        self,
        concepts: Sequence[str],
        countries: Sequence[str],
        labels: Sequence[Sequence[str]],
        rng: np.random.Generator,
    ) -> None:
        self.concepts, self.countries, self.rng = concepts, countries, rng
        self.shows = [tuple({name, *more}) for name, more in zip(concepts, labels, strict=True)]
        self.of_concept = _rows_of([(name,) for name in concepts])
        self.of_country = _rows_of([(name,) for name in countries])
        self.showing = _rows_of(self.shows)
        self.free = np.ones(len(concepts), dtype=bool)

    def candidates(self, image: int, *, asked: bool) -> tuple[int, int, int] | str:
        """Rows of the semantic, the cultural and the non-relevant image; or what there is not.

        `asked` is whether there is a text that asks for the image.
        """
        country = self.countries[image]
        compatriots = self.of_country[country]
        namesakes = self.of_concept[self.concepts[image]]
        semantic = self._pick(namesakes, [compatriots])
        cultural = self._pick(compatriots, [self.showing[name] for name in self.shows[image]])
        if not asked:
            return NO_QUERY
        if semantic is None:
            return NO_SEMANTIC
        if cultural is None:
            return NO_CULTURAL
        shown = {*self.shows[image], *self.shows[semantic], *self.shows[cultural]}
        other = self._pick(
            None,
            [compatriots, self.of_country[self.countries[semantic]], *(self.showing[name] for name in shown)],
        )
        return NO_OTHER if other is None else (semantic, cultural, other)

    def _pick(self, among: NDArray[np.int64] | None, barred: Sequence[NDArray[np.int64]]) -> int | None:
        """A row by lot, of `among` or of all, that none of `barred` holds."""
        for rows in barred:
            self.free[rows] = False
        eligible = np.flatnonzero(self.free) if among is None else among[self.free[among]]
        for rows in barred:
            self.free[rows] = True
        return int(eligible[self.rng.integers(len(eligible))]) if len(eligible) else None


def _rows_of(names: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    """The rows that have each name, in order."""
    rows: dict[str, list[int]] = {}
    for row, several in enumerate(names):
        for name in several:
            rows.setdefault(name, []).append(row)
    return {name: np.asarray(of, dtype=np.int64) for name, of in rows.items()}
