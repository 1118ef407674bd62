"""Tables as text: cells between commas, semicolons or tabs, as spreadsheets of every country write them.

What divides the cells is told by the header; where several signs could, by the rows, and otherwise nobody
guesses. Every value is text, and an empty cell null.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import polars as pl

from equiview.errors import InputError
from equiview.io.encodings import marked, other_encoding
from equiview.io.notices import notice
from equiview.io.spelling import cleaned, folded

GZIP = b"\x1f\x8b"
"""What a file compressed with gzip begins with."""
TOGETHER = 50_000
"""Rows that are held as Python's strings at a time."""
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
LOOKED_AT = 100
"""Lines by which it is told what divides the cells."""


def read_delimited(path: Path, only: Collection[str] | None = None) -> pl.DataFrame:
    """The table of a `.csv` or `.tsv` file, its columns named without blanks around.

    With `only`, columns of other names are left out. InputError names the row that is not as wide as the
    header, and says what cannot be told. An encoding that is not UTF-8 is said.
    """
    with path.open("rb") as stream:
        head = stream.read(4)
    if head.startswith(GZIP):
        raise InputError(f"{path}: is compressed with gzip; decompress it first (gunzip)")
    try:
        return _read(path, marked(head), only)
    except UnicodeError:  # of UTF-16 without a mark of its own as well
        return _read(path, other_encoding(path.read_bytes(), str(path)), only)


def _read(path: Path, encoding: str, only: Collection[str] | None) -> pl.DataFrame:
    with path.open(encoding=encoding, newline="") as stream:
        lines = _without_nul(stream, path)
        first = list(islice(lines, LOOKED_AT))
        if first and first[0].lower().startswith("sep="):  # a line of Excel's, for Excel
            del first[0]
        delimiter = delimiter_of(first, path)
        rows = _rows(chain(first, lines), delimiter, path)
        names = next(rows, [])
        header = column_names(names, str(path))
        kept = [
            (place, name)
            for place, name in enumerate(header)
            if only is None or folded(name) in map(folded, only)
        ]
        parts = [pl.DataFrame(schema={name: pl.String for _, name in kept})]
        while block := list(islice(rows, TOGETHER)):
            columns = list(zip(*block, strict=True))
            content = {name: columns[place] for place, name in kept}
            parts.append(pl.DataFrame(content, schema=parts[0].schema))
    return pl.concat(parts, rechunk=True).with_columns(pl.col(pl.String).replace("", None))


def column_names(names: Iterable[str], source: str) -> list[str]:
    r"""Names of columns, cleaned; InputError where two are then the same.

    >>> column_names(["\ufeffid", " Image ID "], "x.csv")
    ['id', 'Image ID']
    """
    read: dict[str, str] = {}
    for written in names:
        if (name := cleaned(written)) in read:
            raise InputError(f"{source}: has two columns named {name!r}; rename one")
        read[name] = written
    return list(read)


def delimiter_of(lines: Iterable[str], path: Path) -> str:
    r"""What divides the cells: the sign that the header has, outside quotes; tabs in a file named `.tsv`.

    Where the header has several, the one that makes all rows as wide as the header, which a notice says;
    InputError where that is none or several.

    >>> delimiter_of(["id;text\n", "1;a, b\n"], Path("x.csv")), delimiter_of(["id\n"], Path("x.csv"))
    (';', ',')
    """
    if path.suffix.lower() == ".tsv":
        return "\t"
    lines = list(lines)
    widths = {sign: _widths(lines, sign) for sign in DELIMITERS}
    found = [sign for sign, wide in widths.items() if wide and wide[0] > 1]
    if len(found) < 2:
        return found[0] if found else ","
    even = [sign for sign in found if len(set(widths[sign])) == 1 and len(widths[sign]) > 1]
    if len(even) != 1:
        said = " or by ".join(f"{DELIMITERS[sign]}s ({widths[sign][0]} columns)" for sign in found)
        raise InputError(
            f"{path}: cannot tell what divides the cells: by {said}? Put names and cells that hold one of "
            "them in quotes, or save the table as .tsv or .parquet"
        )
    notice(f"{path}: cells are divided by {DELIMITERS[even[0]]}s, as rows and header then are equally wide")
    return even[0]


def _widths(lines: list[str], sign: str) -> list[int]:
    """How many cells each of the rows has, blank ones left out; as far as they can be read."""
    widths: list[int] = []
    try:
        widths.extend(len(row) for row in csv.reader(lines, delimiter=sign, strict=True) if row)
    except csv.Error:
        if len(lines) < LOOKED_AT:  # the last row may go on beyond the lines that are looked at
            widths.append(-1)
    return widths


def _rows(lines: Iterable[str], delimiter: str, path: Path) -> Iterator[list[str]]:
    """The header, then the rows. Polars would fill a short row, and rename a column that is there twice."""
    number = width = blank = 0
    try:
        for number, row in enumerate(csv.reader(lines, delimiter=delimiter, strict=True)):
            width = width or len(row)
            if not row:  # only at the end of a file is a blank line nothing
                blank = blank or number
                continue
            if blank or len(row) != width:
                cells = 0 if blank else len(row)
                raise InputError(
                    f"{path}, row {blank or number}: has {cells} cells, but the header has {width}; is a "
                    f"{DELIMITERS[delimiter]} or a quote missing?"
                )
            yield row
    except csv.Error as error:
        raise InputError(f"{path}, row {number + 1}: {error}; is a quote not closed?") from None


def _without_nul(stream: TextIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        if "\0" in line:
            raise InputError(f"{path}, line {number}: holds a NUL character; is it a text file?")
        yield line
