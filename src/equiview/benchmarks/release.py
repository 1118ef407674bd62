"""Published data sets as they lie on disk: which files are needed, where to get them, under which licence.

A reader of a published data set takes the folder a user has and never downloads. What all readers share is
here: finding files, reading them with errors that name file and line, and making items of what was read.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.data.arguments import split_argument
from equiview.data.items import Items, no_texts
from equiview.data.relevance import Relevance
from equiview.errors import InputError

RELEASES: dict[str, Release] = {}
"""Every release by the name of its benchmark."""


@dataclass(frozen=True)
class Release:
    """A data set to be had elsewhere. `needs` are the files without which nothing can be read.

    Each of `needs` is a choice of patterns, relative to the folder; the first that matches is taken.
    """

    name: str
    title: str
    source: str
    licence: str
    needs: tuple[tuple[str, ...], ...]
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        RELEASES[self.name] = self

    @property
    def where(self) -> str:
        """Where to get it and under which licence."""
        return f"{self.title}: {self.source} ({self.licence})"

    def open(self, argument: str) -> tuple[Path, dict[str, str]]:
        """The folder and the options that a user names, files checked; `$EQUIVIEW_DATA/NAME` by default."""
        value, options = split_argument(argument, self.name, self.options)
        if not value and not os.environ.get("EQUIVIEW_DATA"):
            raise InputError(
                f"benchmark {self.name!r} needs a folder: {self.name}:DIR, or $EQUIVIEW_DATA with a folder "
                f"{self.name} in it ({self.where})"
            )
        place = Path(value or Path(os.environ["EQUIVIEW_DATA"]) / self.name).expanduser()
        if not place.is_dir():
            raise InputError(f"{place}: no such folder; get {self.where}")
        for patterns in self.needs:
            self.find(place, *patterns)
        return place, options

    def find(self, place: Path, *patterns: str) -> Path:
        """The first file that one of `patterns` matches, in order; InputError says where to get it."""
        found = seek(place, *patterns)
        if found is None:
            raise InputError(f"{place}: holds no {' nor '.join(patterns)}; get {self.where}")
        return found

    def ready(self, argument: str = "") -> tuple[bool, str]:
        """Whether its files are there, and which folder holds them or what is missing."""
        try:
            place, _ = self.open(argument)
        except InputError as error:
            return False, str(error)
        return True, str(place)


def seek(place: Path, *patterns: str) -> Path | None:
    """The first file that one of `patterns` matches, in order, or None."""
    for pattern in patterns:
        if found := sorted(path for path in place.glob(pattern) if path.is_file()):
            return found[0]
    return None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, plain or .gz, without line ends; InputError when it is not UTF-8."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        # Only line feeds end lines: a caption may hold other characters that Python would split at.
        lines = content.decode("utf-8-sig").split("\n")
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read, is it cut off? ({error})") from None
    except UnicodeDecodeError as error:
        row = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {row}: is not UTF-8 text ({error.reason})") from None
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON, is it cut off? ({error})") from None


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line of a JSON Lines file."""
    for row, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {row}: is not JSON ({error})") from None
        if not isinstance(content, dict):
            raise InputError(f"{path}, line {row}: holds {type(content).__name__}; expected an object")
        yield row, content


def field(content: Mapping[str, Any], name: str, where: str) -> Any:
    """One field of an object that was read; InputError names the place that lacks it."""
    if not isinstance(content, Mapping) or name not in content:
        have = ", ".join(list(content)[:8]) if isinstance(content, Mapping) else type(content).__name__
        raise InputError(f"{where}: field {name!r} is missing; found: {have}")
    return content[name]


def image_items(
    place: Path,
    names: Mapping[str, str],
    folders: Sequence[str],
    source: Path,
    attributes: Mapping[str, Sequence[Any] | pl.Series] | None = None,
) -> Items:
    """Images from ids and the names of their files, which lie in one of `folders` under `place`.

    Without any of the files the images have no path, which is enough for vectors that are there already. When
    only some are missing, InputError says which is first and how many. `attributes` are in order of `names`.
    """
    table = pl.DataFrame({"id": list(names), **(attributes or {})}, strict=False)
    for folder in folders:
        paths = [place / folder / name for name in names.values()]
        there = [path.is_file() for path in paths]
        if any(there):
            if not all(there):
                absent = there.index(False)
                raise InputError(
                    f"{paths[absent]}: no such picture, but {source} names it "
                    f"({there.count(False)} of {len(there)} are missing)"
                )
            table = table.with_columns(path=pl.Series([str(path) for path in paths]))
            break
    return Items("image", table, str(source))


def text_items(rows: Iterable[tuple[str, str, str, str, int]], source: Path) -> Items:
    """Texts from (id, text, language, image_id, slot), `slot` counting an image's texts of a language from 1.

    Blank texts are left out. InputError names a text that is not made of characters.
    """
    kept = [row for row in rows if row[1].strip()]
    for name, text, *_ in kept:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{source}: text {name!r} holds half of a surrogate pair, which is no character"
            ) from None
    columns = {"id": pl.String, "text": pl.String, "language": pl.String, "image_id": pl.String,
               "slot": pl.Int32}  # fmt: skip
    return Items("text", pl.DataFrame(kept, schema=columns, orient="row"), str(source))


def one_of(options: Mapping[str, str], name: str, allowed: Sequence[str], scheme: str) -> str:
    """An option's value, the first of `allowed` by default; InputError for any other."""
    value = options.get(name, allowed[0])
    if value not in allowed:
        raise InputError(f"{scheme!r}: {name} is {value!r}; expected one of {', '.join(allowed)}")
    return value


def without_texts(
    name: str, images: Items, release: Release, about: str, tables: Mapping[str, pl.DataFrame] | None = None
) -> Benchmark:
    """A benchmark of images that nothing is to be retrieved for, such as labelled faces or questions."""
    return Benchmark(
        name=name,
        images=images,
        texts=no_texts(name),
        relevance=Relevance.from_pairs([], [], n_queries=len(images), n_items=0),
        about=about,
        source=release.source,
        licence=release.licence,
        tables=tables or {},
    )
