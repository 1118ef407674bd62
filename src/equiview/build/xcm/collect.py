"""The search for images of each concept and country, and the fetching of what it finds (P, section 3.2.1).

One search in English ("train Japan") and one in the native language; the first `top` images of each. What
a concept and country gave is recorded when it is whole: a build that is stopped searches nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    left = [unit for unit in wanted if not _record(out, unit).exists()]
    done = len(wanted) - len(left)
    stop = threading.Event()
    with ThreadPoolExecutor(settings.fetch.parallel, "equiview-collect") as pool:
        running = [pool.submit(_collect, out, unit, provider, settings, stop) for unit in left]
        try:
            for future in as_completed(running):
                future.result()
                done += 1
                progress("collecting", done, len(wanted))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    rows = [row for unit in wanted for row in read_json(_record(out, unit))]
    table = pl.DataFrame(rows, schema=IMAGE)
    named = set(table["file"].drop_nulls())
    sweep(out / COLLECTED)
    for path in (out / COLLECTED).glob("*"):
        if f"{COLLECTED}/{path.name}" not in named:  # of a process that was killed
            path.unlink()
    return table


def _record(out: Path, unit: Unit) -> Path:
    return out / RECORDS / f"{unit.name}.json"


def _collect(out: Path, unit: Unit, provider: Provider, settings: XcmSettings, stop: threading.Event) -> None:
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for query in unit.queries:
        for rank, found in enumerate(_found(provider, query, settings.top), start=1):
            if stop.is_set():
                return
            rows.append(_row(out, unit, query, rank, found, provider, settings, seen))
    write_bytes(json.dumps(rows, ensure_ascii=False).encode(), _record(out, unit))


def _found(provider: Provider, query: Query, top: int) -> Iterator[Found]:
    """What a search finds; InputError where a provider of somebody else's breaks."""
    try:
        found = list(provider.search(query, top))[:top]
        wrong = [entry for entry in found if not isinstance(entry, Found)]
    except (InputError, OSError):
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(
            f"{type(provider).__name__}: the search {query.text!r} failed with {said}"
        ) from error
    if wrong:
        kind = type(wrong[0]).__name__
        raise InputError(f"{type(provider).__name__}: the search {query.text!r} gave {kind}, expected Found")
    yield from found


def _row(
    out: Path,
    unit: Unit,
    query: Query,
    rank: int,
    found: Found,
    provider: Provider,
    settings: XcmSettings,
    seen: set[str],
) -> dict[str, Any]:
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
        seen.add(found.url)
        if settings.licences and not found.licence.lower().startswith(
            tuple(licence.lower() for licence in settings.licences)
        ):
            raise NotFetchedError("its licence is none of those kept", found.licence)
        content = _content(provider, found)
        kind, width, height = usable(content, settings.smallest)
    except NotFetchedError as error:
        return row | {"reason": error.reason, "detail": error.detail or None}
    file = f"{COLLECTED}/{name}.{kind}"
    write_bytes(content, out / file)
    return row | {
        "file": file, "sha256": hashlib.sha256(content).hexdigest(), "width": width, "height": height
    }  # fmt: skip


def _content(provider: Provider, found: Found) -> bytes:
    try:
        return provider.content(found)
    except InputError as error:  # a file of the user's that cannot be read
        raise NotFetchedError("it cannot be read", str(error)) from None
