"""Two files that a reader joins and that do not agree: never a smaller benchmark without a word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.running import Case

COCO = "coco", "data/annotations/instances_val2014.json", "coco:data,split=val2014"
CAPTIONS = "coco", "data/annotations/captions_val2014.json", "coco:data,split=val2014"
PEOPLE = "coco-people", "data/annotations/captions_val2014.json", "coco-people:data"
ANSWERS = "vqav2", "data/v2_mscoco_val2014_annotations.json", "vqav2:data"
PICTURES = "visrecall", "data/image_list.json", "visrecall:data"


def first_as(of: str, fields: Mapping[str, Any], path: str, folder: Path) -> None:
    """The first entry of a list has other values, or the whole file where no list is named."""
    content = json.loads((folder / path).read_text())
    (content[of][0] if of else content).update(fields)
    (folder / path).write_text(json.dumps(content))


def one_more(of: str, fields: Mapping[str, Any], path: str, folder: Path) -> None:
    """A list has a further entry."""
    content = json.loads((folder / path).read_text())
    content[of].append(fields)
    (folder / path).write_text(json.dumps(content))


def without(of: str, name: str, path: str, folder: Path) -> None:
    """The first entry of a list lacks a field."""
    content = json.loads((folder / path).read_text())
    del content[of][0][name]
    (folder / path).write_text(json.dumps(content))


def image(number: object) -> partial[None]:
    return partial(first_as, "annotations", {"image_id": number})


def dog(number: object) -> partial[None]:
    return partial(one_more, "categories", {"id": number, "name": "cat"})


ROWS: list[tuple[str, tuple[str, str, str], partial[None], str]] = [
    (
        "a number after a space",
        COCO,
        image(" 1"),
        "images: has nothing of ' 1' (1 of 3 images of annotations",
    ),
    ("a number with a power of ten", COCO, image("1e0"), "images: has nothing of '1e0'"),
    ("a negative number", COCO, image(-1), "images: has nothing of '-1'"),
    ("half a number", COCO, image(1.5), "expected a text or a whole number"),
    ("null for a number", COCO, image(None), "field 'image_id' is null"),
    ("true for a number", COCO, image(True), "field 'image_id' is a truth value"),
    ("an absent number", COCO, partial(without, "annotations", "image_id"), "field 'image_id' is missing"),
    ("images of another file", COCO, partial(first_as, "images", {"id": 5}), "has nothing of '1'"),
    ("a class twice", COCO, dog(1), "number 1 is of 'cat' and of 'person'"),
    ("a class twice, padded", COCO, dog("018"), "number 18 is of 'cat' and of 'dog'"),
    (
        "an image twice, padded",
        CAPTIONS,
        partial(one_more, "images", {"id": "001", "file_name": "again.jpg"}),
        "'1' is repeated",
    ),
    (
        "people without captions",
        PEOPLE,
        partial(first_as, "images", {"id": 7}),
        "(1 of 3 images are missing)",
    ),
    ("answers about another image", ANSWERS, image(2), "question 1000: image_id is 2, but '1' in"),
    (
        "answers to another question",
        ANSWERS,
        partial(first_as, "annotations", {"question_id": 5}),
        "has nothing of '1000' (1 of 3 questions",
    ),
    (
        "pictures of a landmark that is not listed",
        PICTURES,
        partial(first_as, "", {"x1": ["a.jpg"]}),
        "has nothing of 'x1' (1 of 3 landmarks",
    ),
]
"""What is wrong, where, how, and what is said."""


def of_joins(words: Callable[[str], tuple[str, ...]]) -> Iterator[Case]:
    """Each of `ROWS`, read by the words of an audit of a benchmark."""
    for name, (place, path, benchmark), change, said in ROWS:
        yield Case(f"join: {name}", place, partial(change, path), words(benchmark), 1, said)
