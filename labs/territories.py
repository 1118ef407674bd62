"""Make src/equiview/data/territories.csv: the language in which each country is asked.

    python labs/territories.py

From Unicode CLDR, through Babel: of a country's official languages, that which most of its people know;
where it has none, that which most know. Names are CLDR's English ones, and further common ones. The
countries of 3XCM have the languages of that release (countries.csv), whatever CLDR says.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from babel import Locale
from babel.core import get_global

from equiview.data.languages import language_label

OURS = {
    "US": "en", "GB": "en", "AU": "en", "DE": "de", "CN": "zh", "JP": "ja", "FR": "fr", "ES": "es",
    "AR": "es", "PT": "pt", "BR": "pt", "SA": "ar", "TH": "th", "IN": "hi", "KE": "sw", "NG": "yo",
    "NO": "no", "SJ": "no",
}  # fmt: skip
"""What countries.csv says, by CLDR's codes; and Norwegian by the code of the 36 languages."""
ALIASES = {
    "BO": "Bolivia, Plurinational State of", "CD": "Democratic Republic of the Congo;DR Congo", "CG": "Congo",
    "CI": "Cote d'Ivoire;Ivory Coast", "CZ": "Czech Republic", "GB": "Great Britain", "HK": "Hong Kong",
    "IR": "Iran, Islamic Republic of", "KP": "North Korea", "KR": "South Korea;Republic of Korea;Korea",
    "LA": "Lao PDR", "MK": "Macedonia", "MM": "Myanmar;Burma", "PS": "Palestine", "RU": "Russian Federation",
    "SY": "Syrian Arab Republic", "SZ": "Swaziland", "TR": "Turkey", "TZ": "Tanzania, United Republic of",
    "US": "United States of America", "VE": "Venezuela, Bolivarian Republic of", "VN": "Viet Nam",
}  # fmt: skip
OFFICIAL = {"official", "de_facto_official"}
TARGET = Path(__file__).parents[1] / "src" / "equiview" / "data" / "territories.csv"


def territories() -> pl.DataFrame:
    """A row for each country: code, country, aliases between semicolons, language."""
    names, spoken = Locale("en").territories, get_global("territory_languages")
    rows = []
    for code in sorted(name for name in names if len(name) == 2 and name.isalpha() and spoken.get(name)):
        of_country = {key: known for key, known in spoken[code].items() if key != "und"}
        if not of_country:
            continue
        official = {key for key, known in of_country.items() if known["official_status"] in OFFICIAL}
        most = max(sorted(official or of_country), key=lambda key: of_country[key]["population_percent"])
        rows.append(
            (
                code,
                names[code],
                ALIASES.get(code, ""),
                OURS.get(code) or language_label(most.partition("_")[0]),
            )
        )
    return pl.DataFrame(rows, schema=["code", "country", "aliases", "language"], orient="row")


if __name__ == "__main__":
    territories().write_csv(TARGET)
