"""The input of builders: places, each with pictures, names, and an encyclopedia's article.

    DIR/landmarks.csv or another table        one row a place, columns as in `LANDMARKS`
    DIR/images/LANDMARK_ID/                   its pictures, in the order of their names
    DIR/articles/LANDMARK_ID.txt              its English article; only KnowRecall needs it

A column `title_xx` is the title of its article in language xx, empty for no article.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview.data.languages import language_label, region_languages
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_files
from equiview.io.progress import Progress
from equiview.io.tables import TABLES, Column, Schema, read_table, table_named
from equiview.making.card import Input

LANDMARKS = Schema(
    "landmarks",
    (
        Column("landmark_id", pl.String, "a distinct name of the place", unique=True),
        Column("language", pl.String, "the language spoken where it is"),
        Column("name", pl.String, "its English name"),
        Column("aliases", pl.String, "other names, between semicolons", nullable=True, optional=True),
        Column("popularity", pl.Float64, "how well known, such as page views", nullable=True, optional=True),
    ),
)
TITLE = "title_"
PICTURES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True, eq=False)
class Landmark:
    """A place; `titles` are its names by language, `pictures` its files in the order of their names."""

    id: str
    language: str
    name: str
    aliases: tuple[str, ...]
    titles: Mapping[str, str]
    pictures: tuple[Path, ...]
    popularity: float

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which it is known, distinct."""
        return tuple(dict.fromkeys(filter(None, (self.name, *self.aliases, *self.titles.values()))))


def read_landmarks(place: Path) -> list[Landmark]:
    """The places of a folder; InputError for a table that is missing or wrong, naming file and row."""
    path = table_named(place, "landmarks")
    if path is None:
        raise InputError(f"{place}: holds no landmarks.csv, nor one that ends in {', '.join(TABLES[1:])}")
    table = read_table(path, LANDMARKS)
    if not len(table):
        raise InputError(f"{path}: holds no place; at least one is needed")
    titled = [language_label(name.removeprefix(TITLE)) for name in table.columns if name.startswith(TITLE)]
    if twice := sorted({language for language in titled if titled.count(language) > 1}):
        raise InputError(f"{path}: two columns hold titles in {twice[0]}; leave one out")
    spoken = region_languages(table["language"], (), str(path))
    table = table.with_columns(spoken.alias("language"))
    for row, name in enumerate(table["landmark_id"], start=1):
        if not re.fullmatch(r"[\w.-]+", name) or set(name) <= {"."}:
            raise InputError(
                f"{path}: column 'landmark_id', row {row}: {name!r} names a folder; it may hold letters, "
                "digits, '.', '_' and '-' only"
            )
    return [_landmark(row, place) for row in table.iter_rows(named=True)]


def as_input(place: Path, landmarks: Sequence[Landmark], progress: Progress, *texts: str) -> Input:
    """Places as an input of a benchmark, with a fingerprint of rows, pictures and `texts`."""
    pictures = [str(path) for landmark in landmarks for path in landmark.pictures]
    hashes = hash_files(pictures, progress)
    names = (Path(path).name for path in pictures)
    rows = (
        (p.id, p.language, p.name, p.aliases, sorted(p.titles.items()), p.popularity, len(p.pictures))
        for p in landmarks
    )
    whole = fingerprint(*rows, *names, *hashes, *texts)
    return Input(name=place.resolve().name, fingerprint=whole)


def article_of(landmark: Landmark, place: Path) -> str:
    """The English article of a place, without blank ends; InputError where it is missing or empty."""
    path = place / "articles" / f"{landmark.id}.txt"
    try:
        text = content_of(path).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    if not text:
        raise InputError(f"{path}: is empty; every place needs an article, or leave its row out")
    return text


def _landmark(row: Mapping[str, str | float | None], place: Path) -> Landmark:
    name = str(row["landmark_id"])
    folder, aliases = place / "images" / name, str(row.get("aliases") or "").split(";")
    found = folder.iterdir() if folder.is_dir() else ()
    titles = {
        language_label(column.removeprefix(TITLE)): str(value).replace("_", " ").strip()
        for column, value in row.items()
        if column.startswith(TITLE) and value and str(value).strip()
    }
    return Landmark(
        id=name,
        language=str(row["language"]),
        name=str(row["name"]).strip(),
        aliases=tuple(alias.strip() for alias in aliases if alias.strip()),
        titles=titles,
        pictures=tuple(sorted(path for path in found if path.suffix.lower() in PICTURES)),
        popularity=float(row.get("popularity") or 0.0),
    )
