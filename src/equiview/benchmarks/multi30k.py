"""`multi30k:DIR`: Flickr30K images with captions in English, German, French and Czech (Elliott et al., 2016).

The folder is the data set's repository, or any folder with its files, `.gz` or plain. Two parts:

- `part=translation` (default): `SPLIT.LANG`, one caption an image, translated from the English one.
- `part=independent`: `SPLIT.1.LANG` to `SPLIT.5.LANG`, five captions an image, each written for itself.

Line i of every file is of line i of the split's list of images. `split` is `test_2016_flickr` by default; the
independent part calls the same images `test_2016`. Pictures are in `flickr30k-images/` or `images/`.
"""

from __future__ import annotations

import re
from pathlib import Path

from equiview.benchmarks.base import Benchmark, benchmark, same_image
from equiview.benchmarks.release import Release, image_items, one_of, read_lines, text_items
from equiview.errors import InputError

MULTI30K = Release(
    name="multi30k",
    title="Multi30K",
    source="https://github.com/multi30k/dataset",
    licence="captions as stated there; images of Flickr30K for non-commercial research",
    needs=(("test_2016*.gz", "test_2016*", "**/raw/*.gz", "**/raw/*"),),
    options=("part", "split"),
)
LISTS = {"test_2016": "test_2016_flickr"}
"""Splits of the independent part whose list of images is published under another name."""


@benchmark(
    "multi30k",
    usage=("multi30k:DIR", "multi30k:DIR,part=independent"),
    about="Multi30K: Flickr30K images captioned in en, de, fr, cs; translated or independent captions",
)
def multi30k(argument: str) -> Benchmark:
    """Read one part of one split; texts have `image_id` and `slot`."""
    place, options = MULTI30K.open(argument)
    part = one_of(options, "part", ("translation", "independent"), "multi30k")
    split = options.get("split", "test_2016_flickr" if part == "translation" else "test_2016")
    files = _files(place, split, part)
    own = () if part == "translation" else (f"{split}_images.txt", f"{LISTS.get(split, split)}.txt")
    names = (*own, f"{split}.txt")
    path = MULTI30K.find(place, *names, *(f"**/image_splits/{name}" for name in names))
    # Some lists name an image for each of its captions, as in `1.jpg#0`.
    images = [line.split("#")[0].strip() for line in read_lines(path)]
    if len(set(images)) != len(images):
        raise InputError(f"{path}: names an image twice")
    rows = []
    for (language, slot), file in sorted(files.items()):
        lines = read_lines(file)
        if len(lines) != len(images):
            raise InputError(
                f"{file}: has {len(lines)} lines, but {path.name} names {len(images)} images; line by line "
                "they belong together"
            )
        rows += [
            (f"{Path(image).stem}-{language}-{slot}", text, language, Path(image).stem, slot)
            for image, text in zip(images, lines, strict=True)
        ]
    items = image_items(
        place, {Path(name).stem: name for name in images}, ("flickr30k-images", "images", "."), path
    )
    texts = text_items(rows, path.with_name(f"{split} ({part})"))
    found = ", ".join(sorted({language for language, _ in files}))
    return Benchmark(
        name=f"multi30k-{part}-{split}",
        images=items,
        texts=texts,
        relevance=same_image(items, texts),
        about=f"{len(items):,} images, {len(texts):,} {part} captions in {found}",
        source=MULTI30K.source,
        licence=MULTI30K.licence,
    )


def _files(place: Path, split: str, part: str) -> dict[tuple[str, int], Path]:
    """The caption files of a split by (language, slot); tokenised variants are left aside."""
    pattern = r"\.([a-z]{2,3})" if part == "translation" else r"\.([1-9])\.([a-z]{2,3})"
    found = {}
    for path in sorted(place.rglob(f"{split}.*")):
        match = re.fullmatch(re.escape(split) + pattern + r"(\.gz)?", path.name)
        if match and path.is_file() and path.suffix != ".txt":
            language, slot = (match[1], 1) if part == "translation" else (match[2], int(match[1]))
            found[language, slot] = path
    if not found:
        example = f"{split}.en.gz" if part == "translation" else f"{split}.1.en.gz"
        raise InputError(
            f"{place}: holds no captions of split {split!r}, such as {example}; get {MULTI30K.where}"
        )
    return found
