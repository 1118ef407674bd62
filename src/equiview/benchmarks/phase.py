"""`phase:DIR`: web images, their captions, and what annotators saw in each person (Garcia et al., CVPR 2023).

`phase_gcc_SPLIT_regions_*.json` and the pictures in `phase_images/` or `images/`; `split` is val (default) or
train. The table `people` has a row for each person, values as published; an image has, for each trait, the
value that all its people share, or `mixed`. `skin` and `race` are `skintone` and `ethnicity`
once more, by the names that other benchmarks of people have for them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import (
    Release,
    field,
    files_by_stem,
    image_items,
    numbers,
    optional_text,
    text_field,
    text_items,
)
from equiview.data.labels import check_spellings
from equiview.errors import InputError
from equiview.io.files import parse_json, read_json
from equiview.io.spelling import cleaned
from equiview.io.tables import Column, Schema

PHASE = Release(
    name="phase",
    title="PHASE",
    licence="research only",
    needs=(("phase_gcc_*_regions_*.json", "*/phase_gcc_*_regions_*.json"),),
    options=("split",),
)
TRAITS = ("age", "gender", "skintone", "ethnicity", "emotion", "activity")
SHARED_NAMES = {"skin": "skintone", "race": "ethnicity"}
"""Names that other benchmarks of people have for the same attributes."""
PEOPLE = Schema(
    "people",
    (
        Column("image_id", pl.String, "the image"),
        Column("person", pl.String, "which person of the image, such as person0"),
        *(Column(name, pl.Float64, f"{name} of the box in pixels") for name in ("x1", "y1", "x2", "y2")),
        *(Column(name, pl.String, f"{name} as annotated", nullable=True) for name in TRAITS),
    ),
)


def phase(argument: str) -> Benchmark:
    """Read a split, val by default; the table `people` has image_id, person, box and six traits."""
    place, options = PHASE.open(argument)
    split = PHASE.choice(options, "split", ("val", "train"))
    path = PHASE.find(place, f"phase_gcc_{split}_regions_*.json", f"*/phase_gcc_{split}_regions_*.json")
    rows, captions, traits = [], [], {}
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no object; expected one with a field for each image")
    for image, entry in content.items():
        where = f"{path}, image {image!r}"
        captions.append((image, "en", text_field(entry, "caption", where), 1))
        people = [_person(image, key, entry[key], where) for key in sorted(entry) if key.startswith("person")]
        rows += people
        traits[image] = {trait: _shared([person[trait] for person in people]) for trait in TRAITS}
    for trait in TRAITS:
        said = Counter(cleaned(row[trait]) for row in rows if row[trait])
        check_spellings(said, f"{path}, {trait!r}")
    attributes = {trait: [values[trait] for values in traits.values()] for trait in TRAITS}
    attributes |= {name: attributes[trait] for name, trait in SHARED_NAMES.items()}
    names = _files_by_stem(place, list(traits), split)
    images = image_items(place, names, ("phase_images", "images", "."), path, attributes)
    about = f"{len(images):,} images, a caption each, {len(rows):,} people"
    return PHASE.benchmark(
        images,
        text_items(captions, path),
        about=about,
        part=split,
        tables={"people": pl.DataFrame(rows, schema=PEOPLE.dtypes)},
        schemas={"people": PEOPLE},
    )


def _person(image: str, key: str, entry: Any, where: str) -> dict[str, Any]:
    """A row of the table `people`."""
    where = f"{where}, {key}"
    annotations, region = field(entry, "annotations", where), field(entry, "region", where)
    if not isinstance(annotations, dict):
        raise InputError(f"{where}: annotations are {annotations!r}; expected an object")
    box = parse_json(f"[{region.strip('[]() ')}]", where) if isinstance(region, str) else region
    x1, y1, x2, y2 = numbers(box, 4, "region", where)
    traits = {trait: optional_text(annotations, trait, where) for trait in TRAITS}
    return {"image_id": image, "person": key, "x1": x1, "y1": y1, "x2": x2, "y2": y2, **traits}


def _shared(values: list[str | None]) -> str | None:
    """The value that all have, `mixed` if they differ, None if there are none."""
    distinct = {value and cleaned(value) for value in values}
    return "mixed" if len(distinct) > 1 else next(iter(distinct), None)


def _files_by_stem(place: Path, images: list[str], split: str) -> dict[str, str]:
    """The file of each image by id; the release does not say how their names end."""
    for folder in (place / "phase_images", place / "images"):
        # Images of both splits may have the same number.
        if files := files_by_stem(folder / split, images) or files_by_stem(folder, images):
            paths = {image: files.get(image, folder / f"{image}.jpg") for image in images}
            return {image: str(path.relative_to(folder)) for image, path in paths.items()}
    return {image: f"{image}.jpg" for image in images}
