"""The embedding store: vectors are computed once and found again by what made them and what they are of.

    ROOT/vectors/ENCODER.PRECISION/     a shelf: one encoder's vectors
        encoder.json                    what it is, for people
        *.bin, *.parquet, *.journal     see `equiview.search.shards`

`ENCODER` is the encoder's fingerprint (weights, revision, preprocessing, prompts); an item is known by a hash
of its content, so a picture under another name, or a text in another benchmark, is the same item. ROOT is
`$EQUIVIEW_CACHE`, or the place where the platform keeps caches. Any number of processes may use it at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.tables import write_bytes
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.search.shards import (
    Precision,
    Writer,
    is_busy,
    manifests,
    named_in,
    read_manifest,
    read_vectors,
    seal_abandoned,
)

ROWS_TOGETHER = 4096
DAY = 86_400


def cache_folder() -> Path:
    """`$EQUIVIEW_CACHE`, or `equiview` in the platform's folder for caches."""
    if given := os.environ.get("EQUIVIEW_CACHE"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "equiview"


class Shelf:
    """The stored vectors of one encoder, in one precision."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.precision: Precision = "float16" if folder.name.endswith(".float16") else "float32"
        self.rows: dict[str, int] = {}
        self.shards: list[Path] = []
        self.table = pl.DataFrame()
        self.refresh()

    def refresh(self) -> None:
        """Look again at what is stored, by others too; seal what killed processes left."""
        if not self.folder.is_dir():
            return
        seal_abandoned(self.folder)
        found = []
        for path in manifests(self.folder):
            try:
                found.append((path, read_manifest(path)))
            except FileNotFoundError:  # sealed between the listing and the reading
                found.append((path, read_manifest(path.with_suffix(".parquet"))))
        found = [(path, table) for path, table in found if len(table)]
        self.shards = [path.with_suffix(".bin") for path, _ in found]
        if found:
            numbered = [table.with_columns(shard=pl.lit(number)) for number, (_, table) in enumerate(found)]
            self.table = pl.concat(numbered).unique("key", keep="first", maintain_order=True)
            self.rows = {key: row for row, key in enumerate(self.table["key"])}

    def missing(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Places in `keys` of the items that are not stored, the first of each distinct key alone."""
        first: dict[str, int] = {}
        for place, key in enumerate(keys):
            if key not in self.rows:
                first.setdefault(key, place)
        return np.fromiter(first.values(), dtype=np.int64)

    def writer(self) -> Writer:
        """A context in which vectors can be appended."""
        return Writer(self.folder, self.precision)

    def get(self, keys: Sequence[str]) -> Vectors:
        """The vectors of items that are all stored, in order of `keys`.

        `(n, width)` float32, or `TokenVectors` in the stored precision; mapped from disk, read-only, where
        the order asked for is the order stored.
        """
        picked = self.table[[self.rows[key] for key in keys]]
        shard, start = picked["shard"].to_numpy(), picked["start"].to_numpy()
        count = picked["count"].to_numpy().astype(np.int64)
        width, several = int(picked["width"][0]), bool(picked["several"][0])
        for name, value in (("width", width), ("several", several)):
            if picked[name].n_unique() != 1:
                raise InputError(
                    f"{self.folder}: holds vectors that differ in {name} from {value}; their encoder changed "
                    "without saying so, prune them"
                )
        offsets = np.concatenate([[0], np.cumsum(count)])
        if (shard == shard[0]).all() and (start == start[0] + offsets[:-1]).all():
            whole = read_vectors(self.shards[shard[0]], width)[start[0] : start[0] + offsets[-1]]
            values: NDArray[Any] = whole if several else np.asarray(whole, dtype=np.float32)
        else:
            values = np.empty((int(offsets[-1]), width), dtype=self.precision if several else np.float32)
            self._gather(values, shard, start, count, offsets)
        return TokenVectors(values, offsets) if several else values

    def _gather(
        self,
        values: NDArray[Any],
        shard: NDArray[Any],
        start: NDArray[Any],
        count: NDArray[np.int64],
        offsets: NDArray[np.int64],
    ) -> None:
        """Copy vectors into `values`, shard by shard in the order of the file, as a disk likes it."""
        for number in np.unique(shard):
            source = read_vectors(self.shards[number], values.shape[1])
            places = np.flatnonzero(shard == number)
            places = places[np.argsort(start[places])]
            if (count == 1).all():
                for first in range(0, len(places), ROWS_TOGETHER):
                    part = places[first : first + ROWS_TOGETHER]
                    values[part] = source[start[part]]
            else:
                for place in places:
                    tokens = source[start[place] : start[place] + count[place]]
                    values[offsets[place] : offsets[place + 1]] = tokens


class Store:
    """All shelves under one root, `cache_folder()` unless told otherwise."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or cache_folder()) / "vectors"

    def shelf(self, fingerprint: str, precision: Precision = "float32", name: str = "") -> Shelf:
        """The shelf of an encoder; `name` says for people what it is."""
        folder = self.root / f"{fingerprint}.{precision}"
        about = folder / "encoder.json"
        try:
            if not about.is_file():
                write_bytes(json.dumps({"name": name}, ensure_ascii=False).encode(), about)
            os.utime(about)  # when it was last used
        except OSError as error:
            raise InputError(
                f"{self.root}: the embedding store cannot be written ({error}); "
                "$EQUIVIEW_CACHE names another folder"
            ) from None
        return Shelf(folder)

    def folders(self) -> list[Path]:
        """The folder of each shelf."""
        return sorted(path.parent for path in self.root.glob("*/encoder.json"))

    def contents(self) -> pl.DataFrame:
        """One row a shelf: encoder (fingerprint), name, precision, items, vectors, megabytes, last_used."""
        rows = []
        for folder in self.folders():
            table = Shelf(folder).table
            about = folder / "encoder.json"
            used = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
            rows.append(
                {
                    "encoder": folder.name.rpartition(".")[0],
                    "name": json.loads(about.read_bytes())["name"],
                    "precision": folder.name.rpartition(".")[2],
                    "items": len(table),
                    "vectors": int(table["count"].sum()) if len(table) else 0,
                    "megabytes": used / 1e6,
                    "last_used": time.strftime("%Y-%m-%d %H:%M", time.localtime(about.stat().st_mtime)),
                }
            )
        columns = {"encoder": pl.String, "name": pl.String, "precision": pl.String, "items": pl.Int64,
                   "vectors": pl.Int64, "megabytes": pl.Float64, "last_used": pl.String}  # fmt: skip
        return pl.DataFrame(rows, schema=columns)

    def verify(self) -> pl.DataFrame:
        """Check every stored vector against its checksum; one row for each damaged shard.

        Columns: encoder, precision, shard, problem, items (how many it touches).
        """
        rows = []
        for folder in self.folders():
            for path in manifests(folder):
                if found := _damage(path):
                    encoder, _, precision = folder.name.rpartition(".")
                    rows.append((encoder, precision, path.stem, *found))
        columns = {"encoder": pl.String, "precision": pl.String, "shard": pl.String, "problem": pl.String,
                   "items": pl.Int64}  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def prune(
        self, encoder: str | None = None, *, unused_days: float | None = None, damaged: bool = False
    ) -> int:
        """Remove shelves, or damaged shards; returns how many bytes became free.

        `encoder` is a fingerprint or the beginning of one; `unused_days` spares what was used since. Without
        either, and without `damaged`, everything goes. What a process is writing is spared.
        """
        freed = 0
        for folder in self.folders():
            if encoder is not None and not folder.name.startswith(encoder):
                continue
            age = time.time() - (folder / "encoder.json").stat().st_mtime
            if unused_days is not None and age < unused_days * DAY:
                continue
            busy = any(is_busy(path) for path in folder.glob("*.journal"))
            if damaged:
                bad = [path for path in manifests(folder) if _damage(path)]
                doomed = [twin for path in bad for twin in (path, path.with_suffix(".bin")) if twin.exists()]
                doomed += _leftovers(folder)
            elif busy:
                continue
            else:
                doomed = [path for path in folder.iterdir() if path.is_file()]
            freed += sum(path.stat().st_size for path in doomed)
            for path in doomed:
                path.unlink(missing_ok=True)
            if not damaged:
                shutil.rmtree(folder, ignore_errors=True)
        return freed


def keys_of(items: Items) -> list[str | InputError]:
    """What each item is known by, a hash of its content; or why its content cannot be had."""
    if items.kind == "text":
        return [_key(b"text", text.encode()) for text in items.texts]
    return [_image_key(items, row) for row in range(len(items))]


def _image_key(items: Items, row: int) -> str | InputError:
    try:
        return _key(b"image", items.encoded(row))
    except InputError as error:
        return error


def _key(kind: bytes, content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16, person=kind).hexdigest()


def _leftovers(folder: Path) -> list[Path]:
    """Files of shards that a killed process began and never named, left alone for an hour."""
    named = {path.stem for path in manifests(folder)}
    files = [path for pattern in ("*.bin", "*.new", ".*.part") for path in folder.glob(pattern)]
    return [path for path in files if path.stem not in named and time.time() - path.stat().st_mtime > 3600]


def _damage(manifest: Path) -> tuple[str, int] | None:
    """What is wrong with a shard and how many items that touches, or None."""
    try:
        named, table = named_in(manifest), read_manifest(manifest)
    except FileNotFoundError:  # sealed since it was listed
        return None
    except InputError as error:
        return str(error), 0
    if len(table) < len(named):
        lost = len(named) - len(table)
        return f"{lost} of {len(named)} items lie beyond the end of the file", lost
    if not len(table):
        return None
    stored = read_vectors(manifest.with_suffix(".bin"), int(table["width"][0]))
    bad = 0
    for start, count, crc in table.select("start", "count", "crc").iter_rows():
        bad += zlib.crc32(stored[start : start + count].tobytes()) != crc
    return (f"{bad} of {len(table)} items differ from their checksum", bad) if bad else None
