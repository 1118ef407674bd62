"""Languages by name, and pairs of them as a matrix."""

from __future__ import annotations

import polars as pl

from equiview.data.languages import languages


def by_family() -> dict[str, int]:
    """The place of each language when families stand together, most written first."""
    table = languages().with_row_index("at")
    table = table.with_columns(family_at=pl.col("at").min().over("family")).sort("family_at", "at")
    return {code: place for place, code in enumerate(table["code"])}


def name_of() -> dict[str, str]:
    """English names of languages by code."""
    return dict(languages().select("code", "name").iter_rows())


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
    both = pl.concat([rows.select(mirrored.columns), mirrored])
    diagonal = both.select("language", other="language").unique()
    place = by_family()
    at = [pl.col(name).replace_strict(place, default=len(place)) for name in ("language", "other")]
    table = pl.concat([both, diagonal], how="diagonal").sort(at[0], "language", at[1], "other")
    return table.with_columns(pl.col("language", "other").replace(name_of()))
