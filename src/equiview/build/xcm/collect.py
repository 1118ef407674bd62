"""The search for images of each concept and country, and the fetching of what it finds (P, section 3.2.1).

One search in English ("train Japan") and one in the native language; the first `top` images of each. What
a concept and country gave is recorded when it is whole: a build that is stopped searches nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from equiview.build.xcm.fetch import NotFetchedError, usable
from equiview.build.xcm.providers import Found, Provider, Query
from equiview.build.xcm.settings import XcmSettings, table_of_countries
from equiview.build.xcm.steps import IMAGE, row_of
from equiview.errors import InputError
from equiview.io.files import read_json
from equiview.io.progress import Progress
from equiview.io.stages import sweep
from equiview.io.tables import write_bytes
from equiview.subjects.base import said_with_place

T = TypeVar("T")
COLLECTED = "collected"
RECORDS = ".collected"
"""Of each concept and country what was found, until all is collected."""


@dataclass(frozen=True)
class Unit:
    """What is searched for and fetched together: a concept in a country."""

    name: str
    concept_id: int
    queries: tuple[Query, ...]


def units(concepts: pl.DataFrame, settings: XcmSettings) -> list[Unit]:
    """Every concept in every country, with its searches; where both are the same words, there is one."""
    made = []
    for concept in concepts.iter_rows(named=True):
        for country in table_of_countries(settings):
            language, name = country["language"], country["country"]
            native = concept["concept"] if language == "en" else concept[f"name_{language}"]
            asked = {
                "eng": (f"{concept['concept']} {name}", "en"),
                "nav": (f"{native} {country['native_name']}", language),
            }
            if asked["eng"][0] == asked["nav"][0]:
                del asked["nav"]
            queries = tuple(
                Query(text, concept["concept"], name, spoken, kind) for kind, (text, spoken) in asked.items()
            )
            number = int(concept["concept_id"])
            made.append(Unit(f"{name.lower()}-{number}", number, queries))
    return made


def collect(
    out: Path, wanted: Sequence[Unit], provider: Provider, settings: XcmSettings, progress: Progress
) -> pl.DataFrame:
    """All images that were found, as `IMAGE` says, with files of those that are usable in `collected/`.

    InputError where a search fails: the same command goes on.
    """
    collector = Collector(out, provider, settings)
    left = [unit for unit in wanted if not collector.record(unit).exists()]
    done = len(wanted) - len(left)
    with ThreadPoolExecutor(settings.fetch.parallel, "equiview-collect") as pool:
        running = [pool.submit(collector.collect, unit) for unit in left]
        try:
            for future in as_completed(running):
                future.result()
                done += 1
                progress("collecting", done, len(wanted))
        except BaseException:
            collector.stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    table = pl.concat([pl.DataFrame(read_json(collector.record(unit)), schema=IMAGE) for unit in wanted])
    named = set(table["file"].drop_nulls())
    sweep(out / COLLECTED)
    for path in (out / COLLECTED).glob("*"):
        if f"{COLLECTED}/{path.name}" not in named:  # of a process that was killed
            path.unlink()
    return table


@dataclass(frozen=True)
class Collector:
    """Collects for one concept and country at a time, in several threads; `stop` ends it after an image."""

    out: Path
    provider: Provider
    settings: XcmSettings
    stop: threading.Event = field(default_factory=threading.Event)

    def record(self, unit: Unit) -> Path:
        """The file of what was found."""
        return self.out / RECORDS / f"{unit.name}.json"

    def collect(self, unit: Unit) -> None:
        """Search, fetch, and record what was found."""
        rows: list[dict[str, Any]] = []
        seen: set[str] = set()
        for query in unit.queries:
            for rank, found in enumerate(self._found(query), start=1):
                if self.stop.is_set():
                    return
                rows.append(self._row(unit, query, rank, found, seen))
                seen.add(found.url)
        write_bytes(json.dumps(rows, ensure_ascii=False).encode(), self.record(unit))

    def _found(self, query: Query) -> list[Found]:
        """What a search finds; InputError where a provider of somebody else's gives something else."""
        what = f"{type(self.provider).__name__}: the search {query.text!r}"
        found = _tried(lambda: list(self.provider.search(query, self.settings.top)), what)
        for entry in found:
            if not isinstance(entry, Found) or not all(
                isinstance(value, str) for value in vars(entry).values()
            ):
                raise InputError(f"{what} gave {entry!r:.80}; expected Found, whose fields are texts")
        return found[: self.settings.top]

    def _row(self, unit: Unit, query: Query, rank: int, found: Found, seen: set[str]) -> dict[str, Any]:
        name = f"{unit.name}-{rank}-{query.kind}"
        known = asdict(found)
        del known["path"]  # of this machine
        row = row_of(
            item_id=name, concept_id=unit.concept_id, concept=query.concept, country=query.country,
            query=query.kind, text=query.text, rank=rank, **known,
        )  # fmt: skip
        try:
            if found.url in seen:
                raise NotFetchedError("the other search found it already")
            if not self._licensed(found):
                raise NotFetchedError("its licence is none of those kept", found.licence)
            content = self._content(found)
            kind, width, height = usable(content, self.settings.smallest)
        except NotFetchedError as error:
            return row | {"reason": error.reason, "detail": error.detail or None}
        file = f"{COLLECTED}/{name}.{kind}"
        write_bytes(content, self.out / file)
        sha256 = hashlib.sha256(content).hexdigest()
        return row | {"file": file, "sha256": sha256, "width": width, "height": height}

    def _licensed(self, found: Found) -> bool:
        kept = tuple(licence.casefold() for licence in self.settings.licences)
        return not kept or found.licence.casefold().startswith(kept)

    def _content(self, found: Found) -> bytes:
        what = f"{type(self.provider).__name__}: the image {found.url!r}"
        try:
            content = _tried(lambda: self.provider.content(found), what)
        except InputError as error:  # a file that cannot be read, or code of somebody else's that breaks
            raise NotFetchedError("it cannot be read", str(error)) from None
        if not isinstance(content, bytes):
            raise NotFetchedError(
                "it cannot be read", f"{what} gave {type(content).__name__}, expected bytes"
            )
        return content


def _tried(call: Callable[[], T], what: str) -> T:
    """What `call` returns; InputError where code of somebody else's breaks."""
    try:
        return call()
    except (InputError, NotFetchedError, OSError):
        raise
    except Exception as error:
        raise InputError(f"{what} failed with {said_with_place(error)}") from error
