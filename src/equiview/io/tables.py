"""Tables on disk: schemas that are checked on reading, and writes that are whole or absent.

A table is CSV, whatever divides its cells, JSON Lines or Parquet; what it holds is read as the same.

A schema violation names the file, the column and the first wrong row, which is what a person needs to correct
it. Writing goes to a temporary name in the same folder and is renamed when complete.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equiview.errors import InputError
from equiview.io.delimited import column_names, read_delimited
from equiview.io.files import readable
from equiview.io.notices import notice
from equiview.io.records import read_records
from equiview.io.spelling import folded

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""How the names of files end that are read as tables."""


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

    A column is known by its name in any case, be there blanks, hyphens or underscores in it or not: `Image
    ID` is `image_id`. So are those of `also`, which somebody will look for, and which are not checked.

    >>> schema = Schema("people", (Column("id", pl.String, "who", unique=True),))
    >>> schema.check(pl.DataFrame({"id": ["a", "a"]}), "people.csv")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: people.csv: column 'id' repeats 'a' in rows 1 and 2; it must be distinct
    """

    name: str
    columns: tuple[Column, ...]
    also: tuple[str, ...] = ()
    optional: bool = False
    """Whether observations of an earlier version may lack the table, which then is empty."""

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
        frame = self._renamed(frame, source)
        if lacking := [each for each in self.columns if not each.optional and each.name not in frame.columns]:
            raise InputError(_without(lacking, frame, source))
        checked = {
            column.name: _checked(frame[column.name], column, source)
            for column in self.columns
            if column.name in frame.columns
        }
        return frame.select(*checked.values(), *(name for name in frame.columns if name not in checked))

    def _renamed(self, frame: pl.DataFrame, source: str) -> pl.DataFrame:
        """The table with the columns that are known by the names that they have here."""
        known = {folded(name): name for name in (*(column.name for column in self.columns), *self.also)}
        found: dict[str, str] = {}
        for written in frame.columns:
            name = known.get(folded(written))
            if name is None:
                continue
            if name in found:
                raise InputError(
                    f"{source}: columns {found[name]!r} and {written!r} are both read as {name!r}; rename one"
                )
            found[name] = written
        return frame.rename({written: name for name, written in found.items() if written != name})


def _without(lacking: Sequence[Column], frame: pl.DataFrame, source: str) -> str:
    """What is missing, all of it at once, beside what is there."""
    what = " and ".join(f"{column.name!r} ({column.about})" for column in lacking)
    several = len(lacking) > 1
    begin = f"{source}: column{'s' if several else ''} {what} {'are' if several else 'is'} missing"
    if not frame.columns:
        return f"{begin}; found: no column"
    hint = "rename those that hold them" if several else "rename the one that holds it, if one does"
    return f"{begin}; found: {', '.join(frame.columns)}; {hint}"


def schemas(**tables: tuple[Column, ...]) -> dict[str, Schema]:
    """A schema for each table, by its name."""
    return {name: Schema(name, columns) for name, columns in tables.items()}


def _checked(series: pl.Series, column: Column, source: str) -> pl.Series:
    where = f"{source}: column {column.name!r}"
    plain = series.dtype in (pl.String, pl.Boolean, pl.Binary, pl.Int64, pl.Float64)
    cast = series if plain and series.dtype == column.dtype else _cast(series, column, where)
    if not column.nullable and cast.null_count():
        row = cast.is_null().arg_true()[0]
        raise InputError(f"{where}, row {row + 1}: empty; every row needs a value{_or_none(column)}")
    if not column.nullable and cast.dtype.is_float() and cast.is_nan().any():
        row = cast.is_nan().arg_true()[0]
        raise InputError(f"{where}, row {row + 1}: nan; every row needs a number{_or_none(column)}")
    if column.unique and cast.n_unique() != len(cast):
        value = cast.filter(cast.is_duplicated())[0]
        first, second = (cast == value).arg_true()[:2]
        raise InputError(
            f"{where} repeats {value!r} in rows {first + 1} and {second + 1}; it must be distinct"
        )
    return cast


def _or_none(column: Column) -> str:
    return ", or leave the whole column out" if column.optional else ""


def _cast(series: pl.Series, column: Column, where: str) -> pl.Series:
    """The values in the column's type; InputError for one that it cannot hold."""
    wanted = _called(column.dtype)
    if not _convertible(series.dtype, column.dtype):
        raise InputError(f"{where} holds {_called(series.dtype)}, expected {wanted}")
    if series.dtype == pl.String and column.dtype.is_numeric():
        series = _with_points(series.str.strip_chars(), where)
        if column.dtype.is_integer():  # as a table that has had an empty cell is saved by pandas
            series = series.str.replace(r"^([+-]?\d+)\.0+$", "$1")
    try:
        cast = series.cast(column.dtype, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(f"{where} holds {_called(series.dtype)}, expected {wanted}") from None
    rounded = series.dtype.is_float() and cast.dtype.is_integer()
    if rounded or cast.null_count() > series.null_count():
        bad = cast.is_null() & series.is_not_null()
        if rounded:
            bad |= series != series.floor()  # 1.5 is no rank, and must not become one
        if bad.any():
            row = bad.arg_true()[0]
            raise InputError(f"{where}, row {row + 1}: {series[row]!r}, expected {wanted}")
    return cast


def _called(dtype: pl.DataType | type[pl.DataType]) -> str:
    """What a person calls the values of a type.

    >>> _called(pl.Int32), _called(pl.List(pl.String))
    ('whole numbers', 'lists')
    """
    kinds = (
        ("text", dtype == pl.String),
        ("whole numbers", dtype.is_integer()),
        ("numbers", dtype.is_numeric()),
        ("yes or no", dtype == pl.Boolean),
        ("bytes", dtype == pl.Binary),
        ("lists", dtype in (pl.List, pl.Array)),
        ("dates or times", dtype.is_temporal()),
        ("nothing", dtype == pl.Null),
    )
    return next((name for name, holds in kinds if holds), "objects")


def _with_points(cells: pl.Series, where: str) -> pl.Series:
    """Numbers written with decimal commas, with points, which a notice says; others as they are.

    InputError where the same column has points, and where all commas could divide thousands.
    """
    commas = cells.drop_nulls().filter(cells.drop_nulls().str.contains(DECIMAL_COMMA))
    if not len(commas):
        return cells
    if len(points := cells.drop_nulls().filter(cells.drop_nulls().str.contains(".", literal=True))):
        raise InputError(
            f"{where} holds {commas[0]!r} and {points[0]!r}; write decimals in one way, best with a point"
        )
    if commas.str.contains(THOUSANDS).all():
        raise InputError(
            f"{where} holds {commas[0]!r}, with a comma of decimals or of thousands; write it with a point "
            "or without"
        )
    notice(f"{where} is read with decimal commas: {commas[0]!r} is {commas[0].replace(',', '.')}")
    return cells.str.replace(f"^{DECIMAL_COMMA.removeprefix('^')}", "$1.$2")


DECIMAL_COMMA = r"^([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
"""What may be a number of thousands as well as one with decimals."""


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


def is_table(path: Path) -> bool:
    """Whether the name of a file says that it is a table.

    >>> is_table(Path("texts.TSV")), is_table(Path("run.trec"))
    (True, False)
    """
    return path.suffix.lower() in TABLES


def read_table(path: Path, schema: Schema, *, only: Collection[str] | None = None) -> pl.DataFrame:
    """Read a table and check it; InputError says what is wrong with it.

    `.csv` and `.tsv` are as `equiview.io.delimited` says, `.jsonl` and `.ndjson` as `equiview.io.records`.
    Rows are counted from 1, the header left out. Every value of a CSV file is text, and an empty cell null.
    With `only`, columns of other names are left out, and of a `.parquet` file not even read.
    """
    readable(path)
    if not is_table(path):
        raise InputError(f"{path}: expected a file that ends in {', '.join(TABLES)}")
    try:
        if path.suffix.lower() == ".parquet":
            frame = _read_parquet(path, only)
        elif path.suffix.lower() in (".csv", ".tsv"):
            frame = read_delimited(path, only)
        else:
            frame = read_records(path)
            frame = frame if only is None else frame.select(_chosen(frame.columns, only))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    return schema.check(frame, str(path))


def frame_of(given: Any, what: str) -> pl.DataFrame:
    """A polars frame of anything that exchanges data as Arrow, of columns or of rows."""
    if isinstance(given, pl.DataFrame):
        return given
    try:
        return pl.DataFrame(given)
    except Exception as error:  # polars, and whatever library the table is of
        said = " ".join(str(error).split())[:200]
        raise InputError(f"the table of {what} cannot be read ({type(error).__name__}: {said})") from None


def table_named(place: Path, stem: str) -> Path | None:
    """The table of that name in a folder, whatever it ends in, or None; InputError where there are several.

    >>> table_named(Path("no such folder"), "texts") is None
    True
    """
    paths = [path for ending in TABLES if os.path.lexists(path := place / f"{stem}{ending}")]
    if len(paths) > 1:
        raise InputError(f"{place}: holds {' and '.join(path.name for path in paths)}; keep one of them")
    return paths[0] if paths else None


def _chosen(columns: Iterable[str], only: Collection[str]) -> list[str]:
    wanted = {folded(name) for name in only}
    return [name for name in columns if folded(name) in wanted]


def _read_parquet(path: Path, only: Collection[str] | None) -> pl.DataFrame:
    with _sound(path):
        names = None if only is None else _chosen(pl.read_parquet_schema(path), only)
        frame = pl.read_parquet(path, columns=names, glob=False)  # a name may hold brackets
    frame.columns = column_names(frame.columns, str(path))
    return frame


def parquet_metadata(path: Path) -> dict[str, str]:
    """What a Parquet file says of itself, by key; InputError for a file that is none, or is damaged."""
    with _sound(readable(path)):
        return dict(pl.read_parquet_metadata(path))


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """InputError for what polars finds wrong with a file."""
    try:
        with _without_panics():
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read, is it cut off? ({reason[:160]})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


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


def write_parquet(frame: pl.DataFrame, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write `frame`, and what is said of it, whole or not at all; the same gives the same bytes."""
    with atomic(path) as temporary:
        try:
            frame.write_parquet(
                temporary, compression="zstd", compression_level=6, statistics=False,
                metadata=dict(metadata) if metadata else None,
            )  # fmt: skip
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

    What a killed process left of another attempt is removed. OSError names `path` and not the temporary file.
    """
    temporary = None
    handle = -1
    begin = f".{path.name[:100]}."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in path.parent.glob(f"{glob.escape(begin)}????????.part"):
            _remove_if_left(other)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=begin, suffix=".part")
        temporary = Path(name)
        _hold(handle)
        yield temporary
        with temporary.open("r+b") as stream:  # Windows flushes only what may be written to
            os.fsync(stream.fileno())
        os.close(handle)
        handle = -1
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        if handle >= 0:
            os.close(handle)
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _hold(handle: int) -> bool:
    """Hold an open file until it is closed or its process ends; whether nobody else does."""
    if fcntl is None:  # on Windows nothing is known of it
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or on a file system without locks
        return False
    return True


def _remove_if_left(temporary: Path) -> None:
    """Remove the temporary file of a process that is no more."""
    with contextlib.suppress(OSError):
        handle = os.open(temporary, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _hold(handle):
                temporary.unlink(missing_ok=True)
        finally:
            os.close(handle)


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
