"""`flickr30k:DIR`: English captions, five an image, in Karpathy and Li's splits, and Flickr30K Entities.

Flickr30K (Young et al., TACL 2014): `dataset_flickr30k.json` and the pictures in `flickr30k-images/` or
`images/`.

If `Annotations/` and `Sentences/` of Flickr30K Entities (Plummer et al., ICCV 2015) are there too, the table
`objects` says where in each image something of its eight types is (people, clothing, bodyparts, animals,
vehicles, instruments, scene, other), and the table `phrases` which words of the captions name it.
With `detections=FILE` the objects are what a detector found, as `coco:DIR` reads it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.coco import KARPATHY, Caption, karpathy
from equiview.benchmarks.objects import OBJECT_OPTIONS, OBJECTS, Sizes, objects_of
from equiview.benchmarks.release import Release, image_items, seek, text_items
from equiview.errors import InputError
from equiview.io.files import content_of, read_lines
from equiview.io.tables import Column, Schema

FLICKR30K = Release(
    name="flickr30k",
    title="Flickr30K",
    licence="images for non-commercial research",
    needs=(("dataset_flickr30k.json", "*/dataset_flickr30k.json"),),
    options=("split", *OBJECT_OPTIONS),
)
PHRASES = Schema(
    "phrases",
    (
        Column("text_id", pl.String, "the text"),
        Column("start", pl.Int32, "its first letter in the text, from 0"),
        Column("end", pl.Int32, "the letter after its last"),
        Column("object", pl.String, "what it names"),
    ),
)
MARKED = re.compile(r"\[/EN#(\d+)/(\S+) ([^\]]*)\]")
NO_OBJECT = {"notvisual"}
"""What a phrase is marked with that names nothing one can see."""


def flickr30k(argument: str) -> Benchmark:
    """Read one of Karpathy's splits, test by default; texts have `image_id` and `slot`."""
    place, options = FLICKR30K.open(argument)
    path = FLICKR30K.find(place)
    split = FLICKR30K.choice(options, "split", KARPATHY[:3])
    names, captions = karpathy(path, split)
    images = image_items(place, names, ("flickr30k-images", "flickr30k_images", "images", "."), path)
    texts = text_items(captions, path)
    about = f"{len(images):,} images, {len(texts):,} English captions"
    tables, schema, sizes = objects_of(place, names, options)
    if "objects" not in tables:
        tables, sizes, more = _entities(place, captions)
        about += more
    schemas = {"objects": schema, "phrases": PHRASES}
    return FLICKR30K.benchmark(
        images, texts, about=about, part=split, tables=tables, schemas=schemas, sizes=sizes
    )


def _entities(place: Path, captions: Iterable[Caption]) -> tuple[dict[str, pl.DataFrame], Sizes, str]:
    """The tables of Flickr30K Entities, sizes, and how many rows there are; none where it is not there."""
    first = seek(place, "Sentences/*.txt", "*/Sentences/*.txt")
    if first is None:
        return {}, {}, ""
    sizes = Sizes()
    folder = first.parents[1]
    by_image: dict[str, dict[int, str]] = {}
    for image, _, caption, slot in captions:
        by_image.setdefault(image, {})[slot] = caption
    objects: list[tuple[Any, ...]] = []
    phrases: list[tuple[Any, ...]] = []
    counts: Counter[str] = Counter()
    for image, slots in by_image.items():
        kinds: dict[str, tuple[str, ...]] = {}
        path = folder / "Sentences" / f"{image}.txt"
        sentences = [line for line in read_lines(path) if line.strip()]
        if len(sentences) < max(slots):
            raise InputError(f"{path}: has {len(sentences)} sentences, but there are {max(slots)} captions")
        for slot, caption in slots.items():
            marked = _marked(sentences[slot - 1])
            kinds.update({entity: types for entity, types, _ in marked})
            for types, span in _placed(marked, caption):
                counts["lost"] += span is None
                if span is not None:
                    phrases += [(f"{image}-en-{slot}", *span, name) for name in types]
        path = folder / "Annotations" / f"{image}.xml"
        root = _parsed(path)
        objects += _boxes(root, path, image, kinds)
        with suppress(ValueError):  # not every copy says it
            sizes[image] = float(root.findtext("size/width", "")), float(root.findtext("size/height", ""))
    tables = {
        "objects": pl.DataFrame(objects, schema=OBJECTS.dtypes, orient="row"),
        "phrases": pl.DataFrame(phrases, schema=PHRASES.dtypes, orient="row"),
    }
    about = f", {len(objects):,} objects, {len(phrases):,} phrases that name them"
    return (
        tables,
        sizes,
        about + (f"; {counts['lost']:,} more are not in their caption" if counts["lost"] else ""),
    )


def _marked(sentence: str) -> list[tuple[str, tuple[str, ...], str]]:
    """The marked phrases of a sentence: entity, its types, and words.

    >>> _marked("[/EN#1/people Two men] on [/EN#2/vehicles/other a sled] .")
    [('1', ('people',), 'Two men'), ('2', ('vehicles', 'other'), 'a sled')]
    """
    found = MARKED.findall(sentence)
    return [(entity, tuple(t for t in types.split("/") if t not in NO_OBJECT), words)
            for entity, types, words in found]  # fmt: skip


def _placed(
    marked: Iterable[tuple[str, tuple[str, ...], str]], caption: str
) -> Iterator[tuple[tuple[str, ...], tuple[int, int] | None]]:
    """Where each marked phrase stands in the caption, whose spaces may differ; None where it does not.

    >>> list(_placed([("1", ("people",), "A man 's dog"), ("2", ("other",), "toys")], "A man's dog."))
    [(('people',), (0, 11)), (('other',), None)]
    """
    letters = [place for place, letter in enumerate(caption) if not letter.isspace()]
    packed = "".join(caption[place] for place in letters).lower()
    after = 0
    for _, types, words in marked:
        wanted = "".join(words.split()).lower()
        start = packed.find(wanted, after)
        if start < 0 or not wanted:
            yield types, None
            continue
        after = start + len(wanted)
        yield types, (letters[start], letters[after - 1] + 1)


def _parsed(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(content_of(path))
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: is not XML, is it cut off? ({error})") from None


def _boxes(
    root: ElementTree.Element, path: Path, image: str, kinds: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[Any, ...]]:
    """The rows of `objects` of one image: a row for each box and type of what is in it."""
    for number, entry in enumerate(root.iter("object"), start=1):
        box = entry.find("bndbox")
        if box is None:
            continue
        try:
            left, upper, right, lower = (
                float(box.findtext(edge, "")) for edge in ("xmin", "ymin", "xmax", "ymax")
            )
        except ValueError:
            raise InputError(f"{path}, object {number}: its box has no four numbers") from None
        width, height = right - left, lower - upper
        names = {name for entity in entry.iter("name") for name in kinds.get(entity.text or "", ())}
        for name in sorted(names):
            yield image, name, None, left, upper, width, height, width * height, False
