"""Trials of association bias from any benchmark whose images say what they show and where they are of.

Images have `concept` and `country`, and perhaps `shows`: all concepts that an image shows, between semicolons
(or a list), so that no candidate shows a concept that it must not. Texts with a `concept` are its names. An
image is asked for by the name of its concept in the language of its country: the language of the name whose
`country` it is where names have that column, else that of `equiview.data.countries`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.trials import SCHEMA, choose_trials, with_languages
from equiview.data.countries import languages_of
from equiview.data.items import Items
from equiview.data.labels import checked_labels
from equiview.errors import InputError, NotApplicableError
from equiview.io.notices import notice

SEED = 0
LABELS = ("concept", "country")
LEAST = 3
"""Concepts and countries that a trial takes."""


def trials_of(benchmark: Benchmark) -> pl.DataFrame:
    """The trials that a benchmark comes with, or those made of its images and texts, as `SCHEMA` says.

    The same images and texts give the same trials. How many images ask nothing, and why, is said. InputError
    for a benchmark that has neither trials nor what they are made of; for an image without a concept or a
    country; for two names of a concept in one language; for a country whose language is not known; and where
    no trial can be made.
    """
    if "trials" in benchmark.tables:
        return benchmark.need_table("trials", SCHEMA)
    texts = benchmark.texts
    lacking = [f"images have no {name!r}" for name in LABELS if name not in benchmark.images.table.columns]
    if texts is None or not len(_names_in(texts)):
        lacking.append("texts have no 'concept'")
    if lacking or texts is None:
        raise NotApplicableError(
            f"benchmark {benchmark.name!r} has no trials of association; use pictograms-culture or 3xcm:DIR, "
            f"or images with concept and country and texts that name the concepts ({', '.join(lacking)})"
        )
    images = _labelled(benchmark.images)
    _check_varied(images)
    query_of, language_of = _queries(texts, images)
    trials, left = choose_trials(images, query_of, seed=SEED, labels=_shown(benchmark.images))
    for reason, ids in left.items():
        concept, country = images.table.filter(id=ids[0]).row(0)[1:]
        notice(
            f"{images.source}: {len(ids)} of {len(images)} images have no trial of their own: {reason} (as "
            f"{ids[0]!r}: {concept}, {country})"
        )
    return SCHEMA.check(with_languages(trials, images, language_of), images.source)


def _labelled(images: Items) -> Items:
    """The images' ids with their concepts and countries alone, as they are read."""
    columns = {name: _read(images, name) for name in LABELS}
    return Items("image", pl.DataFrame({"id": images.ids, **columns}), images.source)


def _read(items: Items, name: str) -> pl.Series:
    """A column of labels, cleaned; InputError for one that is missing."""
    labels = items.labels(name)
    if labels.null_count():
        row = labels.is_null().arg_true()[0]
        raise InputError(
            f"{items.source}: column {name!r}, row {row + 1}: {items.kind} {items.ids[row]!r} has none "
            f"({labels.null_count()} of {len(items)} have none); fill it in, or leave the {items.kind} out"
        )
    return labels


def _check_varied(images: Items) -> None:
    for name in LABELS:
        values = sorted(images.table[name].unique())
        if len(values) < LEAST:
            raise NotApplicableError(
                f"{images.source}: column {name!r} holds {', '.join(map(repr, values))} alone; no trial can "
                "be made, each needs three concepts and three countries"
            )


def _shown(images: Items) -> list[list[str]] | None:
    """Further concepts that each image shows, from its column `shows`."""
    if "shows" not in images.table.columns:
        return None
    column = images.table["shows"]
    if column.dtype != pl.List(pl.String):
        column = column.cast(pl.String).str.split(";")
    rows = pl.DataFrame({"row": range(len(column)), "shows": column}).explode("shows")
    rows = rows.with_columns(
        checked_labels(rows["shows"], images.source, (), kept=images.kept or ())
    ).drop_nulls()
    shown: list[list[str]] = [[] for _ in range(len(column))]
    for row, name in rows.iter_rows():
        shown[row].append(name)
    return shown


def _names_in(texts: Items) -> NDArray[np.int64]:
    """The rows of the texts that name a concept."""
    if "concept" not in texts.table.columns:
        return np.empty(0, dtype=np.int64)
    return texts.table["concept"].is_not_null().arg_true().to_numpy().astype(np.int64)


def _queries(texts: Items, images: Items) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """The text of each concept and country, and the language of each country."""
    names = texts.take(_names_in(texts))
    table = names.table.select("id", "language", concept=_read(names, "concept"))
    language_of: dict[str, str] = {}
    if "country" in names.table.columns:
        table = table.with_columns(country=_read(names, "country"))
        for country, spoken in table.group_by("country", maintain_order=True).agg("language").iter_rows():
            if len(several := sorted(set(spoken))) > 1:
                raise InputError(
                    f"{texts.source}: {country!r} is asked in {' and '.join(several)}; all names for a "
                    "country must be in one language"
                )
            language_of[country] = spoken[0]
    countries = images.table["country"].unique(maintain_order=True)
    unsaid = countries.filter(~countries.is_in(list(language_of)))
    language_of |= dict(zip(unsaid, languages_of(unsaid, images.source), strict=True))
    if "country" not in table.columns:
        spoken_in = pl.DataFrame({"country": list(language_of), "language": list(language_of.values())})
        table = table.join(spoken_in, on="language", maintain_order="left")
    query_of: dict[tuple[str, str], str] = {}
    for name, concept, country in table.select("id", "concept", "country").iter_rows():
        if (other := query_of.setdefault((concept, country), name)) != name:
            raise InputError(
                f"{texts.source}: texts {other!r} and {name!r} both name {concept!r} for {country}; keep one "
                "name of a concept in a language"
            )
    return query_of, language_of
