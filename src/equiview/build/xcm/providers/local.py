"""`folder:DIR`, `table:FILE` and `collected:DIR`: images that a user has, or whose addresses are listed.

    DIR/CONCEPT/COUNTRY/FILES     a search in English finds them in the order of their names

A table, `.csv` or `.parquet`, has columns as in `IMAGES`. Its rows are in the order of their rank. What an
earlier build collected is a table too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from equiview.build.xcm.providers.base import Found, Provider, Query
from equiview.build.xcm.steps import IMAGE, file_of, kept
from equiview.build.xcm.steps import IMAGES as FETCHED
from equiview.data.countries import countries
from equiview.errors import InputError
from equiview.io.files import content_of, is_file, plain_name
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_files
from equiview.io.tables import Column, Schema, read_table

if TYPE_CHECKING:
    from equiview.build.xcm.fetch import Web
    from equiview.io.progress import Progress

ORIGIN = {
    "title": "title of the image",
    "page": "address of the page that shows it",
    "author": "who made it",
    "licence": "short name of its licence",
    "licence_url": "address of its licence",
}
IMAGES = Schema(
    "images",
    (
        Column("concept", pl.String, "the concept searched for, in English"),
        Column("country", pl.String, "the country searched for"),
        Column("url", pl.String, "address of the image", nullable=True, optional=True),
        Column("path", pl.String, "its file, beside the table", nullable=True, optional=True),
        Column("query", pl.String, "eng or nav, the search that found it", nullable=True, optional=True),
        *(Column(name, pl.String, about, nullable=True, optional=True) for name, about in ORIGIN.items()),
    ),
)
ENGLISH, NATIVE = "eng", "nav"
Listed = dict[tuple[str, str, str], list[Found]]


class Local(Provider):
    """Images that are listed before anything is searched."""

    def __init__(self, argument: str, web: Web) -> None:
        super().__init__(argument, web)
        if not argument:
            raise InputError(f"{type(self).__name__.lower()}: needs a place after the colon, as folder:DIR")
        self.place = Path(argument).expanduser()
        self.listed = self._listed()

    @abstractmethod
    def _listed(self) -> Listed:
        """The images by concept, country and kind of search."""

    def search(self, query: Query, count: int) -> Sequence[Found]:
        """The first images listed for the concept, the country and the kind of search."""
        return self.listed.get((query.concept, query.country, query.kind), [])[:count]

    @property
    def base(self) -> Path:
        """The folder that paths begin in."""
        return self.place.parent if self.place.is_file() else self.place

    def content(self, found: Found) -> bytes:
        """The content of a file, or of an address."""
        return content_of(self.base / found.path) if found.path else super().content(found)

    def fingerprint(self, progress: Progress) -> str:
        """A hash of all that is listed, and of the content of the files."""
        every = [(key, found) for key, entries in sorted(self.listed.items()) for found in entries]
        files = [str(self.base / found.path) for _, found in every if found.path]
        hashes = hash_files(files, progress)
        return fingerprint(*every, *(found if isinstance(found, bytes) else "" for found in hashes))


class Folder(Local):
    """Images in folders `CONCEPT/COUNTRY`."""

    def _listed(self) -> Listed:
        if not self.place.is_dir():
            raise InputError(f"{self.place}: no such folder; images are in folders CONCEPT/COUNTRY below it")
        listed: Listed = {}
        known = set(countries()["country"])
        for folder in sorted(self.place.glob("*/*/")):
            concept, country = folder.parent.name, folder.name
            if country not in known:
                raise InputError(
                    f"{folder}: {country!r} is no country that is known; they are {', '.join(sorted(known))}"
                )
            files = sorted(path for path in folder.iterdir() if path.name[0] != "." and is_file(path))
            names = {path.relative_to(self.place).as_posix(): path.stem for path in files}
            listed[concept, country, ENGLISH] = [
                Found(name, title=title, path=name) for name, title in names.items()
            ]
        if not any(listed.values()):
            raise InputError(f"{self.place}: holds no image; put them in folders CONCEPT/COUNTRY")
        return listed


class Table(Local):
    """Addresses or files of images in a table."""

    def _listed(self) -> Listed:
        table = read_table(self.place, IMAGES)
        return listed(table, [f"{self.place}, row {row + 1}" for row in range(len(table))], str(self.place))


def listed(table: pl.DataFrame, places: Sequence[str], source: str) -> Listed:
    """The images of rows in the layout `IMAGES`; InputError names the place of a row that is wrong."""
    if not len(table):
        raise InputError(f"{source}: holds no image; at least one is needed")
    found: Listed = defaultdict(list)
    known = set(countries()["country"])
    for where, row in zip(places, table.iter_rows(named=True), strict=True):
        address, path, kind = row.get("url"), row.get("path"), row.get("query") or ENGLISH
        if address is None and path is None:
            raise InputError(f"{where}: needs a url or a path")
        if row["country"] not in known:
            raise InputError(
                f"{where}: no country {row['country']!r} is known; {', '.join(sorted(known))} are"
            )
        if kind not in (ENGLISH, NATIVE):
            raise InputError(f"{where}: query is {kind!r}; expected {ENGLISH} or {NATIVE}")
        file = plain_name(path, where) if path else ""
        origin = {name: row.get(name) or "" for name in ORIGIN}
        found[row["concept"], row["country"], kind].append(Found(address or file, path=file, **origin))
    return dict(found)


class Collected(Local):
    """What an earlier build collected, to build with other settings from."""

    def _listed(self) -> Listed:
        path = self.place / file_of(FETCHED)
        columns = (Column(name, dtype, "of an image", nullable=True) for name, dtype in IMAGE.items())
        table = read_table(path, Schema("images", tuple(columns)))
        listed: Listed = defaultdict(list)
        for row in kept(table).iter_rows(named=True):
            file = plain_name(row["file"], str(path))
            found = Found(row["url"], path=file, **{name: row[name] or "" for name in ORIGIN})
            listed[row["concept"], row["country"], row["query"]].append(found)
        return dict(listed)
