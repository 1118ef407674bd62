"""The store of vectors: computed once, and found again by encoder and content.

    ROOT/vectors/ENCODER.PRECISION/     a shelf: the vectors of one encoder
        encoder.json                    its name, for people; touched at each use
        *.vectors                       the vectors of one batch, see `equiview.store.files`
        *.writing                       a process is at work here
                                        files of other names, and links, are nobody's to read or remove here

`ENCODER` is the encoder's fingerprint (weights, revision, preprocessing, prompts), for pictures that of its
image tower where several encoders share one. An item is known by a hash of its content, so a picture under
another name, or a text in another benchmark, is the same item. ROOT is `cache_folder()`.

Any number of processes may use a shelf at once, without locks: a file appears under its name when it is whole
and is never changed afterwards. A process that is killed loses the batch it was at. Two processes that encode
the same items at the same time store them twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.vectors import TokenVectors, Vectors, rows_with, values_of
from equiview.errors import InputError
from equiview.io.cache import cache_folder, check_no_link
from equiview.io.files import content_of, is_file, parse_json, size_of
from equiview.io.notices import notice
from equiview.io.remote import Mirror, url_of
from equiview.io.tables import write_bytes
from equiview.search.halves import as_float32
from equiview.search.room import room_for
from equiview.store import files
from equiview.store.files import VectorFile

Precision = Literal["float32", "float16"]
PRECISIONS = (".float32", ".float16")
ROWS_TOGETHER = 1024
KEY = np.dtype("S16")
"""A key as NumPy orders it; read as one it would lose zeros at its end."""
BEGINNING = 2**16
"""Bytes of a file that hold the keys of a batch of usual size."""
HOUR, DAY = 3600, 86_400
WHEN = "%Y-%m-%d %H:%M"
BATCH = r"[0-9a-f]{12}-[0-9]{6,}\.vectors"
"""The name of a batch: its writer and a number."""
OURS = re.compile(
    rf"encoder\.json|{BATCH}|[0-9a-f]{{12}}\.writing|\.(encoder\.json|{BATCH})\.[a-z0-9_]{{8}}\.part"
)
"""The names of all files that are ever written to a shelf."""


class Shelf:
    """The stored vectors of one encoder, in one precision."""

    def __init__(self, folder: Path, shared: str = "") -> None:
        self.folder = folder
        self.mirror = Mirror(f"{shared}/{folder.name}", folder) if shared else None
        self.precision: Precision = "float16" if folder.name.endswith(".float16") else "float32"
        self.writer = uuid.uuid4().hex[:12]
        self.written = 0
        self.mark = folder / f"{self.writer}.writing"
        self.files: list[VectorFile] = []
        self.keys = np.empty(0, dtype=KEY)
        """Distinct, in order; an item's row is the number of items before it in `files`."""
        self.rows = np.empty(0, dtype=np.int64)
        self.checked: set[Path] = set()
        self.refresh()

    def refresh(self) -> None:
        """Look again at what is stored, by other processes too."""
        opened = {file.path: file for file in self.files}
        paths = vector_files(self.folder)
        for path in paths:
            if path not in opened:
                # The items of an unreadable file are missing; `verify` reports it.
                with contextlib.suppress(InputError, FileNotFoundError):
                    opened[path] = files.read(path)
        self.files = [opened[path] for path in paths if path in opened and len(opened[path].items)]
        keys = [np.empty(0, dtype=files.ITEM["key"]), *(file.items["key"] for file in self.files)]
        # An item that is stored twice is read from its first file, in whatever order the files were seen.
        self.keys, self.rows = np.unique(np.concatenate(keys).view(KEY), return_index=True)

    @property
    def n_vectors(self) -> int:
        """How many vectors the stored items have together."""
        return int(self._places()[2][self.rows].sum())

    def missing(self, keys: Collection[bytes]) -> list[bytes]:
        """The distinct keys that are not stored, in the order given."""
        return list(dict.fromkeys(compress(keys, self._rows_of(keys) < 0)))

    def share(self, keys: Collection[bytes]) -> None:
        """Fetch from the shared store the files that hold one of `keys`, and send those that it lacks.

        A file is never changed and has its writer's name, so no machine waits for another.
        """
        if self.mirror is None:
            return
        there = self.mirror.there().tags
        here = [path.name for path in vector_files(self.folder)]
        others = [name for name in there if re.fullmatch(BATCH, name) and name not in here]
        held = map(files.keys_of_beginning, self.mirror.beginnings(others, BEGINNING))
        wanted = set(keys)
        self.mirror.fetch(
            [name for name, of in zip(others, held, strict=True) if of is None or not wanted.isdisjoint(of)]
        )
        self.mirror.send([name for name in (*here, "encoder.json") if name not in there])
        self.refresh()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Within, the shelf is not pruned until an hour after its last batch."""
        try:
            yield
        finally:
            self.mark.unlink(missing_ok=True)

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store the vectors of these items, one key each; when this returns they are on disk.

        InputError for vectors that the precision cannot hold, and when the disk is full or read-only.
        """
        content = values_of(vectors)
        counts = vectors.lengths if isinstance(vectors, TokenVectors) else None
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(content, dtype=np.dtype(self.precision).newbyteorder("<"))
        for problem, size in (("nan", "large"), ("zero", "small")):
            if rows_with(problem, values).any():
                raise InputError(f"vectors are too {size} for {self.precision}; store them as float32")
        name = f"{self.writer}-{self.written:06d}.vectors"
        try:
            files.write(self.folder / name, keys, values, counts)
            self.mark.touch()
        except OSError as error:
            raise InputError(
                f"{self.folder}: vectors cannot be stored ({error}); those stored before are kept. "
                "$EQUIVIEW_CACHE names another folder"
            ) from None
        self.written += 1
        self._send(name)

    def _send(self, name: str) -> None:
        """Send a file to the shared store; what cannot be sent now is sent by the next `share`."""
        if self.mirror is None:
            return
        try:
            self.mirror.send([name])
        except InputError as error:
            notice(str(error))

    def get(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors of items that are all stored, in order of `keys`.

        `(n, width)` float32, or `TokenVectors` in the stored precision; mapped from disk, read-only, where
        they are one file in the order asked for, else copied file by file (`equiview.search.room.room_for`).
        KeyError for an item that is not stored, FileNotFoundError where it was pruned meanwhile, InputError
        for a file that is damaged, and where the disk has no room for a copy that memory should not hold.
        """
        rows = self._rows_of(keys)
        if (rows < 0).any():
            raise KeyError(keys[int(np.argmin(rows))])
        number, start, count = (column[rows] for column in self._places())
        read = [self.files[index] for index in np.unique(number)]
        for file in read:
            if file.path not in self.checked:
                file.check()
                self.checked.add(file.path)
        kinds = {(file.shape[1], file.several) for file in read}
        if len(kinds) > 1:
            raise InputError(
                f"{self.folder}: holds vectors of several kinds (width, one a token): {sorted(kinds)}; their "
                "encoder changed without saying so, prune them"
            )
        ((width, several),) = kinds
        offsets = np.concatenate([[0], np.cumsum(count)])
        if (number == number[0]).all() and (start == start[0] + offsets[:-1]).all():
            whole = self.files[number[0]].values[start[0] : start[0] + offsets[-1]]
            values: NDArray[Any] = whole if several else as_float32(whole)
        else:
            values = room_for(
                (int(offsets[-1]), width), self.precision if several else np.float32, self.folder
            )
            for index in np.unique(number):
                places = np.flatnonzero(number == index)
                _gather(values, self.files[index].values, places, start, offsets)
        return TokenVectors(values, offsets) if several else values

    def _rows_of(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        """The row of each item, -1 where it is not stored."""
        asked = np.frombuffer(b"".join(keys), dtype=KEY)
        places = np.searchsorted(self.keys, asked)
        rows = np.append(self.rows, -1)[places]
        rows[np.append(self.keys, b"")[places] != asked] = -1
        return rows

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For every item the number of its file, its first row there, and its number of rows."""
        counts = [np.empty(0, dtype=np.int64), *(file.counts for file in self.files)]
        numbers = np.repeat(np.arange(len(counts)) - 1, [len(part) for part in counts])
        starts = [np.cumsum(part) - part for part in counts]
        return numbers, np.concatenate(starts), np.concatenate(counts)


class Store:
    """All shelves under one root, `cache_folder()` unless another is given.

    `$EQUIVIEW_STORE`, a URL, names a store that machines share; what it has is fetched when it is missed.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or cache_folder()) / "vectors"
        self.shared = "" if root else shared_store()

    def shelf(self, encoder: str, precision: Precision = "float32", name: str = "") -> Shelf:
        """The shelf of an encoder, by its fingerprint; `name` is for people."""
        folder = self.folder(encoder, precision)
        about = folder / "encoder.json"
        try:
            if _name_in(about) is None:
                write_bytes(json.dumps({"name": name}, ensure_ascii=False).encode(), about)
            os.utime(about)  # when it was last used
        except OSError as error:
            raise InputError(
                f"{self.root}: the store of vectors cannot be written ({error}); "
                "$EQUIVIEW_CACHE names another folder"
            ) from None
        return Shelf(folder, self.shared)

    def folder(self, encoder: str, precision: Precision = "float32") -> Path:
        """Where the shelf of an encoder is, if there is one."""
        return self.root / f"{encoder}.{precision}"

    def folders(self) -> list[Path]:
        """The folder of each shelf: no link, and with a precision in its name."""
        named = sorted(path.parent for path in self.root.glob("*/encoder.json"))
        return [path for path in named if path.suffix in PRECISIONS and not path.is_symlink()]

    def contents(self) -> pl.DataFrame:
        """One row a shelf: encoder (fingerprint), name, precision, items, vectors, megabytes, last_used."""
        rows = []
        for folder in self.folders():
            shelf, about = Shelf(folder), folder / "encoder.json"
            encoder, _, precision = folder.name.rpartition(".")
            used = time.strftime(WHEN, time.localtime(about.lstat().st_mtime))
            size = size_of(*folder.iterdir()) / 1e6
            rows.append(
                (encoder, _name_in(about) or "?", precision, len(shelf.keys), shelf.n_vectors, size, used)
            )
        columns = {"encoder": pl.String, "name": pl.String, "precision": pl.String, "items": pl.Int64,
                   "vectors": pl.Int64, "megabytes": pl.Float64, "last_used": pl.String}  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def verify(self) -> pl.DataFrame:
        """Check every stored vector against its checksum; one row for each damaged file.

        Columns: encoder, precision, file, problem, items (how many it affects, 0 where it cannot be known).
        """
        rows = []
        for folder in self.folders():
            for path in vector_files(folder):
                if damage := _damage(path):
                    encoder, _, precision = folder.name.rpartition(".")
                    rows.append((encoder, precision, path.name, *damage))
        columns = {"encoder": pl.String, "precision": pl.String, "file": pl.String, "problem": pl.String,
                   "items": pl.Int64}  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def prune(
        self, encoder: str | None = None, *, unused_days: float | None = None, damaged: bool = False
    ) -> int:
        """Remove shelves, or damaged files; returns how many bytes became free.

        `encoder` is a fingerprint or the beginning of one; with `unused_days` only shelves not used for so
        long are removed. Without any argument everything is. Shelves that a process writes to are kept, and
        so is whatever the store did not write itself; a notice names that. Nothing is removed through a link.
        """
        check_no_link(self.root)
        freed = 0
        for folder in self.folders():
            about = folder / "encoder.json"
            if encoder is not None and not folder.name.startswith(encoder):
                continue
            if unused_days is not None and _age(about) < unused_days * DAY:
                continue
            own = [
                path for path in folder.iterdir() if OURS.fullmatch(path.name) and is_file(path, linked=False)
            ]
            others = sorted(path.name for path in set(folder.iterdir()) - set(own))
            if damaged:
                leftovers = [
                    path for path in own if path.suffix in {".part", ".writing"} and _age(path) > HOUR
                ]
                own = [path for path in own if path.suffix == ".vectors" and _damage(path)] + leftovers
            elif any(path.suffix == ".writing" and _age(path) < HOUR for path in own):
                continue
            elif others or _name_in(about) is None:
                notice(
                    f"{folder}: is kept with {', '.join(others[:3]) or about.name}, which is none of ours; "
                    "delete the folder yourself if you do not need it"
                )
                own.remove(about) if about in own else None
            for path in own:
                freed += size_of(path)
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it holds something
                folder.rmdir()
        return freed


def shared_store() -> str:
    """`$EQUIVIEW_STORE`; InputError where it is no URL."""
    given = os.environ.get("EQUIVIEW_STORE", "")
    if given and not url_of(given):
        raise InputError(
            f"$EQUIVIEW_STORE is {given!r}; expected a URL, such as s3://bucket/store; a folder is named in "
            "$EQUIVIEW_CACHE"
        )
    return given.rstrip("/")


def keys_of(items: Items, by_language: bool = False) -> list[bytes | InputError]:
    """The hash of each item's content, with `by_language` of text and language, or why it cannot be read."""
    if items.kind == "text" and by_language:
        pairs = zip(items.table["language"], items.texts, strict=True)
        return [_key(b"text in", f"{language}\0{text}".encode()) for language, text in pairs]
    if items.kind == "text":
        return [_key(b"text", text.encode()) for text in items.texts]
    hashes = items.hash_pictures()
    return [known if isinstance(known, InputError) else _key(b"image", known) for known in hashes]


def _key(kind: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16, person=kind).digest()


def vector_files(folder: Path) -> list[Path]:
    """The files of a shelf, those of each process in the order of writing."""
    return sorted(
        path for path in folder.glob("*.vectors") if re.fullmatch(BATCH, path.name) and is_file(path)
    )


def _gather(
    values: NDArray[Any],
    source: NDArray[Any],
    places: NDArray[np.int64],
    start: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None:
    """Copy the vectors of the items at `places` from one file, in its order, which disks read fastest."""
    places = places[np.argsort(start[places])]
    if len(values) == len(start):  # one vector each
        for first in range(0, len(places), ROWS_TOGETHER):
            part = places[first : first + ROWS_TOGETHER]
            rows = source[start[part]]
            values[part] = rows if rows.dtype == values.dtype else as_float32(rows)
    else:
        for place in places:
            count = offsets[place + 1] - offsets[place]
            values[offsets[place] : offsets[place + 1]] = source[start[place] : start[place] + count]


def _name_in(about: Path) -> str | None:
    """The name of a shelf; None where its file is gone, damaged or not the store's."""
    try:
        content = parse_json(content_of(about), str(about))
    except InputError:
        return None
    return str(content["name"]) if isinstance(content, dict) and set(content) == {"name"} else None


def _age(path: Path) -> float:
    """Seconds since a file was changed, 0 if it has vanished meanwhile."""
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0


def _damage(path: Path) -> tuple[str, int] | None:
    """The damage of a file and the number of items affected, or None."""
    try:
        file = files.read(path)
    except FileNotFoundError:  # pruned since it was listed
        return None
    except InputError as error:
        return str(error), 0
    if file.lost:
        return f"{file.lost} of {file.lost + len(file.items)} items lie beyond the end of the file", file.lost
    if bad := file.damaged():
        return f"{bad} of {len(file.items)} items differ from their checksum", bad
    return None if file.is_whole() else ("the keys of its items differ from their checksum", 0)
