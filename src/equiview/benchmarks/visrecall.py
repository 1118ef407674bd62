"""`visrecall:DIR`: landmarks, their names in nine languages and pictures of them (T, section 3).

`landmark_list.json`, `image_list.json` and `images/LANDMARK/FILE`, as released. A landmark's name in a
language is the title of its Wikipedia page in it; underscores are spaces. Option `images`: pictures of a
landmark that are read at most, in the order of the list (20, as in the paper). Every landmark with pictures
must be in `landmark_list.json`; `unmatched=SHARE` is the share that need not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.landmarks import LANDMARKS, NAMES
from equiview.benchmarks.release import (
    NUMBER,
    UNMATCHED,
    Release,
    check_partners,
    image_items,
    number_field,
    text_field,
)
from equiview.data.arguments import count_option
from equiview.data.languages import code_of, region_code
from equiview.errors import InputError
from equiview.io.files import read_json

VISRECALL = Release(
    name="visrecall",
    title="VisRecall",
    licence="as stated there; pictures of the Google Landmarks Dataset v2 under their own terms",
    needs=(("landmark_list.json",), ("image_list.json",)),
    options=("images", UNMATCHED),
)
TITLE = "wikipedia_"
PICTURES = 20


def visrecall(argument: str) -> Benchmark:
    """Read it: images with `landmark_id`, tables `landmarks` and `names`.

    A missing title, and a landmark without pictures, which is left out, are counted in `about`.
    """
    place, options = VISRECALL.open(argument)
    most = count_option(options, "images", PICTURES, "'visrecall'")
    path = place / "landmark_list.json"
    landmarks, names, untitled = _landmarks(read_json(path), path)
    listed = _pictures(place / "image_list.json", most)
    strange = [landmark for landmark in listed if landmark not in landmarks]
    check_partners(strange, len(listed), "landmarks of image_list.json", path, options)
    pictured = [landmark for landmark in landmarks if listed.get(landmark)]
    if not pictured:
        raise InputError(f"{place / 'image_list.json'}: has no picture of any landmark of {path.name}")
    files = {file: landmark for landmark in pictured for file in listed[landmark]}
    images = image_items(
        place,
        {name: name for name in files},
        ("images",),
        place / "image_list.json",
        {"landmark_id": list(files.values())},
    )
    regions = {"landmark_id": pictured, "region": [landmarks[landmark] for landmark in pictured]}
    named = pl.DataFrame(names, schema=NAMES.dtypes, orient="row")
    left_out = {
        "landmarks without pictures are left out": len(landmarks) - len(pictured),
        "titles are missing": untitled,
        "landmarks with pictures are not in the list": len(strange),
    }
    about = f"{len(images):,} images of {len(pictured):,} landmarks, {named['language'].n_unique()} languages"
    return VISRECALL.benchmark(
        images,
        about="; ".join([about, *(f"{count:,} {what}" for what, count in left_out.items() if count)]),
        tables={
            "landmarks": pl.DataFrame(regions),
            "names": named.filter(pl.col("landmark_id").is_in(pictured)),
        },
        schemas={"landmarks": LANDMARKS, "names": NAMES},
    )


def _landmarks(content: Any, path: Path) -> tuple[dict[str, str], list[tuple[str, str, str]], int]:
    """The region of each landmark, (landmark, language, name) of each title, and how many titles lack."""
    if not isinstance(content, list) or not content:
        raise InputError(f"{path}: holds no list of landmarks")
    regions: dict[str, str] = {}
    names: list[tuple[str, str, str]] = []
    untitled = 0
    for number, entry in enumerate(content, start=1):
        where = f"{path}, landmark {number}"
        landmark = number_field(entry, "landmark_id", where)
        if landmark in regions:
            raise InputError(f"{where}: landmark_id {landmark!r} is there twice; it must be distinct")
        if not landmark.strip() or ":" in landmark or "/" in landmark:
            raise InputError(f"{where}: landmark_id {landmark!r} must not be empty nor hold ':' or '/'")
        region = text_field(entry, "domestic_language_code", where)
        regions[landmark] = _language(region, where, region_code)
        titles: dict[str, str] = {}
        for title in (field for field in entry if field.startswith(TITLE)):
            language = _language(title.removeprefix(TITLE), where)
            if language in titles:
                raise InputError(f"{where}: has two titles in language {language!r}")
            titles[language] = _name(text_field(entry, title, where))
        named = [(landmark, language, name) for language, name in titles.items() if name]
        if not named:
            raise InputError(f"{where}: has no title in any language ({TITLE}en and so on)")
        untitled += len(titles) - len(named)
        names += named
    return regions, names, untitled


def _language(name: str, where: str, read: Callable[[str], str] = code_of) -> str:
    try:
        return read(name)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _name(title: str) -> str:
    return " ".join(title.replace("_", " ").split())


def _pictures(path: Path, most: int) -> dict[str, list[str]]:
    """The files of each landmark in their folder, `most` of them."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no object; expected one with a list of files for each landmark")
    pictures: dict[str, list[str]] = {}
    for landmark, files in content.items():
        if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
            raise InputError(f"{path}, landmark {landmark!r}: expected a list of names of files")
        ((file, times),) = Counter(files).most_common(1) or [("", 0)]
        if times > 1:
            raise InputError(f"{path}, landmark {landmark!r}: names {file!r} {times} times")
        number = re.sub(NUMBER, r"\1", landmark)
        if number in pictures:
            raise InputError(f"{path}, landmark {landmark!r}: {number!r} is there twice; it must be distinct")
        pictures[number] = [f"{landmark}/{file}" for file in files[:most]]
    return pictures
