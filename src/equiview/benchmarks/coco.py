"""`coco:DIR`: English captions, five an image, in Karpathy and Li's splits (CVPR 2015), and objects.

COCO (Lin et al., ECCV 2014) as it is published: `train2014/`, `val2014/` (or 2017) and `annotations/`.

- With `dataset_coco.json`, `split` is Karpathy's: test (default), val, train or restval.
- Otherwise, or on request, `split` is val2014 (default), train2014, val2017, train2017 or removed, from
  `annotations/captions_SPLIT.json`; removed is what `equiview build removal` makes.

If `annotations/instances_*.json` is there, the table `objects` says what is in each image and where. With
`masks=yes` it holds the masks as well; with `detections=FILE` it is what a detector found, in COCO's layout
of results, with scores of at least `score`. Boxes are xywh; `boxes=xyxy` reads left, upper, right and lower
edge, `boxes=relative` xywh as shares of the picture. Boxes that contradict `area` or the size are refused.

`people=DIR` adds the gender and skin tone of `coco-people` to the images, by number. Every image must be in
`instances_*.json`, and every annotation of one of its images; `unmatched=SHARE` is the share that need not.
"""

from __future__ import annotations

from pathlib import Path

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.objects import OBJECT_OPTIONS, objects_of
from equiview.benchmarks.people import with_people
from equiview.benchmarks.release import (
    UNMATCHED,
    Release,
    entries,
    field,
    image_items,
    list_field,
    number_field,
    seek,
    text_field,
    text_items,
)
from equiview.errors import InputError
from equiview.io.files import read_json

COCO = Release(
    name="coco",
    title="COCO",
    licence="annotations CC BY 4.0, images under Flickr's terms",
    needs=(("dataset_coco.json", "annotations/captions_*.json"),),
    options=("split", "people", *OBJECT_OPTIONS, UNMATCHED),
)
KARPATHY = ("test", "val", "train", "restval")
YEARS = ("val2014", "train2014", "val2017", "train2017", "removed")


def coco(argument: str) -> Benchmark:
    """Read a split; images are named by their number, texts have `image_id` and `slot`."""
    place, options = COCO.open(argument)
    path = seek(place, "dataset_coco.json")
    split = COCO.choice(options, "split", (*KARPATHY, *YEARS) if path else YEARS)
    if path and split in KARPATHY:
        names, captions = karpathy(path, split)
    else:
        path = COCO.find(place, f"annotations/captions_{split}.json")
        names, captions = coco_captions(path, split)
    images = image_items(place, names, (".", "images"), path)
    if people := options.get("people"):
        if split == "removed":  # numbered anew, so that number 1 is no image of COCO
            raise InputError("'coco': people are of COCO's own images, so leave it out with split=removed")
        images = with_people(images, people)
    texts = text_items(captions, path)
    tables, schema, sizes = objects_of(place, names, options)
    about = f"{len(images):,} images, {len(texts):,} English captions"
    if tables:
        objects = tables["objects"]
        about += f", {len(objects):,} objects in {objects['image_id'].n_unique():,} of the images"
    schemas = {"objects": schema}
    return COCO.benchmark(images, texts, about=about, part=split, tables=tables, schemas=schemas, sizes=sizes)


Caption = tuple[str, str, str, int]
"""Image, language, text and slot, as `text_items` takes them."""


def karpathy(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of one split of a `dataset_*.json`."""
    names, captions = {}, []
    for where, entry in entries(read_json(path), "images", path, "image"):
        if field(entry, "split", where) != split:
            continue
        name = text_field(entry, "filename", where)
        image = number_field(entry, "cocoid", where) if entry.get("cocoid") else Path(name).stem
        if image in names:
            raise InputError(f"{where}: {image!r} is repeated")
        names[image] = f"{text_field(entry, 'filepath', where)}/{name}" if "filepath" in entry else name
        for slot, sentence in enumerate(list_field(entry, "sentences", where), start=1):
            captions.append((image, "en", text_field(sentence, "raw", where), slot))
    if not names:
        raise InputError(f"{path}: holds no image of split {split!r}")
    return names, captions


def coco_captions(path: Path, split: str) -> tuple[dict[str, str], list[Caption]]:
    """Files of the images by id, and the captions, of a `captions_SPLIT.json`."""
    content = read_json(path)
    names: dict[str, str] = {}
    for where, entry in entries(content, "images", path, "image"):
        image = number_field(entry, "id", where)
        if image in names:
            raise InputError(f"{where}: {image!r} is repeated")
        names[image] = f"{split}/{text_field(entry, 'file_name', where)}"
    slots: dict[str, int] = {}
    captions = []
    for where, entry in entries(content, "annotations", path, "annotation"):
        image = number_field(entry, "image_id", where)
        slots[image] = slot = slots.get(image, 0) + 1
        captions.append((image, "en", text_field(entry, "caption", where).strip(), slot))
    return names, captions


def coco_file(image: str, split: str) -> str:
    """The file of an image: names of 2014 contain the split, those of 2017 do not.

    >>> coco_file("42", "val2014")
    'val2014/COCO_val2014_000000000042.jpg'
    """
    return f"{split}/{'' if split.endswith('2017') else f'COCO_{split}_'}{image.zfill(12)}.jpg"
