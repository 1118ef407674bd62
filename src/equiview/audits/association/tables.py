"""A run's estimates in the layout of the tables of P.

Tables 2, 7, 8 and 11 have a row or rows for each model; here they are those of the run's encoder. Table 4
says how much is written in each country's language, tables 9 and 10 count the trials of the benchmark, by
country and by concept. All are of text to image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from equiview.audits.association.measure import RATES, SILHOUETTE, SPACES, TOGETHER
from equiview.audits.association.settings import DIRECTIONS
from equiview.data.countries import countries
from equiview.data.estimates import Estimates

TEXT_TO_IMAGE = DIRECTIONS[0]


def overall_wins(estimates: Estimates) -> pl.DataFrame:
    """Table 2: one row, the win rates of all trials in percent, and SP."""
    rates = {name: estimates.maybe(name, direction=TEXT_TO_IMAGE) for name in (*RATES, "SP")}
    percent = {name: 100 if name in RATES else 1 for name in rates}
    return pl.DataFrame(
        {name: [row and percent[name] * row.value] for name, row in rates.items()},
        schema=dict.fromkeys(rates, pl.Float64),
    )


def languages_by_country(estimates: Estimates) -> pl.DataFrame:
    """Table 4: the countries of the run's trials, their language, and its share of the web in percent.

    In P's order; a country that P lacks has null. Shares are those that ship with equiview.
    """
    known = countries().select("code", "country", "language_name", "commoncrawl_percent")
    named = _counts(estimates, "country").select("country").join(known, on="country", how="left")
    order = {country: place for place, country in enumerate(known["country"])}
    return (
        named.sort(pl.col("country").replace_strict(order, default=len(order)), "country")
        .rename({"code": "name", "language_name": "language", "commoncrawl_percent": "resources (%)"})
        .select("name", "country", "language", "resources (%)")
    )


def correlations(estimates: Estimates) -> pl.DataFrame:
    """Table 7: one row, Pearson across countries of SP with silhouettes of texts (TSC) and images (ISC)."""
    rows = {
        name: estimates.maybe(TOGETHER, direction=TEXT_TO_IMAGE, space=space)
        for name, space in zip(("TSC", "ISC"), SPACES, strict=True)
    }
    return pl.DataFrame(
        {name: [row and row.value] for name, row in rows.items()}, schema=dict.fromkeys(rows, pl.Float64)
    )


def silhouettes_by_country(estimates: Estimates) -> pl.DataFrame:
    """Table 8: rows SP, TS (text silhouette) and IS (image silhouette), a column for each country."""
    parts = [("SP", estimates.by("country", "SP", direction=TEXT_TO_IMAGE))]
    parts += [
        (name, estimates.by("country", SILHOUETTE, space=space))
        for name, space in zip(("TS", "IS"), SPACES, strict=True)
    ]
    return _by_country(parts)


def wins_by_country(estimates: Estimates) -> pl.DataFrame:
    """Table 11: rows M_sem, M_cul and M_non in percent, a column for each country."""
    parts = [(name, estimates.by("country", name, direction=TEXT_TO_IMAGE)) for name in RATES]
    return _by_country(parts, factor=100)


def trials_by_country(estimates: Estimates) -> pl.DataFrame:
    """Table 9: how many trials each country has, in the alphabet's order, and on average."""
    counts = _counts(estimates, "country")
    mean = pl.DataFrame({"country": ["Average"], "trials": [counts["trials"].mean()]})
    return pl.concat([counts.cast({"trials": pl.Float64}), mean])


def trials_by_concept(estimates: Estimates) -> pl.DataFrame:
    """Table 10: how many trials each concept has, in the alphabet's order."""
    return _counts(estimates, "concept")


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {
    "table-2": overall_wins,
    "table-4": languages_by_country,
    "table-7": correlations,
    "table-8": silhouettes_by_country,
    "table-9": trials_by_country,
    "table-10": trials_by_concept,
    "table-11": wins_by_country,
}
"""The tables of P by name."""


def _by_country(parts: Sequence[tuple[str, Estimates]], factor: float = 1) -> pl.DataFrame:
    """A row for each part, a column for each country in P's order; those that P lacks follow by name."""
    rows = [
        {"metric": name} | {row.quantity.keys["country"]: factor * row.value for row in estimates}
        for name, estimates in parts
    ]
    present = {country for row in rows for country in row} - {"metric"}
    codes = dict(countries().select("country", "code").iter_rows())
    order = [*(country for country in codes if country in present), *sorted(present - set(codes))]
    columns = {codes.get(country, country): [row.get(country) for row in rows] for country in order}
    return pl.DataFrame(
        {"metric": [row["metric"] for row in rows], **columns},
        schema={"metric": pl.String, **dict.fromkeys(columns, pl.Float64)},
    )


def _counts(estimates: Estimates, key: str) -> pl.DataFrame:
    rows = estimates.by(key, "M_sem", direction=TEXT_TO_IMAGE)
    counts = {row.quantity.keys[key]: row.n for row in rows}
    return pl.DataFrame(
        {key: list(counts), "trials": list(counts.values())}, schema={key: pl.String, "trials": pl.Int64}
    ).sort(key)
