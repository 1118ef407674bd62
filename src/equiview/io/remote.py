"""Places on object stores: a URL such as `s3://bucket/runs/a` stands for a folder here, its copy.

What equiview writes relies on renaming, on locks and on files that can be mapped, which an object store
lacks. So whatever stands at a URL is worked on in its copy, and files are fetched into it and sent from it
when they are whole. Copies are in `cache_folder()`:

    remote/HASH/NAME/           the files below the URL; hidden ones are nobody's but this machine's
    remote/HASH/files.json      what each file was on both sides when they last were the same
    remote/HASH/owner           who this copy is to other machines; HASH is of the URL and an S3's address
    remote/HASH/.url            the URL, for people; touched at each use

A file is fetched or sent when its size or tag (ETag, time) at the store is another than then, or the copy's
is. It has its name in the copy once it is whole, and an object store shows no part of an object. fsspec
speaks to the stores.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from equiview.errors import InputError
from equiview.extras import require
from equiview.io.cache import cache_folder
from equiview.io.files import content_of, parse_json, plain_name
from equiview.io.fingerprint import fingerprint
from equiview.io.lock import locked
from equiview.io.notices import notice
from equiview.io.secrets import redacted
from equiview.io.tables import write_bytes

WRITING = ".writing"
"""The object by which one machine at a time holds a place. It is made only where there is none."""
ITSELF = "."
"""The path, from a URL, of the file that it is."""
AT_A_TIME = 128
"""Files under way at once."""
NOTED, OWNER, SIGN = "files.json", "owner", ".url"
"""The files beside a copy."""
WAIT = 60.0
"""Seconds to wait for another process of this machine that fetches the same."""
EXTRAS = {"s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gcs"), "gcs": ("gcsfs", "gcs")}
"""For a scheme the library that knows it, and the extra that brings that."""
CREDENTIALS = {
    "s3fs": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or AWS_PROFILE",
    "gcsfs": "GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth application-default login`",
}
"""Where a library has its credentials from, beside the machine's role."""
URL = re.compile(r"([a-z][a-z0-9+.-]+):(//?)(?=[^/])", re.ASCII)
NO_STORES = {"http", "https", "data", "file", "local"}

Tag: TypeAlias = tuple[int, str]
"""The size of an object, and what changes when it is written again."""


def url_of(place: str | Path) -> str:
    """The URL that a place is, also where a `Path` has taken a slash of it; "" for a path.

    >>> url_of(Path("s3://bucket/runs/a")), url_of("runs/a"), url_of("C:/runs")
    ('s3://bucket/runs/a', '', '')
    """
    text = place if isinstance(place, str) else place.as_posix()
    found = URL.match(text)
    if found is None or found[1] in NO_STORES or (isinstance(place, str) and found[2] != "//"):
        return ""
    return f"{found[1]}://{text[found.end() :]}"


def local(place: str | Path) -> Path:
    """A file or folder here: of a path that path, of a URL its copy, which is fetched as far as it changed.

    InputError in one line where there is none, and for whatever the store refuses.
    """
    if not url_of(place):
        return Path(place).expanduser()
    mirror = Mirror(url_of(place))
    with mirror.alone():
        mirror.fetch()
    if not mirror.copy.exists():
        raise InputError(f"{mirror.url}: no such file or folder")
    return mirror.copy


def beside(folder: Path, name: str) -> Path:
    """A place that is named in a file of `folder`: a path from there, or a URL.

    >>> url_of(beside(Path("plans"), "s3://bucket/runs")), beside(Path("plans"), "runs").as_posix()
    ('s3://bucket/runs', 'plans/runs')
    """
    return Path(name) if url_of(name) else folder / name


def named(words: str | Path) -> str:
    """Words in which copies are called by their URLs."""
    text = url_of(words) if isinstance(words, Path) else ""
    text = text or str(words)
    for mirror in _KNOWN.values():
        text = text.replace(str(mirror.copy), mirror.url)
    return text


_KNOWN: dict[Path, Mirror] = {}
"""The copies that this process has used."""


@dataclass(frozen=True)
class Files:
    """The files below a URL: where they are at the store, with their tags, by path."""

    objects: Mapping[str, str]
    tags: Mapping[str, Tag]


@dataclass
class Mirror:
    """A URL and its copy. Whoever fetches or sends holds it `alone`, or the files have names of their own."""

    url: str
    copy: Path = field(default=Path())
    """A folder of the caller's own holds files that never change, so nothing is noted of them."""
    _owner: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self.fs, self.root = _store_of(self.url)
        self._noting = self.copy == Path()
        if self._noting:
            name = plain_name(self.url.rpartition("/")[2], self.url)
            server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
            self.copy = cache_folder() / "remote" / fingerprint(self.url, server) / name
            _KNOWN[self.copy] = self

    @property
    def _beside(self) -> Path:
        return self.copy.parent

    @contextmanager
    def alone(self, wait: float = WAIT) -> Iterator[None]:
        """Within, no other process of this machine fetches or sends; InputError when one does for long."""
        with locked(self._beside, wait=wait):
            with suppress(FileNotFoundError):
                os.utime(self._beside / SIGN)
            yield

    def there(self) -> Files:
        """What the store has; a URL that is a file holds `ITSELF`."""
        with self.asked("read"):
            self.fs.invalidate_cache()
            listed = self.fs.find(self.root, detail=True)
        objects, tags = {}, {}
        for path, about in listed.items():
            name = path.removeprefix(self.root).lstrip("/")
            marks_a_folder = path.endswith("/") or (not name and len(listed) > 1)
            if about.get("type") == "file" and not marks_a_folder and "/." not in f"/{name}":
                objects[plain_name(name, self.url) if name else ITSELF] = path
                tags[name or ITSELF] = _tag(about)
        return Files(objects, tags)

    def here(self) -> list[str]:
        """The files of the copy, by path; hidden ones aside."""
        return files_in(self.copy)

    def fetch(self, only: Collection[str] | None = None, *, last: str = "") -> None:
        """Bring the copy, or `only` these files of it, to what the store has; `last` comes last.

        Files of the copy that the store has no more are removed, unless `only` some are asked for.
        """
        there = self.there()
        wanted = [name for name in there.tags if only is None or name in only]
        self._get(self._unlike(wanted, there), there, last)
        if only is None and there.tags:
            for name in set(self.here()) - set(there.tags) if ITSELF not in there.tags else ():
                (self.copy / name).unlink()

    def _get(self, names: Collection[str], there: Files, last: str) -> None:
        ordered = sorted(names, key=lambda name: (name == last, name))
        self._beside.mkdir(parents=True, exist_ok=True)
        for part in _parts(ordered, last):
            with tempfile.TemporaryDirectory(dir=self._beside, prefix=".") as folder:
                got = [str(Path(folder) / str(number)) for number in range(len(part))]
                with self.asked("read"):
                    self.fs.get([there.objects[name] for name in part], got)
                for name, path in zip(part, map(Path, got), strict=True):
                    if path.stat().st_size != there.tags[name][0]:
                        raise InputError(f"{self.url}: {name!r} was written while it was read; run again")
                    (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
                    path.replace(self.copy / name)
            if self._noting:
                self._note(part, there)

    def changed(self, there: Files) -> list[str]:
        """The files of the copy that are not at the store as they are here."""
        return self._unlike(self.here(), there)

    def send(self, names: Collection[str]) -> None:
        """Put files of the copy on the store, each whole or not at all, in this order where it is a list."""
        for part in _parts(list(names), ""):
            with self.asked("written"):
                paths = [str(self.copy / name) for name in part]
                self.fs.put(paths, [f"{self.root}/{name}" for name in part])
        if names and self._noting:
            self._note(names, self.there())

    def read(self, name: str) -> bytes | None:
        """What an object holds; None where there is none."""
        with self.asked("read"):
            self.fs.invalidate_cache()
            try:
                return bytes(self.fs.cat_file(f"{self.root}/{name}"))
            except FileNotFoundError:
                self.there()  # where the bucket is missing, that is an error
            except OSError:
                self.there()  # a refused list says why, which a refused object may not
                raise
        return None

    def beginnings(self, names: Sequence[str], size: int) -> list[bytes]:
        """The first bytes of objects, `size` of them at most."""
        found: list[bytes] = []
        for part in _parts(list(names), ""):
            paths = [f"{self.root}/{name}" for name in part]
            with self.asked("read"):
                found += self.fs.cat_ranges(paths, [0] * len(part), [size] * len(part), on_error="raise")
        return found

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        with self.asked("written"):
            self.fs.pipe_file(f"{self.root}/{name}", content)

    def remove(self, names: Collection[str]) -> None:
        """Remove objects, those of them that are there."""
        for name in names:
            with self.asked("written"), suppress(FileNotFoundError):
                self.fs.rm_file(f"{self.root}/{name}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within, no other machine writes to this place; InputError says which one does.

        The object `.writing` is put on condition that there is none, and removed afterwards. One that a
        killed process of this copy left is taken over; of another machine's only its owner knows, so that a
        person decides. A process whose object was removed writes no more (`check_held`).
        """
        self._sign()
        path = self._beside / OWNER
        if not path.is_file():
            write_bytes(uuid.uuid4().hex.encode(), path)
        self._owner = content_of(path).decode()
        about = {
            "owner": self._owner,
            "machine": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        }
        with self.asked("written"), suppress(FileExistsError):
            self.fs.pipe_file(f"{self.root}/{WRITING}", json.dumps(about).encode(), mode="create")
        self.check_held()
        try:
            yield
        finally:
            try:
                if self._holder().get("owner") == self._owner:
                    self.remove([WRITING])
            except InputError:  # an error that led here says more; this copy takes it over the next time
                notice(f"{self.url}/{WRITING} could not be removed; other machines cannot write there now")

    def check_held(self) -> None:
        """InputError unless this copy holds the place."""
        holder = self._holder()
        if holder.get("owner") == self._owner:
            return
        if not holder:
            raise InputError(
                f"{self.url}: {WRITING} was removed while this run was writing; what was done is kept in "
                f"{self._beside}, and the same command goes on"
            )
        raise InputError(
            f"{self.url}: machine {holder.get('machine', '?')!r} is writing to it since "
            f"{holder.get('since', '?')}; wait until it is done, or if it never will be, delete "
            f"{self.url}/{WRITING} and run the same command again"
        )

    def _holder(self) -> dict[str, Any]:
        """Who holds the place: nobody, if it is empty."""
        content = self.read(WRITING)
        if content is None:
            return {}
        with suppress(InputError):
            if isinstance(about := parse_json(content, WRITING), dict):
                return about
        return {"machine": "?"}

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        """Within, only the store is asked: whatever its library raises becomes an InputError in one line."""
        try:
            yield
        except InputError:
            raise
        except FileNotFoundError as error:
            said = f"cannot be {what}, there is no such place ({_line(error)})"
            raise InputError(f"{self.url}: {said}") from None
        except Exception as error:  # of many libraries, which raise what they like
            kept = f"; what is done is kept in {self._beside}" if what == "written" else ""
            names = CREDENTIALS.get(_library(self.url)[0], "as its library has them")
            raise InputError(
                f"{self.url}: cannot be {what} ({_line(error)}); check the address, the credentials "
                f"({names}) and what they may do there, and the network{kept}"
            ) from None

    def _unlike(self, names: Collection[str], there: Files) -> list[str]:
        """Those of the files that are not on both sides what they were when they last were the same."""
        known = noted(self._beside)

        def same(name: str) -> bool:
            tag = there.tags.get(name)
            return tag is not None and known.get(name) == [list(tag), stamp(self.copy / name)]

        return [name for name in names if not same(name)]

    def _note(self, names: Collection[str], there: Files) -> None:
        """Keep that these files are now the same on both sides."""
        now = {
            name: [list(there.tags[name]), stamp(self.copy / name)] for name in names if name in there.tags
        }
        write_bytes(json.dumps(noted(self._beside) | now).encode(), self._beside / NOTED)
        self._sign()

    def _sign(self) -> None:
        """Write down of what this is a copy."""
        if not (self._beside / SIGN).is_file():
            write_bytes(redacted(self.url).encode(), self._beside / SIGN)


def _parts(names: list[str], last: str) -> Iterator[list[str]]:
    """Names a few at a time, the last one by itself."""
    first = [name for name in names if name != last]
    for start in range(0, len(first), AT_A_TIME):
        yield first[start : start + AT_A_TIME]
    if last in names:
        yield [last]


def files_in(copy: Path) -> list[str]:
    """The files of a copy, by path; hidden ones aside."""
    if copy.is_file():
        return [ITSELF]
    found = (path.relative_to(copy) for path in sorted(copy.rglob("*")) if path.is_file())
    return [path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)]


def noted(beside: Path) -> dict[str, Any]:
    """Of the files of a copy, by path, their tag and `stamp` when they last were the same on both sides."""
    with suppress(InputError, FileNotFoundError):
        if isinstance(found := parse_json(content_of(beside / NOTED), NOTED), dict):
            return found
    return {}


def stamp(path: Path) -> list[int] | None:
    """What changes when a file is written; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _tag(about: Mapping[str, Any]) -> Tag:
    """The size of an object, and the first thing that its store says of what it holds."""
    kinds = ("ETag", "etag", "md5Hash", "generation", "LastModified", "last_modified", "mtime", "created")
    return int(about["size"]), str(next((about[kind] for kind in kinds if about.get(kind)), ""))


@cache
def _store_of(url: str) -> tuple[Any, str]:
    """The file system of a URL, and its path there."""
    library, extra = _library(url)
    fsspec = require("fsspec", extra)
    if library != "fsspec":
        for name in (library, "google.auth"):  # they would print what `asked` says in a line
            logging.getLogger(name).addHandler(logging.NullHandler())
        require(library, extra)
    try:
        fs, root = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url}: this kind of URL cannot be used ({_line(error)})") from None
    return fs, root.rstrip("/")


def _library(url: str) -> tuple[str, str]:
    """The library that knows a kind of URL, and the extra that brings it."""
    return EXTRAS.get(url.partition(":")[0], ("fsspec", "s3"))


def _line(error: BaseException) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split())[:300] or type(error).__name__
