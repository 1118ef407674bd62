"""Shards: vectors on disk that grow batch by batch and survive a kill at any moment.

    NAME.bin        vectors one after another, rows of `width` numbers; mapped into memory for reading
    NAME.journal    while its writer is at work: a header, then a line for each batch that is whole
    NAME.parquet    when the writer is done: the manifest, which replaces the journal

A batch's vectors reach the disk before its line does, and a line carries its own checksum, so what a line
names is there. A writer has a shard of its own and holds a lock on its journal; a journal that nobody locks
was left by a killed process and is sealed by the next one. Readers read manifests and journals alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
import zlib
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.tables import Column, Schema, read_table, write_parquet
from equiview.data.vectors import TokenVectors, Vectors, rows_with
from equiview.errors import InputError

try:
    import fcntl
except ImportError:  # on Windows abandoned journals stay journals, which read as well
    fcntl = None  # type: ignore[assignment]

Precision = Literal["float32", "float16"]
SHARD_BYTES = 512 * 2**20
"""A shard that has grown beyond this is sealed and the next one begun."""

MANIFEST = Schema(
    "manifest",
    (
        Column("key", pl.String, "hash of the item's content"),
        Column("start", pl.Int64, "row of its first vector in the shard"),
        Column("count", pl.Int32, "how many vectors it has"),
        Column("crc", pl.UInt32, "CRC-32 of their bytes"),
        Column("width", pl.Int32, "numbers in a vector"),
        Column("several", pl.Boolean, "whether items have one vector a token"),
    ),
)


class Writer:
    """Appends vectors to a shard of its own, which is made at the first append and sealed on leaving."""

    def __init__(self, folder: Path, precision: Precision, shard_bytes: int = SHARD_BYTES) -> None:
        self.folder = folder
        self.dtype = np.dtype(precision).newbyteorder("<")
        self.shard_bytes = shard_bytes
        self.vectors: BinaryIO | None = None
        self.journal: BinaryIO | None = None
        self.shape: tuple[int, bool] | None = None
        self.rows = 0

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seal()

    def append(self, keys: Sequence[str], made: Vectors) -> None:
        """Add the vectors of these items, one key each; when this returns they are on disk.

        Raises InputError for vectors that the precision cannot hold, and when the disk is full or read-only;
        what was appended before is kept.
        """
        several = isinstance(made, TokenVectors)
        values = made.values if isinstance(made, TokenVectors) else made
        counts = made.lengths if isinstance(made, TokenVectors) else np.ones(len(made), dtype=np.int64)
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(values, dtype=self.dtype)
        if not np.isfinite(rows).all():
            raise InputError(f"vectors are too large for {self.dtype.name}; store them as float32")
        if rows_with("zero", rows).any():
            raise InputError(f"vectors are too small for {self.dtype.name}; store them as float32")
        try:
            self._write(keys, rows, counts, several)
        except OSError as error:
            self._let_go()
            raise InputError(
                f"{self.folder}: vectors cannot be stored ({error}); those stored before are kept. "
                "$EQUIVIEW_CACHE names another folder"
            ) from None

    def _write(
        self, keys: Sequence[str], rows: NDArray[np.floating[Any]], counts: NDArray[np.int64], several: bool
    ) -> None:
        size = rows.itemsize * rows.shape[1]
        if self.shape != (rows.shape[1], several) or self.rows * size > self.shard_bytes:
            self.seal()
            self._begin(rows.shape[1], several)
        assert self.vectors is not None
        assert self.journal is not None
        ends = np.cumsum(counts)
        starts = ends - counts
        content = rows.reshape(-1).view(np.uint8).data
        sums = [zlib.crc32(content[a * size : b * size]) for a, b in zip(starts, ends, strict=True)]
        self.vectors.write(content)
        _to_disk(self.vectors)
        batch = {"start": (starts + self.rows).tolist(), "count": counts.tolist(), "crc": sums}
        self.journal.write(_line({"key": list(keys)} | batch))
        _to_disk(self.journal)
        self.rows += len(rows)

    def seal(self) -> None:
        """Turn the journal into a manifest; nothing is lost if this is never reached."""
        if self.vectors and self.journal:
            table = read_manifest(self.path)
            if len(table):
                write_parquet(table, self.path.with_suffix(".parquet"))
            self._let_go()
            self.path.unlink(missing_ok=True)

    def _let_go(self) -> None:
        """Close the files as they are: a journal reads as a manifest does, and the next process seals it."""
        for stream in (self.vectors, self.journal):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.vectors = self.journal = self.shape = None

    def _begin(self, width: int, several: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / f"{uuid.uuid4().hex[:16]}.journal"
        self.vectors = self.path.with_suffix(".bin").open("xb")
        if fcntl:
            # Locked before it has its name, or another process might take it for abandoned.
            unnamed = self.path.with_suffix(".new")
            self.journal = unnamed.open("xb")
            with contextlib.suppress(OSError):  # where files cannot be locked, every shard counts as busy
                fcntl.flock(self.journal, fcntl.LOCK_EX)
            unnamed.rename(self.path)
        else:
            self.journal = self.path.open("xb")
        self.shape, self.rows = (width, several), 0
        self.journal.write(_line({"width": width, "several": several}))
        _to_disk(self.journal)


def read_manifest(path: Path) -> pl.DataFrame:
    """The items of one shard that its file holds, from its `.parquet` or its `.journal`, as `MANIFEST`."""
    table = named_in(path)
    vectors = path.with_suffix(".bin")
    if not len(table) or not vectors.is_file():
        return table.clear()
    size = int(table["width"][0]) * _precision_of(path.parent).itemsize
    return table.filter((pl.col("start") + pl.col("count")) * size <= vectors.stat().st_size)


def named_in(path: Path) -> pl.DataFrame:
    """The items that a manifest or a journal names, as `MANIFEST`; of a torn journal, its whole lines."""
    return read_table(path, MANIFEST) if path.suffix == ".parquet" else _read_journal(path)


def read_vectors(path: Path, width: int) -> NDArray[np.floating[Any]]:
    """All vectors of a shard, `(rows, width)`, mapped; a torn row at the end is left out."""
    dtype = _precision_of(path.parent)
    rows = path.stat().st_size // (dtype.itemsize * width)
    return np.memmap(path, dtype=dtype, mode="r", shape=(rows, width))


def manifests(folder: Path) -> list[Path]:
    """The manifest of each shard, or its journal where there is no manifest yet, by name."""
    sealed = {path.stem: path for path in folder.glob("*.parquet") if not path.name.startswith(".")}
    opened = {path.stem: path for path in folder.glob("*.journal")}
    return [path for _, path in sorted((opened | sealed).items())]


def seal_abandoned(folder: Path) -> None:
    """Seal the journals that killed processes left; a shard without a whole batch is removed."""
    for path in folder.glob("*.journal"):
        if is_busy(path):
            continue
        # Two processes may do this at once: both write the same manifest.
        with contextlib.suppress(FileNotFoundError):
            table = read_manifest(path)
            if len(table):
                write_parquet(table, path.with_suffix(".parquet"))
            elif not path.with_suffix(".parquet").exists():
                path.with_suffix(".bin").unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def is_busy(journal: Path) -> bool:
    """Whether a process is writing this shard now."""
    if not fcntl:
        return True
    try:
        with journal.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _read_journal(path: Path) -> pl.DataFrame:
    empty = pl.DataFrame(schema={column.name: column.dtype for column in MANIFEST.columns})
    whole = list(takewhile(bool, map(_content, path.read_bytes().split(b"\n"))))
    if not whole:
        return empty
    header, *batches = whole
    parts = [empty]
    for batch in batches:
        part = pl.DataFrame(batch).with_columns(width=header["width"], several=header["several"])
        parts.append(MANIFEST.check(part, str(path)).select(empty.columns))
    return pl.concat(parts)


def _line(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _content(line: bytes) -> dict[str, Any]:
    """What a line says, or nothing when it is not whole."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return {}
    read: dict[str, Any] = json.loads(text)
    return read


def _to_disk(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _precision_of(folder: Path) -> np.dtype[Any]:
    """Numbers of a shelf are of the type that its folder's name ends with."""
    return np.dtype(folder.name.rpartition(".")[2]).newbyteorder("<")
