"""`webdataset:PLACE`: images and their metadata in tar files, as WebDataset and img2dataset write them.

A sample is the files of one name: an image (`.jpg`, `.png`, `.webp` or `.gif`) beside a `.json` with fields
as the columns of `table:`, `concept` and `country` among them. A sample without an image needs a `url`. They
are in the order of the shards' names and of the files in each.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from equiview.build.xcm.fetch import MOST_BYTES, NotFetchedError
from equiview.build.xcm.providers.base import Found
from equiview.build.xcm.providers.local import IMAGES, Listed, Local, listed
from equiview.errors import InputError
from equiview.io.files import parse_json
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_files

if TYPE_CHECKING:
    from equiview.io.progress import Progress

PICTURES = frozenset({"jpg", "jpeg", "png", "webp", "gif"})
MOST_JSON = 1_000_000


@dataclass(frozen=True)
class Member:
    """Where a file lies within a shard."""

    shard: Path
    start: int
    size: int


class Shards(Local):
    """Images and their metadata in tar files."""

    def _listed(self) -> Listed:
        self.shards = sorted(self.place.glob("*.tar")) if self.place.is_dir() else [self.place]
        if not self.shards:
            raise InputError(f"{self.place}: holds no .tar file; name a folder of shards, or one of them")
        self.members: dict[str, Member] = {}
        rows, places = [], []
        for shard in self.shards:
            for where, row in self._samples(shard):
                rows.append({name: row.get(name) for name in IMAGES.dtypes})
                places.append(where)
        for where, row in zip(places, rows, strict=True):
            for name, value in row.items():
                if value is not None and not isinstance(value, str):
                    raise InputError(f"{where}: {name} is {value!r}; expected a text")
        table = IMAGES.check(
            pl.DataFrame(rows, schema=dict.fromkeys(IMAGES.dtypes, pl.String)), str(self.place)
        )
        return listed(table, places, str(self.place))

    def _samples(self, shard: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each sample of a shard: where it is, and its fields with the path of its image."""
        for name, files in _grouped(shard).items():
            where = f"{shard}, {name}.json"
            if "json" not in files:
                raise InputError(f"{where}: is not there; each sample needs its concept and country")
            entry = files["json"]
            if entry.size > MOST_JSON:
                raise InputError(f"{where}: has {entry.size:,} bytes; at most {MOST_JSON:,} are read")
            row = parse_json(_bytes(entry), where)
            if not isinstance(row, dict):
                raise InputError(f"{where}: is no object; expected fields such as concept and country")
            pictures = [ending for ending in files if ending in PICTURES]
            if len(pictures) > 1:
                raise InputError(f"{where}: stands beside {len(pictures)} images; a sample has one")
            path = None
            if pictures:
                path = f"{shard.name}/{name}.{pictures[0]}"
                self.members[path] = files[pictures[0]]
            yield where, {key: value for key, value in row.items() if key != "path"} | {"path": path}

    def content(self, found: Found) -> bytes:
        """The content of an image in a shard, or of an address."""
        if not found.path:
            return super().content(found)
        member = self.members[found.path]
        if member.size > MOST_BYTES:
            raise NotFetchedError("it is too large", f"{member.size:,} bytes")
        return _bytes(member)

    def fingerprint(self, progress: Progress) -> str:
        """A hash of the shards by name and content."""
        hashes = hash_files([str(shard) for shard in self.shards], progress)
        names = [shard.name for shard in self.shards]
        return fingerprint(*names, *(known if isinstance(known, bytes) else "" for known in hashes))


def _grouped(shard: Path) -> dict[str, dict[str, Member]]:
    """The files of each sample by their ending, which begins at the first dot of the name."""
    found: dict[str, dict[str, Member]] = {}
    try:
        with tarfile.open(shard, "r:") as archive:
            for entry in archive:
                folder, slash, file = entry.name.rpartition("/")
                stem, dot, ending = file.partition(".")
                if not entry.isreg() or not dot or not stem:
                    continue
                name, ending = f"{folder}{slash}{stem}", ending.lower()
                if ending in found.setdefault(name, {}):
                    raise InputError(f"{shard}: holds {entry.name!r} twice; a sample has one of each")
                found[name][ending] = Member(shard, entry.offset_data, entry.size)
    except (tarfile.TarError, EOFError) as error:
        raise InputError(
            f"{shard}: is no tar file, or is cut off ({error}); write it without compression"
        ) from None
    except OSError as error:
        raise InputError(f"{shard}: cannot be read ({error.strerror or error})") from None
    if not found:
        raise InputError(f"{shard}: holds no sample; expected images beside .json files")
    return found


def _bytes(member: Member) -> bytes:
    try:
        with member.shard.open("rb") as stream:
            stream.seek(member.start)
            content = stream.read(member.size)
    except OSError as error:
        raise InputError(f"{member.shard}: cannot be read ({error.strerror or error})") from None
    if len(content) < member.size:
        raise InputError(f"{member.shard}: is cut off; copy it again")
    return content
