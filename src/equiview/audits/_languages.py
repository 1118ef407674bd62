"""Names of languages, and their order in matrices."""

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
