"""`hub:REPO[@REV]`: data sets in the layout of the Hugging Face hub, from its local cache or a folder.

REPO is the name of a data set (`OWNER/NAME`), a commit or tag after `@`, or a folder that holds a copy of
one. What it is is told by its files: Crossmodal-3600 with a Parquet split for each language (`image_id`,
`image_locale`, `captions`, `image`), FairFace (`image`, `age`, `gender`, `race`), 3XCM and KnowRecall as they
are released. Pictures stay in memory as they are encoded. PHASE is read by `phase:DIR`.

Options: `split=` and `config=` of FairFace: its validation split by default, and which margin, as `0.25`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.fairface import FACES, FAIRFACE
from equiview.benchmarks.knowrecall import knowrecall
from equiview.benchmarks.release import seek, text_items
from equiview.benchmarks.snapshots import PAGES, snapshot
from equiview.benchmarks.xcm import xcm
from equiview.benchmarks.xm3600 import pool_of
from equiview.data.arguments import split_argument
from equiview.data.items import Items, with_pictures
from equiview.data.languages import read_language
from equiview.errors import InputError
from equiview.io.files import is_file, parse_json
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema, parquet_metadata, read_table

OPTIONS = ("split", "config")
SPLITS = {"val": "validation"}
KNOWN = "Crossmodal-3600, FairFace, 3XCM and KnowRecall"
CAPTIONS = Schema(
    "captions",
    (
        Column("image_id", pl.String, "the image", unique=True),
        Column("captions", pl.List(pl.String), "its captions in the language of the split"),
        Column("image_locale", pl.String, "where it was taken", nullable=True, optional=True),
    ),
)
LABELS = FACES.columns[1:]
"""The labels of FairFace; on the hub its pictures have no names of files."""


def hub(argument: str) -> Benchmark:
    """Read a data set of the hub; its commit is part of the source, and its card's licence is shown."""
    value, options = split_argument(argument, "hub", OPTIONS)
    if not value:
        raise InputError("benchmark 'hub' needs a data set: hub:OWNER/NAME, hub:OWNER/NAME@COMMIT or hub:DIR")
    place = Path(value).expanduser()
    source = f"a folder in the hub's layout, {place.name}"
    if not place.is_dir():
        repository, _, revision = value.partition("@")
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
            raise InputError(f"hub:{value}: is neither a folder nor the name of a data set, OWNER/NAME")
        place = snapshot(repository, revision or None, f"hub:{value}")
        source = f"{PAGES}/{repository}/tree/{place.name}"
        if not revision:
            notice(f"hub:{repository}: commit {place.name} is read; name it to stay with it, after an @")
    read = _read(place, options)
    licence = _licence(place)
    return replace(
        read,
        source=source,
        licence=f"{licence} by its card; the release: {read.licence}" if licence else read.licence,
    )


def _read(place: Path, options: Mapping[str, str]) -> Benchmark:
    """The benchmark of a folder, told by its files and by the columns of the first."""
    if seek(place, "image_metadata*", "image_metadata/*"):
        return xcm(str(place))
    files = [path for path in sorted(place.rglob("*.parquet")) if is_file(path)]
    if not files:
        raise InputError(f"{place}: holds no Parquet file; hub: reads {KNOWN} as they are on the hub")
    columns = read_table(files[0], Schema("any", ()), only=_FIRST).columns
    if {"question", "options"} <= {*columns}:
        return knowrecall(str(place))
    if {"image_id", "captions"} <= {*columns}:
        return _captions(place, files)
    if {"age", "gender", "race"} <= {*columns}:
        return _faces(place, files, options)
    raise InputError(
        f"{files[0]}: is of no data set that is read; hub: reads {KNOWN} as they are on the hub, folder:DIR "
        "any images and texts"
    )


_FIRST = ("question", "options", "image_id", "captions", "age", "gender", "race")


def _split(path: Path) -> str:
    """The split that a file is a part of: of `data/en-00000-of-00001.parquet` and `data/en/0000.parquet`."""
    stem = re.sub(r"-\d+-of-\d+.*$", "", path.stem)
    return path.parent.name if stem.isdigit() else stem


def _captions(place: Path, files: Sequence[Path]) -> Benchmark:
    """Crossmodal-3600, a split for each language; pictures are read from the first alone."""
    languages: dict[str, list[Path]] = {}
    for path in files:
        languages.setdefault(read_language(_split(path), str(place)), []).append(path)
    tables = {
        language: pl.concat([read_table(path, CAPTIONS, only=CAPTIONS.dtypes) for path in paths])
        for language, paths in languages.items()
    }
    first, *_ = languages.values()
    pictures = pl.concat([read_table(path, CAPTIONS) for path in first], how="diagonal_relaxed")
    wanted = ("image_id", "image_locale", "picture")
    shown = with_pictures(pictures)
    images = shown.select(name for name in wanted if name in shown.columns)
    images = images.rename({"image_id": "id", "image_locale": "locale"}, strict=False)
    rows = (
        (image, language, text, slot)
        for language, table in tables.items()
        for image, captions in table.select("image_id", "captions").iter_rows()
        for slot, text in enumerate(captions, start=1)
    )
    return pool_of(Items("image", images, str(first[0])), text_items(rows, place))


def _faces(place: Path, files: Sequence[Path], options: Mapping[str, str]) -> Benchmark:
    """One split of FairFace, as `fairface:DIR` reads it; an image is named by its split and place in it."""
    wanted = options.get("split", "validation")
    split = SPLITS.get(wanted, wanted)
    parts = [path for path in files if _split(path) == split]
    if not parts:
        there = ", ".join(sorted({_split(path) for path in files}))
        raise InputError(f"{place}: has no split {split!r}; it has {there}")
    configs = {path.relative_to(place).parts[0] for path in parts}
    config = options.get("config", "" if len(configs) > 1 else next(iter(configs)))
    if config not in configs:
        raise InputError(
            f"{place}: holds the pictures in {len(configs)} ways; name one: config={min(configs)} or "
            f"{', '.join(sorted(configs)[1:])}"
            if not config
            else f"{place}: has no config {config!r}; it has {', '.join(sorted(configs))}"
        )
    tables = [_named(path) for path in parts if path.relative_to(place).parts[0] == config]
    table = with_pictures(pl.concat(tables, how="diagonal_relaxed"))
    labels = table.select(column.name for column in LABELS)
    labels = labels.with_columns(pl.col("gender").str.to_lowercase())
    ids = pl.Series("id", [f"{split}/{row}" for row in range(1, len(table) + 1)])
    columns = [ids, *labels, *(table[name] for name in ("picture",) if name in table.columns)]
    images = Items("image", pl.DataFrame(columns), str(parts[0]))
    short = next((name for name, whole in SPLITS.items() if whole == split), split)
    return FAIRFACE.benchmark(images, about=f"{len(images):,} faces", part=short)


def _named(path: Path) -> pl.DataFrame:
    """A table whose labels are words; InputError where they are numbers and the file does not name them."""
    table = read_table(path, Schema("faces", (), tuple(column.name for column in LABELS)))
    named = _names(path)
    for name in (column.name for column in LABELS if column.name in table.columns):
        labels = table[name]
        if not labels.dtype.is_integer():
            continue
        if name not in named:
            raise InputError(f"{path}: column {name!r} holds numbers that the file has no names for")
        known = dict(enumerate(named[name]))
        if len(strange := labels.filter(~labels.is_in(list(known)))):
            raise InputError(f"{path}: column {name!r} holds {strange[0]}, which has no name")
        table = table.with_columns(labels.replace_strict(known, return_dtype=pl.String))
    return Schema("faces", LABELS).check(table, str(path))


def _names(path: Path) -> dict[str, list[str]]:
    """The names of labels that are numbers, by column, as the hub's library writes them into a file."""
    said = parquet_metadata(path).get("huggingface", "{}")
    content: Any = parse_json(said, f"{path}, what it says of its columns")
    for field in ("info", "features"):
        content = content.get(field) if isinstance(content, dict) else None
    features = content if isinstance(content, dict) else {}
    return {
        name: list(map(str, feature["names"]))
        for name, feature in features.items()
        if isinstance(feature, dict) and isinstance(feature.get("names"), list)
    }


def _licence(place: Path) -> str:
    """The licence that the data set's card states, or ""."""
    card = place / "README.md"
    if not is_file(card):
        return ""
    head = re.match(r"---\s*\n(.*?)\n---", card.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    stated = re.search(r"^license:[ \t]*(\S.*?)\s*$", head[1], re.MULTILINE) if head else None
    return stated[1].strip("\"'") if stated else ""
