"""`vqav2:DIR`: questions about COCO images, ten answers each (Goyal et al., CVPR 2017).

`v2_OpenEnded_mscoco_SPLIT_questions.json`, `v2_mscoco_SPLIT_annotations.json`, and pictures in `SPLIT/`.
`split` is val2014 (default), train2014 or test2015, which has no answers. Questions are a table, not texts:
no image is to be retrieved for them. `people=DIR` adds the gender and skin tone of `coco-people` to the
images, by number. Every question must be annotated, about the same image; `unmatched=SHARE` is the share that
need not be.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.coco import coco_file
from equiview.benchmarks.people import with_people
from equiview.benchmarks.release import (
    UNMATCHED,
    Release,
    check_partners,
    entries,
    image_items,
    list_field,
    number_field,
    optional_text,
    seek,
    text_field,
)
from equiview.errors import InputError
from equiview.io.files import read_json
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema

VQAV2 = Release(
    name="vqav2",
    title="VQA v2.0",
    licence="annotations CC BY 4.0, images of COCO under Flickr's terms",
    needs=(("v2_OpenEnded_mscoco_*_questions.json", "*/v2_OpenEnded_mscoco_*_questions.json"),),
    options=("split", "people", UNMATCHED),
)
KINDS = ("question_type", "answer_type", "multiple_choice_answer")
"""What is said of a question beside its text; absent where answers are not published."""
QUESTIONS = Schema(
    "questions",
    (
        Column("question_id", pl.String, "a distinct number of the question", unique=True),
        Column("image_id", pl.String, "the image it is about"),
        Column("question", pl.String, "the question"),
        Column("language", pl.String, "its language"),
        Column("question_type", pl.String, "its first words, such as `how many`", nullable=True),
        Column("answer_type", pl.String, "yes/no, number or other", nullable=True),
        Column("answer", pl.String, "the most common answer", nullable=True),
        Column("options", pl.List(pl.String), "what can be answered, for those who choose", optional=True),
    ),
)
ANSWERS = Schema(
    "answers",
    (
        Column("question_id", pl.String, "the question"),
        Column("place", pl.Int32, "which of its answers, from 1"),
        Column("answer", pl.String, "the answer"),
        Column("confidence", pl.String, "yes, maybe or no, as the person said", nullable=True),
    ),
)


def vqav2(argument: str) -> Benchmark:
    """Read a split; tables `questions` (with the most common answer) and, if published, `answers`."""
    place, options = VQAV2.open(argument)
    split = VQAV2.choice(options, "split", ("val2014", "train2014", "test2015"))
    file = f"v2_OpenEnded_mscoco_{split}_questions.json"
    path = VQAV2.find(place, file, f"*/{file}")
    annotated, annotations = _annotations(place, split)
    asked, questions, answers = [], [], []
    for where, entry in entries(read_json(path), "questions", path, "question"):
        name, image = number_field(entry, "question_id", where), number_field(entry, "image_id", where)
        if not re.fullmatch("[0-9]+", image):
            raise InputError(f"{where}: image_id {image!r} is not a number of COCO")
        asked.append(name)
        annotation, source = annotations.get(name, {}), f"{annotated}, question {name}"
        if "image_id" in annotation and number_field(annotation, "image_id", source) != image:
            raise InputError(
                f"{source}: image_id is {annotation['image_id']!r}, but {image!r} in {path}; are both files "
                "of the same release?"
            )
        kinds = (optional_text(annotation, key, source) for key in KINDS)
        questions.append((name, image, text_field(entry, "question", where), "en", *kinds))
        given = list_field(annotation, "answers", source) if annotation else []
        for number, answer in enumerate(given, start=1):
            text = text_field(answer, "answer", source)
            answers.append((name, number, text, optional_text(answer, "answer_confidence", source)))
    if annotated:
        missing = [name for name in asked if name not in annotations]
        check_partners(missing, len(asked), f"questions of {path.name}", annotated, options)
        if more := len(annotations.keys() - set(asked)):
            notice(f"{annotated}: annotates {more} questions that are not in {path.name}")
    dtypes = {column.name: column.dtype for column in QUESTIONS.columns if not column.optional}
    tables = {"questions": pl.DataFrame(questions, schema=dtypes, orient="row")}
    if answers:
        tables["answers"] = pl.DataFrame(answers, schema=ANSWERS.dtypes, orient="row")
    image_ids = tables["questions"]["image_id"].unique(maintain_order=True)
    names = {image: coco_file(image, split) for image in image_ids}
    images = image_items(place, names, (".", "images"), path)
    if people := options.get("people"):
        images = with_people(images, people)
    return VQAV2.benchmark(
        images,
        about=f"{len(questions):,} questions about {len(images):,} images",
        part=split,
        tables=tables,
        schemas={"questions": QUESTIONS, "answers": ANSWERS},
    )


def _annotations(place: Path, split: str) -> tuple[Path | None, dict[str, dict[str, Any]]]:
    """The file of the annotations and what it says of each question; test2015 may have none."""
    file = f"v2_mscoco_{split}_annotations.json"
    path = seek(place, file, f"*/{file}")
    if path is None and split == "test2015":
        return None, {}
    path = path or VQAV2.find(place, file)
    annotations = entries(read_json(path), "annotations", path, "annotation")
    of_question: dict[str, dict[str, Any]] = {}
    for where, entry in annotations:
        name = number_field(entry, "question_id", where)
        if name in of_question:
            raise InputError(f"{where}: question {name} is repeated")
        of_question[name] = entry
    return path, of_question
