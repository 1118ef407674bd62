"""Make src/equiview/data/web_shares.csv: how much of the web each language has, as Common Crawl counts it.

    python labs/web_shares.py languages.csv

`languages.csv` is plots/languages.csv of https://github.com/commoncrawl/cc-crawl-statistics, in any version
that has the crawl. Languages are called by their codes and English names in Unicode CLDR (through Babel).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
from babel import Locale
from babel.core import get_global

from equiview.data.languages import languages

CRAWL = "CC-MAIN-2025-18"
"""The crawl that paper P took its tiers from."""
UNKNOWN = "<unknown>"
ITSELF = {"bih"}
"""Groups of languages that CLDR replaces by one of them."""
NAMES = {"bih": "Bihari languages", "lif": "Limbu"} | dict(languages().select("code", "name").iter_rows())
TARGET = Path(__file__).parents[1] / "src" / "equiview" / "data" / "web_shares.csv"


def shares(published: pl.DataFrame) -> pl.DataFrame:
    """A row for each language of the crawl, most written first."""
    shorter, names = get_global("language_aliases"), Locale("en").languages
    rows = published.filter(pl.col("crawl") == CRAWL, pl.col("primary_language") != UNKNOWN)
    codes = [code if code in ITSELF else shorter.get(code, code) for code in rows["primary_language"]]
    return rows.select(
        code=pl.Series(codes),
        iso639_3="primary_language",
        name=pl.Series([NAMES.get(code) or names[code] for code in codes]),
        pages="pages",
        commoncrawl_percent="%pages/crawl",
    ).sort("pages", descending=True)


if __name__ == "__main__":
    shares(pl.read_csv(sys.argv[1])).write_csv(TARGET)
