"""Charts of estimates: values with their intervals, matrices; languages by name, and pairs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import polars as pl
from typing_extensions import Unpack

from equiview.data.figures import Chart, Mark
from equiview.data.languages import known_languages, language_names, languages
from equiview.data.roles import TIER_ROLES, Role

MEASURED = ("value", "low", "high", "n")
"""Columns of an estimate that a chart shows."""
BY_WEB = "language, from most to least written on the web"
"""Title of an axis of languages that `named` sorted."""


def by_family() -> dict[str, int]:
    """The place of each language in an order by families, most written first."""
    table = languages().with_row_index("at")
    table = table.with_columns(family_at=pl.col("at").min().over("family")).sort("family_at", "at")
    return {code: place for place, code in enumerate(table["code"])}


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the languages' names and tiers, and sort from most to least written on the web."""
    return (
        rows.drop("tier", strict=False)
        .join(known_languages(), left_on="language", right_on="code", how="left", maintain_order="left")
        .with_columns(pl.col("name").fill_null(pl.col("language")), pl.col("tier").fill_null("unknown"))
        .sort(
            "commoncrawl_percent", "language", descending=[True, False], nulls_last=True, maintain_order=True
        )
    )


class Scale(TypedDict, total=False):
    """Options of the scale of a chart; see `Chart`."""

    percent: bool
    points: bool
    log: bool
    reference: Mapping[str, float]


class Look(Scale, total=False):
    """Further options of a chart."""

    color: str
    roles: Mapping[str, Role]
    domain: tuple[str, ...]
    marker: str | None
    label: str


def intervals(
    *,
    name: str,
    title: str,
    see: str,
    table: pl.DataFrame,
    x: tuple[str, str],
    y_title: str,
    mark: Mark = "points",
    **look: Unpack[Look],
) -> Chart:
    """The values of estimates with their intervals; `x` is a column and its title."""
    return Chart(name, title, see, table, mark, x[0], "value", x[1], y_title, low="low", high="high", **look)


def matrix(
    *,
    name: str,
    title: str,
    see: str,
    table: pl.DataFrame,
    x: tuple[str, str],
    y: tuple[str, str],
    **scale: Unpack[Scale],
) -> Chart:
    """The values of estimates as a heat map; `x` and `y` are columns and their titles."""
    return Chart(name, title, see, table, "heatmap", x[0], y[0], x[1], y[1], color="value", **scale)


def points_by_language(
    table: pl.DataFrame, *, name: str, title: str, see: str, y_title: str, percent: bool
) -> Chart:
    """A point with its interval for each language, from the most to the least written, coloured by tier.

    `table` has name, language, tier, value, low, high and n, and may have chance.
    """
    columns = ("name", "language", "tier", *MEASURED, "chance")
    return intervals(
        name=name,
        title=title,
        see=see,
        table=table.select(column for column in columns if column in table.columns),
        x=("name", BY_WEB),
        y_title=y_title,
        color="tier",
        roles=TIER_ROLES,
        label="language",
        percent=percent,
    )


def square(rows: pl.DataFrame, *, sign: int) -> pl.DataFrame:
    """Pairs given once, `language` and `other`, as a full matrix by name, families together.

    The other half has the same values, or with `sign` -1 their opposites; the diagonal is empty.
    """
    ends = ("low", "high") if sign > 0 else ("high", "low")
    mirrored = rows.select(
        pl.col("other").alias("language"),
        pl.col("language").alias("other"),
        (sign * pl.col("value")).alias("value"),
        *((sign * pl.col(end)).alias(name) for name, end in zip(("low", "high"), ends, strict=True)),
        "n",
    )
    return in_families(pl.concat([rows.select(mirrored.columns), mirrored]), "language", "other")


def in_families(rows: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Pairs of languages by name, families together, with empty rows where the diagonal is missing."""
    diagonal = rows.select(first, pl.col(first).alias(second)).unique(maintain_order=True)
    missing = diagonal.join(rows, on=[first, second], how="anti", maintain_order="left")
    place = by_family()
    at = [pl.col(name).replace_strict(place, default=len(place)) for name in (first, second)]
    table = pl.concat([rows, missing], how="diagonal").sort(at[0], first, at[1], second)
    return table.with_columns(pl.col(first, second).replace(language_names()))
