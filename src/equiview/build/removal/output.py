"""The output after the last image: a table, COCO's own files, counts and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.objects import CLASSES
from equiview.benchmarks.removals import WRITTEN
from equiview.build.removal.images import PICTURES, Remover, counted
from equiview.build.removal.seen import look
from equiview.build.removal.sheet import write_sheet
from equiview.build.removal.sources import Sources
from equiview.build.removal.word_page import write_words
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.io.tables import safe_csv, write_bytes, write_parquet
from equiview.subjects import Answerer, Encoder

ANNOTATIONS = "annotations"
FILES = (
    *("removals.parquet", "captions.parquet", "counts.csv", "still-seen.csv", "index.html", "words.html"),
    *(f"{ANNOTATIONS}/captions_removed.json", f"{ANNOTATIONS}/instances_removed.json"),
)
"""The files besides pictures and records."""
COUNTS = {"kind": pl.String, "what": pl.String, "count": pl.Int64}
SILENT = "the captioning model said nothing"
CHECKED = "pictures that the checking encoder looked at"
UNKNOWN = "of them, pictures in which it did not see the object before either"
STILL_SEEN = "what was removed is still seen by the checking encoder"
NAMED = "captions by the model that name a class that was removed"

PROMPT = (
    "Describe this picture in one plain sentence of at most 15 words, as a caption. Name only what can "
    "be seen. Reply with the sentence alone."
)
TOKENS = 60


def write_output(
    items: Benchmark,
    sources: Sources,
    remover: Remover,
    captioner: Answerer | None,
    progress: Progress,
    checker: Encoder | None = None,
) -> None:
    """Write the tables and pages from the records of all images, less the pictures that `checker` rejects.

    InputError if no picture was made.
    """
    out = remover.out
    made = [entry for record in _records(items, remover) for entry in _made(record)]
    more = pl.DataFrame(schema=COUNTS)
    still: list[dict[str, Any]] = []
    if checker is not None and made:
        made, still, more = _checked(made, sources, remover, checker, progress)
    if captioner is not None and made:
        made, said = _captioned(made, sources, remover, captioner, progress)
        more = pl.concat([more, said])
    counts = pl.concat([_counts(items, remover, len(made)), more])
    if not made:
        reasons = counts.filter(kind="rejected").rows()[:3]
        why = "; ".join(f"{what} ({count})" for _, what, count in reasons)
        raise InputError(f"nothing can be removed from the images of {items.name!r}: {why}")
    table = pl.DataFrame(_rows(made, items, remover.filling.name), schema=WRITTEN.dtypes)
    write_parquet(WRITTEN.check(table, "removals"), out / "removals.parquet")
    _write_coco(made, items, sources, remover)
    write_bytes(safe_csv(counts).encode(), out / "counts.csv")
    rejected = [(entry["file"], entry["image_id"], entry["target"], *entry["sees"]) for entry in still]
    columns = ["file", "source_id", "target", "seen before", "seen after"]
    table = pl.DataFrame(rejected, schema=dict.fromkeys(columns, pl.String), orient="row")
    write_bytes(safe_csv(table).encode(), out / "still-seen.csv")
    write_sheet(remover, made, counts, still)
    write_words(out, sources, remover.words, progress)


def _checked(
    made: Sequence[dict[str, Any]], sources: Sources, remover: Remover, checker: Encoder, progress: Progress
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], pl.DataFrame]:
    """The pictures in which nothing that was removed is seen any more, those in which it is, and counts."""
    found = look(checker, remover, made, sources.classes, progress)
    looked = [dict(entry) | {"sees": list(pair)} for entry, pair in zip(made, found, strict=True)]
    still = [entry for entry in looked if entry["sees"][1] in entry["removed"]]
    known = sum(entry["sees"][0] in entry["removed"] for entry in looked)
    counts = [
        ("seen", CHECKED, len(looked)),
        ("seen", UNKNOWN, len(looked) - known),
        ("rejected", STILL_SEEN, len(still)),
    ]
    kept = [entry for entry in looked if entry["sees"][1] not in entry["removed"]]
    return kept, still, pl.DataFrame(counts, schema=COUNTS, orient="row")


def _captioned(
    made: Sequence[dict[str, Any]],
    sources: Sources,
    remover: Remover,
    captioner: Answerer,
    progress: Progress,
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """The pictures with captions by a model, and counts of empty ones and of those naming a removed class."""
    paths = [remover.out / PICTURES / entry["file"] for entry in made]
    captions = described(paths, captioner, progress)
    pairs = [(entry, caption) for entry, caption in zip(made, captions, strict=True) if caption]
    rows = [("rejected", SILENT, captions.count(""))] if "" in captions else []
    if set(sources.classes) <= set(remover.words.classes):
        named = sum(not remover.words.named(text).isdisjoint(entry["removed"]) for entry, text in pairs)
        rows.append(("seen", NAMED, named))
    entries = [entry | {"captions": [{"caption": text, "original": ""}]} for entry, text in pairs]
    return entries, pl.DataFrame(rows, schema=COUNTS, orient="row")


def _records(items: Benchmark, remover: Remover) -> Iterator[dict[str, Any]]:
    """The records of the images, one at a time."""
    return filter(None, map(remover.record, items.images.ids))


def _made(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The pictures of an image, without the regions, which are large."""
    for entry in record["made"]:
        of_image = {name: record[name] for name in ("image_id", "width", "height")}
        yield of_image | {name: value for name, value in entry.items() if name != "region"}


def _counts(items: Benchmark, remover: Remover, made: int) -> pl.DataFrame:
    outside = crowds = 0
    for record in _records(items, remover):
        outside += record["boxes_outside"]
        crowds += record["crowds"]
    rows = [
        ("seen", "images", len(items.images)),
        ("seen", "pictures made", made),
        ("seen", "boxes outside their image or of no area, left out", outside),
        ("seen", "crowds, taken as objects", crowds),
    ]
    rows += [("rejected", what, count) for what, count in counted(_records(items, remover))]
    return pl.DataFrame(rows, schema=COUNTS, orient="row")


def _rows(made: Sequence[dict[str, Any]], items: Benchmark, filling: str) -> list[dict[str, Any]]:
    known = dict(zip(items.images.ids, items.images.hash_pictures(), strict=True))
    hashes = {name: content.hex() for name, content in known.items() if isinstance(content, bytes)}
    return [
        {
            "id": str(number),
            "source_id": entry["image_id"],
            "path": f"{PICTURES}/{entry['file']}",
            **{name: entry[name] for name in ("target", "removed", "kept", "share")},
            "filling": filling,
            "captions": [caption["caption"] for caption in entry["captions"]],
            "originals": [caption["original"] for caption in entry["captions"]],
            "source_hash": hashes.get(entry["image_id"]),
        }
        for number, entry in enumerate(made, start=1)
    ]


def _write_coco(made: Sequence[dict[str, Any]], items: Benchmark, sources: Sources, remover: Remover) -> None:
    """Captions and remaining objects of each new picture, as `captions_*.json` and `instances_*.json`."""
    rows = items.images.rows_of(pl.Series([entry["image_id"] for entry in made]))
    numbers = _numbers(sources.classes)
    images: list[str] = []
    captions: list[str] = []
    instances: list[str] = []
    for number, (entry, row) in enumerate(zip(made, rows, strict=True), start=1):
        size = {"height": entry["height"], "width": entry["width"]}
        images.append(_json(id=number, file_name=entry["file"], **size, source_image=entry["image_id"]))
        for caption in entry["captions"]:
            captions.append(_json(id=len(captions) + 1, image_id=number, caption=caption["caption"]))
        for thing in sources.annotated(row).iter_rows(named=True):
            if thing["object"] in entry["kept"]:
                identity = {"id": len(instances) + 1, "image_id": number}
                instances.append(_json(**identity, category_id=numbers[thing["object"]], **_shape(thing)))
    categories = [_json(id=number, name=name) for name, number in numbers.items()]
    info = _json(description="pictures from which objects were removed", filling=remover.filling.name)
    folder = remover.out / ANNOTATIONS
    _write_lists(folder / "captions_removed.json", info, images=images, annotations=captions)
    _write_lists(
        folder / "instances_removed.json", info, images=images, annotations=instances, categories=categories
    )


def _shape(thing: dict[str, Any]) -> dict[str, Any]:
    mask = {"segmentation": json.loads(thing["segmentation"])} if thing.get("segmentation") else {}
    box = [thing[edge] for edge in ("x", "y", "width", "height")]
    return {"bbox": box, "area": thing["area"], "iscrowd": int(thing["crowd"])} | mask


def _numbers(classes: Sequence[str]) -> dict[str, int]:
    """The number of each class: COCO's own, or by the order of names if any class is not COCO's."""
    if all(name in CLASSES for name in classes):
        return {name: CLASSES.index(name) + 1 for name in classes}
    return {name: number for number, name in enumerate(classes, start=1)}


def _json(**content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)


def _write_lists(path: Path, info: str, **lists: Sequence[str]) -> None:
    """Write a JSON object of lists from entries in JSON, one on each line."""
    parts = [f'"{name}": [\n' + ",\n".join(entries) + "\n]" for name, entries in lists.items()]
    write_bytes(f'{{"info": {info},\n{",".join(parts)}}}\n'.encode(), path)


def described(paths: Sequence[Path], model: Answerer, progress: Progress) -> list[str]:
    """A model's caption of each picture: the first line of its reply; empty without one."""
    names = [path.name for path in paths]
    images = Items("image", pl.DataFrame({"id": names, "path": [str(path) for path in paths]}))
    replies = model.ask(requests_for(names), images, progress)
    return [next((line.strip() for line in reply.text.splitlines() if line.strip()), "") for reply in replies]


def requests_for(names: Sequence[str]) -> list[Request]:
    """A request for each picture, by its row."""
    return [Request(name, PROMPT, "en", image=row, max_tokens=TOKENS) for row, name in enumerate(names)]
