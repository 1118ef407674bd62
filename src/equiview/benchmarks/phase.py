"""`phase:DIR`: web images, their captions, and what annotators saw in each person (Garcia et al., CVPR 2023).

`phase_gcc_SPLIT_regions_*.json` and the pictures in `phase_images/` or `images/`; `split` is val (default) or
train. The table `people` has a row a person, values as published; an image has, for each trait, the value
that all its people share, or `mixed`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark, same_image
from equiview.benchmarks.release import Release, field, image_items, one_of, read_json, text_items
from equiview.errors import InputError

PHASE = Release(
    name="phase",
    title="PHASE",
    source="https://github.com/noagarcia/phase",
    licence="research only",
    needs=(("phase_gcc_*_regions_*.json", "*/phase_gcc_*_regions_*.json"),),
    options=("split",),
)
TRAITS = ("age", "gender", "skintone", "ethnicity", "emotion", "activity")


@benchmark(
    "phase", usage=("phase:DIR",), about="PHASE: web images, captions and what people look like in them"
)
def phase(argument: str) -> Benchmark:
    """Read a split, val by default; the table `people` has image_id, person, box and six traits."""
    place, options = PHASE.open(argument)
    split = one_of(options, "split", ("val", "train"), "phase")
    path = PHASE.find(place, f"phase_gcc_{split}_regions_*.json", f"*/phase_gcc_{split}_regions_*.json")
    people, captions, traits = [], [], {}
    for image, entry in field({"images": read_json(path)}, "images", str(path)).items():
        where = f"{path}, image {image!r}"
        captions.append((f"{image}-en-1", field(entry, "caption", where), "en", image, 1))
        here = [_person(image, key, entry[key], where) for key in sorted(entry) if key.startswith("person")]
        people += here
        traits[image] = [_shared([person[6 + place] for person in here]) for place in range(len(TRAITS))]
    schema: dict[str, Any] = {"image_id": pl.String, "person": pl.String}
    schema |= dict.fromkeys(("x1", "y1", "x2", "y2"), pl.Float64) | dict.fromkeys(TRAITS, pl.String)
    table = pl.DataFrame(people, schema=schema, orient="row")
    attributes = {name: [traits[image][index] for image in traits] for index, name in enumerate(TRAITS)}
    images = image_items(
        place, _files_by_stem(place, list(traits)), ("phase_images", "images", "."), path, attributes
    )
    texts = text_items(captions, path)
    return Benchmark(
        name=f"phase-{split}",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about=f"{len(images):,} images, a caption each, {len(table):,} people",
        source=PHASE.source,
        licence=PHASE.licence,
        tables={"people": table},
    )


def _person(image: str, key: str, entry: Any, where: str) -> tuple[Any, ...]:
    seen = field(entry, "annotations", f"{where}, {key}")
    region = field(entry, "region", f"{where}, {key}")
    box = region.strip("[]() ").split(",") if isinstance(region, str) else region
    try:
        x1, y1, x2, y2 = map(float, box)
    except (TypeError, ValueError):
        raise InputError(f"{where}, {key}: region {region!r} is not four numbers") from None
    return (image, key, x1, y1, x2, y2, *(seen.get(trait) for trait in TRAITS))


def _shared(values: list[str | None]) -> str | None:
    """The value that all have, `mixed` when they differ, None when there are none."""
    distinct = set(values)
    return "mixed" if len(distinct) > 1 else next(iter(distinct), None)


def _files_by_stem(place: Path, images: list[str]) -> dict[str, str]:
    """Files of images whose endings are not published, found by what comes before the ending."""
    for folder in ("phase_images", "images"):
        if found := {path.stem: path for path in (place / folder).rglob("*") if path.is_file()}:
            base = place / folder
            return {
                image: str(found[image].relative_to(base)) if image in found else f"{image}.jpg"
                for image in images
            }
    return {image: f"{image}.jpg" for image in images}
