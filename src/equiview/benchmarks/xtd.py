"""`xtd:DIR`: 1,000 COCO images with one caption in each of eleven languages (Aggarwal and Kale, 2020).

The data set's repository: line i of `XTD10/test_image_names.txt` and of each `*/test_1kcaptions_LANG.txt` are
of one image. Pictures are COCO's, in `train2014/` or `images/`.
"""

from __future__ import annotations

from pathlib import Path

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import Release, image_items, read_lines_of, text_items
from equiview.errors import InputError
from equiview.io.files import read_lines

XTD = Release(
    name="xtd",
    title="XTD",
    licence="Adobe Research licence, non-commercial; images of COCO under Flickr's terms",
    needs=(("XTD10/test_image_names.txt", "test_image_names.txt"), ("**/test_1kcaptions_*.txt",)),
)
CODES = {"jp": "ja"}
"""Languages that the release writes otherwise than ISO 639."""


def xtd(argument: str) -> Benchmark:
    """Read the release; texts have `image_id` and `slot`."""
    place, _ = XTD.open(argument)
    path = XTD.find(place)
    names = {Path(name).stem: name for name in map(str.strip, read_lines(path)) if name}
    if not names:
        raise InputError(f"{path}: names no image")
    rows = []
    for file in sorted(place.glob("**/test_1kcaptions_*.txt")):
        code = file.stem.rpartition("_")[2]
        lines = read_lines_of(list(names), path, file)
        rows += [(image, CODES.get(code, code), text, 1) for image, text in zip(names, lines, strict=True)]
    first = next(iter(names))
    folder = first.split("_")[1] if "_" in first else "."
    images = image_items(place, names, (folder, f"images/{folder}", "images", "."), path)
    texts = text_items(rows, path.with_name("test_1kcaptions_*.txt"))
    n_languages = texts.table["language"].n_unique()
    about = f"{len(images):,} images, one caption in each of {n_languages} languages"
    return XTD.benchmark(images, texts, about=about)
