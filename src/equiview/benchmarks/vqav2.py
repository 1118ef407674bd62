"""`vqav2:DIR`: questions about COCO images, ten answers each (Goyal et al., CVPR 2017).

`v2_OpenEnded_mscoco_SPLIT_questions.json`, `v2_mscoco_SPLIT_annotations.json`, and pictures in `SPLIT/`.
`split` is val2014 (default), train2014 or test2015, which has no answers. Questions are a table, not texts:
nothing is to be retrieved for them.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark, benchmark
from equiview.benchmarks.coco import coco_file
from equiview.benchmarks.release import (
    Release,
    field,
    image_items,
    one_of,
    read_json,
    seek,
    without_texts,
)
from equiview.errors import InputError

VQAV2 = Release(
    name="vqav2",
    title="VQA v2.0",
    source="https://visualqa.org",
    licence="annotations CC BY 4.0, images of COCO under Flickr's terms",
    needs=(("v2_OpenEnded_mscoco_*_questions.json", "*/v2_OpenEnded_mscoco_*_questions.json"),),
    options=("split",),
)
QUESTIONS = {
    "question_id": pl.String, "image_id": pl.String, "question": pl.String, "language": pl.String,
    "question_type": pl.String, "answer_type": pl.String, "answer": pl.String,
}  # fmt: skip
ANSWERS = {"question_id": pl.String, "place": pl.Int32, "answer": pl.String, "confidence": pl.String}


@benchmark("vqav2", usage=("vqav2:DIR",), about="VQA v2: questions about COCO images, ten answers each")
def vqav2(argument: str) -> Benchmark:
    """Read a split; tables `questions` (with the commonest answer) and, if published, `answers`."""
    place, options = VQAV2.open(argument)
    split = one_of(options, "split", ("val2014", "train2014", "test2015"), "vqav2")
    file = f"v2_OpenEnded_mscoco_{split}_questions.json"
    path = VQAV2.find(place, file, f"*/{file}")
    asked = field(read_json(path), "questions", str(path))
    file = f"v2_mscoco_{split}_annotations.json"
    answered = seek(place, file, f"*/{file}")
    if answered is None and split != "test2015":
        VQAV2.find(place, file)
    given = {} if answered is None else {
        str(field(entry, "question_id", f"{answered}, annotation {row}")): entry
        for row, entry in enumerate(field(read_json(answered), "annotations", str(answered)), start=1)
    }  # fmt: skip
    questions, answers = [], []
    for row, entry in enumerate(asked, start=1):
        where = f"{path}, question {row}"
        name, image = str(field(entry, "question_id", where)), str(field(entry, "image_id", where))
        if given and name not in given:
            raise InputError(f"{where}: question {name} has no annotation in {answered}")
        found = given.get(name, {})
        kinds = (found.get(key) for key in ("question_type", "answer_type", "multiple_choice_answer"))
        questions.append((name, image, field(entry, "question", where), "en", *kinds))
        answers += [
            (name, place, field(one, "answer", str(answered)), one.get("answer_confidence"))
            for place, one in enumerate(found.get("answers", ()), start=1)
        ]
    table = pl.DataFrame(questions, schema=QUESTIONS, orient="row")
    if table["question_id"].is_duplicated().any():
        twice = table["question_id"].filter(table["question_id"].is_duplicated())[0]
        raise InputError(f"{path}: question {twice} is there twice")
    names = {image: coco_file(image, split) for image in table["image_id"].unique(maintain_order=True)}
    images = image_items(place, names, (".", "images"), path)
    tables = {"questions": table}
    if answers:
        tables["answers"] = pl.DataFrame(answers, schema=ANSWERS, orient="row")
    about = f"{len(table):,} questions about {len(images):,} images"
    return without_texts(f"vqav2-{split}", images, VQAV2, about, tables)
