"""`multi30k:DIR`: Flickr30K images with captions in English, German, French and Czech (Elliott et al., 2016).

The folder is the data set's repository, or any folder with its files, `.gz` or plain. Two parts:

- `part=translation` (default): `SPLIT.LANG`, one caption an image, translated from the English one.
- `part=independent`: `SPLIT.1.LANG` to `SPLIT.5.LANG`, five captions an image, written independently.

Line i of every file is of line i of the split's list of images. `split` is `test_2016_flickr` by default; the
independent part calls the same images `test_2016`. Pictures are in `flickr30k-images/` or `images/`.
"""

from __future__ import annotations

import re
from pathlib import Path

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import Release, image_items, read_lines_of, text_items
from equiview.errors import InputError
from equiview.io.files import is_file, read_lines

MULTI30K = Release(
    name="multi30k",
    title="Multi30K",
    licence="captions as stated there; images of Flickr30K for non-commercial research",
    needs=(("test_2016*.gz", "test_2016*", "**/raw/*.gz", "**/raw/*"),),
    options=("part", "split"),
)
LISTS = {"test_2016": "test_2016_flickr"}
"""Splits of the independent part whose list of images is published under another name."""


def multi30k(argument: str) -> Benchmark:
    """Read one part of one split; texts have `image_id` and `slot`."""
    place, options = MULTI30K.open(argument)
    part = MULTI30K.choice(options, "part", ("translation", "independent"))
    split = options.get("split", "test_2016_flickr" if part == "translation" else "test_2016")
    if not re.fullmatch(r"\w[\w.-]*", split):
        raise InputError(f"'multi30k': split is {split!r}; expected a name such as test_2016_flickr")
    files = _files(place, split, part)
    lists = [f"{split}.txt"]
    if part == "independent":
        lists = [f"{split}_images.txt", f"{LISTS.get(split, split)}.txt", *lists]
    path = MULTI30K.find(place, *lists, *(f"**/image_splits/{name}" for name in lists))
    # Some lists name an image for each of its captions, as in `1.jpg#0`.
    pictures = [line.split("#")[0].strip() for line in read_lines(path)]
    if len(set(pictures)) != len(pictures):
        raise InputError(f"{path}: names an image twice")
    names = {Path(name).stem: name for name in pictures}
    rows = []
    for (language, slot), file in sorted(files.items()):
        lines = read_lines_of(pictures, path, file)
        rows += [(Path(name).stem, language, text, slot) for name, text in zip(pictures, lines, strict=True)]
    images = image_items(place, names, ("flickr30k-images", "images", "."), path)
    texts = text_items(rows, path.with_name(f"{split} ({part})"))
    codes = ", ".join(sorted({language for language, _ in files}))
    about = f"{len(images):,} images, {len(texts):,} {part} captions in {codes}"
    return MULTI30K.benchmark(images, texts, about=about, part=f"{part}-{split}")


def _files(place: Path, split: str, part: str) -> dict[tuple[str, int], Path]:
    """The caption files of a split by (language, slot); tokenised variants are ignored."""
    pattern = r"\.([a-z]{2,3})" if part == "translation" else r"\.([1-9])\.([a-z]{2,3})"
    files = {}
    for path in sorted(place.rglob(f"{split}.*")):
        match = re.fullmatch(re.escape(split) + pattern + r"(\.gz)?", path.name)
        if match and is_file(path) and path.suffix != ".txt":
            language, slot = (match[1], 1) if part == "translation" else (match[2], int(match[1]))
            files[language, slot] = path
    if not files:
        example = f"{split}.en.gz" if part == "translation" else f"{split}.1.en.gz"
        raise InputError(
            f"{place}: holds no captions of split {split!r}, such as {example}; get {MULTI30K.where}"
        )
    return files
