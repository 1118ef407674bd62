"""Tables on disk: schemas that are checked on reading, and writes that are whole or absent.

A schema violation names the file, the column and the first wrong row, which is what a person needs to correct
it. Writing goes to a temporary name in the same folder and is renamed when complete.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview.errors import InputError

GZIP = b"\x1f\x8b"
"""What a file compressed with gzip begins with."""


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

    def check(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """Return `frame` with the schema's columns first and cast; raise InputError naming column and row.

        Rows are counted from 1, as a person counts them, the header left out.
        """
        for column in self.columns:
            if column.name not in frame.columns:
                if column.optional:
                    continue
                names = ", ".join(frame.columns)
                raise InputError(
                    f"{source}: column {column.name!r} ({column.about}) is missing; found: {names}"
                )
            frame = frame.with_columns(_checked(frame[column.name], column, source))
        first = [column.name for column in self.columns if column.name in frame.columns]
        return frame.select(*first, *(name for name in frame.columns if name not in first))


def _checked(series: pl.Series, column: Column, source: str) -> pl.Series:
    try:
        cast = series.cast(column.dtype, strict=False)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"{source}: column {column.name!r} holds {series.dtype}, expected {column.dtype}"
        ) from None
    bad = (cast.is_null() & series.is_not_null()).arg_true()
    if len(bad):
        row = bad[0]
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


def read_table(path: Path, schema: Schema) -> pl.DataFrame:
    """Read a `.parquet` or `.csv` file and check it; InputError says what is wrong with it."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path, glob=False)  # a name with [ ] * or ? is a name
        elif path.suffix == ".csv":
            frame = pl.read_csv(_plain_text(path), infer_schema=False)
        else:
            raise InputError(f"{path}: expected a .csv or .parquet file")
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read, is it cut off? ({reason[:160]})") from None
    return schema.check(frame, str(path))


def _plain_text(path: Path) -> bytes:
    """The content of a .csv file; InputError when it is compressed, or holds what no text does."""
    content = path.read_bytes()
    if content.startswith(GZIP):
        raise InputError(f"{path}: is compressed with gzip; unpack it (gunzip) and try again")
    if (place := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise InputError(
            f"{path}, line {line}: holds a NUL byte, so it is damaged or not UTF-8; save it as UTF-8"
        )
    return content


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` whole or not at all; the same frame gives the same bytes."""
    with atomic(path) as temporary:
        frame.write_parquet(temporary, compression="zstd", compression_level=6, statistics=False)


def write_bytes(content: bytes, path: Path) -> None:
    """Write `content` whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary name next to `path`, renamed to it if the block succeeds and removed otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
