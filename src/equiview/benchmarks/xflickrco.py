"""`xflickrco:DIR`: 1,000 Flickr30K and 1,000 COCO images captioned in eight languages (IGLUE, ICML 2022).

`annotations/LANG/test.jsonl` (or `LANG/test.jsonl`), each line with `id`, `img_path` and `sentences`.
Pictures are in `images/`, or in `flickr30k-images/` and `val2014/`.
"""

from __future__ import annotations

from pathlib import Path

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import (
    Release,
    id_field,
    image_items,
    text_field,
    text_items,
    texts_field,
)
from equiview.errors import InputError
from equiview.io.files import read_json_lines
from equiview.io.notices import notice

XFLICKRCO = Release(
    name="xflickrco",
    title="xFlickrCO",
    licence="annotations as stated there; images of Flickr30K and COCO under their own terms",
    needs=(("annotations/*/test.jsonl", "*/test.jsonl"),),
)


def xflickrco(argument: str) -> Benchmark:
    """Read the test files of all languages; texts have `image_id` and `slot`."""
    place, _ = XFLICKRCO.open(argument)
    first = XFLICKRCO.find(place)
    names: dict[str, str] = {}
    image_of: dict[str, str] = {}
    captions_of: dict[Path, int] = {}
    rows = []
    for path in sorted(first.parents[1].glob("*/test.jsonl")):
        captioned: set[str] = set()
        for row, content in read_json_lines(path):
            where = f"{path}, line {row}"
            image, name = id_field(content, "id", where), text_field(content, "img_path", where)
            if image in captioned:
                raise InputError(f"{where}: image {image!r} is repeated")
            captioned.add(image)
            if names.setdefault(image, name) != name:
                raise InputError(
                    f"{where}: the picture of {image!r} is {name!r}, but {names[image]!r} in {first}"
                )
            if image_of.setdefault(name, image) != image:
                raise InputError(f"{where}: {name!r} is the picture of {image!r} and of {image_of[name]!r}")
            for slot, text in enumerate(texts_field(content, "sentences", where), start=1):
                rows.append((image, path.parent.name, text, slot))
        if not captioned:
            raise InputError(f"{path}: holds no caption; get {XFLICKRCO.where}")
        captions_of[path] = len(captioned)
    for path, count in captions_of.items():
        if count < len(names):
            notice(f"{path}: has captions of {count} of the {len(names)} images")
    images = image_items(place, _with_folders(place, names), ("images", "."), first)
    texts = text_items(rows, first.parents[1])
    n_languages = texts.table["language"].n_unique()
    about = f"{len(images):,} images, {len(texts):,} captions in {n_languages} languages"
    return XFLICKRCO.benchmark(images, texts, about=about)


def _with_folders(place: Path, names: dict[str, str]) -> dict[str, str]:
    """The file names as they are, or in the folders of the two data sets where those are apart."""
    if not (place / "flickr30k-images").is_dir():
        return names
    return {
        image: f"val2014/{name}" if name.startswith("COCO_") else f"flickr30k-images/{name}"
        for image, name in names.items()
    }
