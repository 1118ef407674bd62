"""A small world for the builder of triplets: drawings with flags in folders, and what is asked of them."""

from __future__ import annotations

import io
from pathlib import Path

import PIL.Image
import polars as pl

from equiview.benchmarks.pictograms import drawings, flagged
from equiview.benchmarks.pictograms_culture import spoken_names
from equiview.data.countries import countries
from equiview.io.pictures import encoded

CONCEPTS = {"1f355": "pizza", "1f697": "automobile", "1f436": "dog face", "1f333": "deciduous tree"}
COUNTRIES = ("Germany", "Japan", "Kenya")
WORDS = {
    "labeller": "none",
    "text_encoder": "none",
    "encoder": "none",
    "countries": COUNTRIES,
    "smallest": 64,
    "people": 0,
}
"""Settings that need no encoder."""


def picture(code: str, country: str) -> bytes:
    """A drawing with the flag of a country, turned by another angle in each."""
    (drawing,) = drawings().filter(concept=code)["picture"]
    flag = dict(countries().select("country", "code").iter_rows())[country]
    upright = PIL.Image.open(io.BytesIO(flagged(drawing, flag)))
    return encoded(upright.rotate(40 * COUNTRIES.index(country), fillcolor="white"), "PNG")


def folder(place: Path) -> Path:
    """One drawing of each concept with each flag, in folders CONCEPT/COUNTRY."""
    for code, concept in CONCEPTS.items():
        for country in COUNTRIES:
            file = place / concept / country / "1.png"
            file.parent.mkdir(parents=True)
            file.write_bytes(picture(code, country))
    return place


def concepts(path: Path) -> Path:
    """The table of concepts with their names."""
    rows = []
    for code, concept in CONCEPTS.items():
        named = dict(spoken_names().filter(concept=code).select("language", "text").iter_rows())
        rows.append({"concept": concept} | {f"name_{lang}": named[lang] for lang in ("de", "ja", "sw")})
    pl.DataFrame(rows).write_csv(path)
    return path
