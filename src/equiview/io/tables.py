"""Tables on disk: schemas that are checked on reading, and writes that are whole or absent.

A schema violation names the file, the column and the first wrong row, which is what a person needs to correct
it. Writing goes to a temporary name in the same folder and is renamed when complete.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from equiview.errors import InputError
from equiview.io.files import not_utf8, readable

GZIP = b"\x1f\x8b"
"""What a file compressed with gzip begins with."""
TOGETHER = 50_000
"""Rows of a CSV file that are held as Python's strings at a time."""


@dataclass(frozen=True)
class Column:
    """One column of a schema: its name, type, whether it may be null, whether its values are distinct."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    about: str
    nullable: bool = False
    unique: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Schema:
    """The columns a table must have. Further columns are attributes and are kept as they are.

    >>> schema = Schema("people", (Column("id", pl.String, "who", unique=True),))
    >>> schema.check(pl.DataFrame({"id": ["a", "a"]}), "people.csv")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: people.csv: column 'id' repeats 'a' in rows 1 and 2; it must be distinct
    """

    name: str
    columns: tuple[Column, ...]

    @property
    def dtypes(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The type of each column by name, as `pl.DataFrame(schema=...)` takes them."""
        return {column.name: column.dtype for column in self.columns}

    def table(self, rows: Iterable[Mapping[str, Any]] = ()) -> pl.DataFrame:
        """A table of these columns; without rows an empty one."""
        return pl.DataFrame(list(rows), schema=self.dtypes)

    def check(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """Return `frame` with the schema's columns first and cast; raise InputError naming column and row.

        Rows are counted from 1, as a person counts them, the header left out.
        """
        for column in self.columns:
            if column.name not in frame.columns:
                if column.optional:
                    continue
                names = ", ".join(frame.columns) or "no column"
                raise InputError(
                    f"{source}: column {column.name!r} ({column.about}) is missing; found: {names}"
                )
            frame = frame.with_columns(_checked(frame[column.name], column, source))
        first = [column.name for column in self.columns if column.name in frame.columns]
        return frame.select(*first, *(name for name in frame.columns if name not in first))


def schemas(**tables: tuple[Column, ...]) -> dict[str, Schema]:
    """A schema for each table, by its name."""
    return {name: Schema(name, columns) for name, columns in tables.items()}


def _checked(series: pl.Series, column: Column, source: str) -> pl.Series:
    if not _convertible(series.dtype, column.dtype):
        raise InputError(f"{source}: column {column.name!r} holds {series.dtype}, expected {column.dtype}")
    try:
        cast = series.cast(column.dtype, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(
            f"{source}: column {column.name!r} holds {series.dtype}, expected {column.dtype}"
        ) from None
    bad = cast.is_null() & series.is_not_null()
    if series.dtype.is_float() and cast.dtype.is_integer():
        bad |= series != series.floor()  # 1.5 is no rank, and must not become one
    if bad.any():
        row = bad.arg_true()[0]
        raise InputError(
            f"{source}: column {column.name!r}, row {row + 1}: {series[row]!r} is not of type {column.dtype}"
        )
    if not column.nullable and cast.null_count():
        row = cast.is_null().arg_true()[0]
        raise InputError(f"{source}: column {column.name!r}, row {row + 1}: empty; every row needs a value")
    if not column.nullable and cast.dtype.is_float() and cast.is_nan().any():
        row = cast.is_nan().arg_true()[0]
        raise InputError(f"{source}: column {column.name!r}, row {row + 1}: nan; every row needs a number")
    if column.unique and cast.n_unique() != len(cast):
        value = cast.filter(cast.is_duplicated())[0]
        first, second = (cast == value).arg_true()[:2]
        raise InputError(
            f"{source}: column {column.name!r} repeats {value!r} in rows {first + 1} and {second + 1}; "
            "it must be distinct"
        )
    return cast


def _convertible(given: pl.DataType, wanted: pl.DataType | type[pl.DataType]) -> bool:
    """Whether values of one type can mean values of the other; polars itself would cast True to 1."""
    if given in (wanted, pl.Null):
        return True
    if given.is_nested() or given.is_object() or given == pl.Duration:
        return False
    if wanted == pl.String:
        return True
    wanted_number = wanted.is_numeric()
    return wanted_number and (given.is_numeric() or given == pl.String)


def read_table(path: Path, schema: Schema, *, only: Collection[str] | None = None) -> pl.DataFrame:
    """Read a `.parquet` or `.csv` file and check it; InputError says what is wrong with it.

    Rows are counted from 1, the header left out. Every value of a CSV file is text, and an empty cell null.
    With `only`, columns of other names are left out, and of a `.parquet` file not even read.
    """
    readers = {".parquet": _read_parquet, ".csv": _read_csv}
    readable(path)
    if path.suffix not in readers:
        raise InputError(f"{path}: expected a .csv or .parquet file")
    try:
        frame = readers[path.suffix](path, only)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    return schema.check(frame, str(path))


def _read_parquet(path: Path, only: Collection[str] | None) -> pl.DataFrame:
    try:
        with _without_panics():
            names = None if only is None else [name for name in pl.read_parquet_schema(path) if name in only]
            return pl.read_parquet(path, columns=names, glob=False)  # a name may hold brackets
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read, is it cut off? ({reason[:160]})") from None


@contextmanager
def _without_panics() -> Iterator[None]:
    """Keep what polars' threads print of a damaged file from the console; the exception says it too."""
    with _ERROR_STREAM:
        kept = os.dup(2)
        try:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


_ERROR_STREAM = threading.Lock()


def _read_csv(path: Path, only: Collection[str] | None) -> pl.DataFrame:
    with path.open("rb") as stream:
        if stream.read(2) == GZIP:
            raise InputError(f"{path}: is compressed with gzip; decompress it first (gunzip)")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = _rows(stream, path)
        header = next(rows, [])
        if len(set(header)) < len(header):
            ((name, _),) = Counter(header).most_common(1)
            raise InputError(f"{path}: has two columns named {name!r}; rename one")
        parts = [pl.DataFrame(schema=dict.fromkeys(header, pl.String))]
        while block := list(islice(rows, TOGETHER)):
            columns = zip(header, zip(*block, strict=True), strict=True)
            parts.append(pl.DataFrame(dict(columns), schema=parts[0].schema))
    frame = pl.concat(parts, rechunk=True).with_columns(pl.col(pl.String).replace("", None))
    return frame if only is None else frame.select(name for name in frame.columns if name in only)


def _rows(stream: TextIO, path: Path) -> Iterator[list[str]]:
    """The header, then the rows. Polars would fill a short row, and rename a column that is there twice."""
    number = width = blank = 0
    try:
        for number, row in enumerate(csv.reader(_without_nul(stream, path), strict=True)):
            width = width or len(row)
            if not row:  # only at the end of a file is a blank line nothing
                blank = blank or number
                continue
            if blank or len(row) != width:
                cells = 0 if blank else len(row)
                raise InputError(
                    f"{path}, row {blank or number}: has {cells} cells, but the header has {width}; is a "
                    "comma or a quote missing?"
                )
            yield row
    except csv.Error as error:
        raise InputError(f"{path}, row {number + 1}: {error}; is a quote not closed?") from None
    except UnicodeDecodeError:
        raise not_utf8(path.read_bytes(), str(path)) from None


def _without_nul(lines: Iterable[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise InputError(f"{path}, line {number}: holds a NUL character; is it a text file?")
        yield line


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` whole or not at all; the same frame gives the same bytes."""
    with atomic(path) as temporary:
        try:
            frame.write_parquet(temporary, compression="zstd", compression_level=6, statistics=False)
        except pl.exceptions.PolarsError as error:
            if "IO error" not in str(error):
                raise
            raise OSError(errno.EIO, str(error).rpartition("IO error: ")[2]) from None  # a full disk


def write_bytes(content: bytes, path: Path) -> None:
    """Write `content` whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary name next to `path`, renamed to it if the block succeeds and removed otherwise.

    OSError names `path` and not the temporary file.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


FORMULA = r"^'*([\t\r\n]|[\x00-\x20\xa0]*[=+\-@＝＋－＠])"
"""How a cell begins that a spreadsheet would take for a formula, or with an apostrophe before that."""


def safe_csv(table: pl.DataFrame) -> str:
    """A table as CSV without formulas for a spreadsheet: words that begin one get an apostrophe (OWASP).

    For every CSV file with words that somebody else wrote: captions, names, replies, reasons. Numbers stay
    numbers, and `without_apostrophe` has the words back.

    >>> print(safe_csv(pl.DataFrame({"name": ["=1+1", "plain"], "value": [-1.5, 2.0]})), end="")
    name,value
    '=1+1,-1.5
    plain,2.0
    """
    words = [name for name, dtype in table.schema.items() if dtype == pl.String]
    formula = {name: pl.col(name).str.contains(FORMULA) for name in words}
    safe = table.with_columns(
        pl.when(formula[name]).then(pl.concat_str(pl.lit("'"), name)).otherwise(name).alias(name)
        for name in words
    )
    header = {name: f"'{name}" for name in table.columns if re.match(FORMULA, name)}
    return safe.rename(header).write_csv()


def without_apostrophe(words: pl.Series) -> pl.Series:
    """The words of a column that `safe_csv` wrote, as they were before.

    >>> without_apostrophe(pl.Series(["'=1+1", "'tis", None])).to_list()
    ['=1+1', "'tis", None]
    """
    return words.str.replace(f"^'({FORMULA.removeprefix('^')})", "$1")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; InputError for a pipe or a device."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a file")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
