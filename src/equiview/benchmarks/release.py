"""Published data sets on disk: which files are needed, where to get them, under which licence.

A reader of a published data set takes a folder of the user and never downloads. What all readers share is
here: finding files, reading them with errors that name file and line, and making a benchmark of the content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import BENCHMARKS, Benchmark, same_image
from equiview.data.arguments import number_option, split_argument
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.io.files import KINDS, is_file, kind_of, plain_name, read_lines
from equiview.io.notices import notice
from equiview.io.remote import local
from equiview.io.tables import Schema
from equiview.ours.benchmarks import SOURCES

RELEASES: dict[str, Release] = {}
"""Releases by the names of their benchmarks, those whose files were imported."""
TEXT_ENDINGS = {".json", ".txt", ".csv", ".md", ".html", ".xml"}
"""How files end that lie beside pictures and are none."""


@dataclass(frozen=True)
class Release:
    """A published data set. `needs` are the files without which nothing can be read.

    Each of `needs` is a choice of patterns, relative to the folder; the first that matches a file is taken.
    """

    name: str
    title: str
    licence: str
    needs: tuple[tuple[str, ...], ...]
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        RELEASES[self.name] = self

    @property
    def source(self) -> str:
        """Where to get it."""
        return SOURCES[self.name]

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
        place = local(value or Path(os.environ["EQUIVIEW_DATA"]) / self.name)
        if not place.is_dir():
            raise InputError(f"{place}: no such folder; get {self.where}")
        for patterns in self.needs:
            self.find(place, *patterns)
        return place, options

    def find(self, place: Path, *patterns: str) -> Path:
        """The first file that one of `patterns` matches, by default those of the first need.

        InputError says where to get a file that is missing.
        """
        patterns = patterns or self.needs[0]
        path = seek(place, *patterns)
        if path is None:
            raise InputError(f"{place}: holds no {' nor '.join(patterns)}; get {self.where}")
        return path

    def choice(self, options: Mapping[str, str], name: str, allowed: Sequence[str]) -> str:
        """An option's value, the first of `allowed` by default; InputError for any other."""
        value = options.get(name, allowed[0])
        if value not in allowed:
            raise InputError(f"{self.name!r}: {name} is {value!r}; expected one of {', '.join(allowed)}")
        return value

    def ready(self, argument: str = "") -> tuple[bool, str]:
        """Whether its files are there, and which folder holds them or what is missing."""
        try:
            place, _ = self.open(argument)
        except InputError as error:
            return False, str(error)
        return True, str(place)

    def benchmark(
        self,
        images: Items,
        texts: Items | None = None,
        relevance: Relevance | None = None,
        *,
        about: str,
        part: str = "",
        tables: Mapping[str, pl.DataFrame] | None = None,
        schemas: Mapping[str, Schema] | None = None,
        sizes: Mapping[str, tuple[float, float]] | None = None,
    ) -> Benchmark:
        """The benchmark of what was read, with the release's source and licence.

        It is named after the release, or `RELEASE-PART`. Without `relevance`, each text is relevant to the
        image that its `image_id` names.
        """
        if texts is not None and relevance is None:
            relevance = same_image(images, texts)
        name = f"{self.name}-{part}" if part else self.name
        origin = about, self.source, self.licence
        return Benchmark(name, images, texts, relevance, *origin, tables or {}, schemas or {}, sizes or {})


def release_of(name: str) -> Release:
    """The release that the benchmark of that name reads."""
    BENCHMARKS.get(name)  # its file is imported, and says what the release is
    return RELEASES[name]


def seek(place: Path, *patterns: str) -> Path | None:
    """The first file that one of `patterns` matches, in order, or None."""
    for pattern in patterns:
        if paths := sorted(path for path in place.glob(pattern) if is_file(path)):
            return paths[0]
    return None


def files_by_stem(folder: Path, stems: Collection[str]) -> dict[str, Path]:
    """The file below `folder` of each stem, its name without the ending; InputError where a stem has two.

    Where a release does not say how the names of its pictures end. Files of text beside them are left out.
    """
    files: dict[str, Path] = {}
    wanted = set(stems)
    for path in sorted(folder.rglob("*")):
        if path.stem not in wanted or path.suffix.lower() in TEXT_ENDINGS or not is_file(path):
            continue
        if path.stem in files:
            raise InputError(
                f"{path}: the picture of {path.stem!r} could also be {files[path.stem]}; keep one"
            )
        files[path.stem] = path
    return files


def read_lines_of(images: Sequence[str], reference: Path, path: Path) -> list[str]:
    """The lines of a file, line i for image i as in `reference`; InputError if there are more or fewer."""
    lines = read_lines(path)
    if len(lines) != len(images):
        raise InputError(
            f"{path}: has {len(lines)} lines, but {reference.name} names {len(images)} images; line i "
            "of both must be of the same image"
        )
    return lines


def entries(content: Any, name: str, path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (`PATH, WHAT NUMBER`, entry) for each object of the list `name` in the content of a JSON file."""
    for number, entry in enumerate(list_field(content, name, str(path)), start=1):
        where = f"{path}, {what} {number}"
        if not isinstance(entry, dict):
            raise InputError(f"{where}: is {kind_of(entry)}; expected an object")
        yield where, entry


# Not pydantic: models of the 14 kinds of records are longer than these readers, and take 1.3 times as long.
def field(content: Any, name: str, where: str) -> Any:
    """One field of an object that was read; InputError names the place that lacks it."""
    if not isinstance(content, Mapping):
        raise InputError(f"{where}: is {kind_of(content)}; expected an object with field {name!r}")
    if name not in content:
        known = ", ".join(list(content)[:8]) or "no field"
        raise InputError(f"{where}: field {name!r} is missing; found: {known}")
    return content[name]


def text_field(content: Any, name: str, where: str) -> str:
    """A field that is a text."""
    return str(_of_kind(field(content, name, where), str, name, where))


def id_field(content: Any, name: str, where: str) -> str:
    """A field that names something, by a text or a whole number, as text."""
    value = field(content, name, where)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{where}: field {name!r} is {kind_of(value)}; expected a text or a whole number")
    return str(value)


NUMBER = r"^0*([0-9]+)(?:\.0*)?$"
"""A whole number, as `900001`, `900001.0` and `000000900001`; its group is the first of these."""


def number_field(content: Any, name: str, where: str) -> str:
    """A field that names something by its number, in the first form of `NUMBER`. Words stay as they are.

    >>> [number_field({"id": value}, "id", "x") for value in (7, 7.0, "007", "a")]
    ['7', '7', '7', 'a']
    """
    value = field(content, name, where)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return re.sub(NUMBER, r"\1", id_field(content, name, where))


UNMATCHED = "unmatched"
"""The option that says which share of one file may be missing in another, 0 by default."""


def check_partners(
    missing: Sequence[str], of: int, what: str, there: Path | str, options: Mapping[str, str]
) -> None:
    """InputError if more than the share `unmatched` of `of` are `missing` in a file; a notice if fewer are.

    >>> check_partners(["7"], 4, "images of a.json", "b.json", {})
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: b.json: has nothing of '7' (1 of 4 images of a.json are missing); are both \
files of one release? To go on without them, say unmatched=0.25 or more
    """
    if not missing:
        return
    said = f"{there}: has nothing of {missing[0]!r} ({len(missing)} of {of} {what} are missing)"
    if len(missing) > number_option(options, UNMATCHED, 0.0, "join of two files") * of:
        least = -(-len(missing) * 1000 // of) / 1000
        raise InputError(
            f"{said}; are both files of one release? To go on without them, say {UNMATCHED}={least:g} or more"
        )
    notice(said)


def list_field(content: Any, name: str, where: str) -> list[Any]:
    """A field that is a list."""
    values: list[Any] = _of_kind(field(content, name, where), list, name, where)
    return values


def texts_field(content: Any, name: str, where: str) -> list[str]:
    """A field that is a list of texts."""
    texts = list_field(content, name, where)
    for number, text in enumerate(texts, start=1):
        _of_kind(text, str, f"{name}, entry {number}", where)
    return texts


def optional_text(content: Mapping[str, Any], name: str, where: str) -> str | None:
    """A field that is a text, or None where it is absent or null."""
    return None if content.get(name) is None else text_field(content, name, where)


def numbers(values: Any, n: int, what: str, where: str) -> list[float]:
    """`values` as `n` finite numbers; InputError if it is anything else."""
    right = isinstance(values, list) and [type(value) in {int, float} for value in values] == [True] * n
    with suppress(OverflowError):  # a whole number of hundreds of digits
        if right:
            return [float(value) for value in values]
    raise InputError(f"{where}: {what} {values!r} is not {n} numbers")


def _of_kind(value: Any, kind: type, name: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{where}: field {name!r} is {kind_of(value)}; expected {KINDS[kind]}")
    return value


def image_items(
    place: Path,
    names: Mapping[str, str],
    folders: Sequence[str],
    source: Path,
    attributes: Mapping[str, Sequence[Any] | pl.Series] | None = None,
) -> Items:
    """Images from ids and the names of their files, which are in one of `folders` under `place`.

    If none of the files is there, the images have no path, which is enough for existing vectors. If some are
    missing, InputError says which is the first and how many. `attributes` are in the order of `names`. A name
    that leaves the folder is refused.
    """
    for name in names.values():
        plain_name(name, str(source))
    table = pl.DataFrame({"id": list(names), **(attributes or {})}, strict=False)
    for folder in folders:
        paths = [place / folder / name for name in names.values()]
        missing = [path for path in paths if not is_file(path)]
        if len(missing) == len(paths):
            continue
        if missing:
            raise InputError(
                f"{missing[0]}: no such picture, but {source} names it "
                f"({len(missing)} of {len(paths)} are missing)"
            )
        table = table.with_columns(path=pl.Series([str(path) for path in paths]))
        break
    return Items("image", table, str(source))


def text_items(rows: Iterable[tuple[str, str, str, int]], source: Path | str) -> Items:
    """Texts from (image_id, language, text, slot), `slot` counting an image's texts of a language from 1.

    Their ids are `IMAGE-LANGUAGE-SLOT`. Blank texts are left out.
    """
    kept = [
        (f"{image}-{language}-{slot}", text, language, image, slot)
        for image, language, text, slot in rows
        if text.strip()
    ]
    columns = {"id": pl.String, "text": pl.String, "language": pl.String, "image_id": pl.String,
               "slot": pl.Int32}  # fmt: skip
    return Items("text", pl.DataFrame(kept, schema=columns, orient="row"), str(source))
