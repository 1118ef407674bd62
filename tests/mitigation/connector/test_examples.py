"""What a connector learns from, read from benchmarks and files."""

import json
from pathlib import Path

import polars as pl
import pytest

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.tables import Column, Schema
from equiview.mitigation.connector.examples import captions_of, load_captions, load_questions, questions_of
from tests.mitigation.connector import models

IMAGES = Items("image", pl.DataFrame({"id": ["a", "b", "c"]}))


def quiz(**columns) -> Benchmark:
    table = pl.DataFrame(columns)
    schema = Schema("questions", (Column("image_id", pl.String, "the image"),))
    return Benchmark("quiz", IMAGES, tables={"questions": table}, schemas={"questions": schema})


def test_every_relevant_text_is_a_caption_of_its_image(tmp_path):
    world = models.world(tmp_path / "world", n=8)
    examples = captions_of(load_benchmark(f"folder:{world}"), "see")
    assert examples.table.rows()[:2] == [(0, "see", "it is red"), (1, "see", "it is green")]
    assert len(examples) == len(examples.images) == 8
    assert load_captions(f"folder:{world}", "see").fingerprint == examples.fingerprint
    assert load_captions(f"folder:{world}", "say").fingerprint != examples.fingerprint


def test_questions_without_an_answer_are_left_out_and_counted():
    examples = questions_of(
        quiz(image_id=["c", "a", "c"], question=["what?", "who?", "why?"], answer=["hat", None, "rain"]),
        "{question} Say.",
    )
    assert examples.table.rows() == [(0, "what? Say.", "hat"), (0, "why? Say.", "rain")]
    assert examples.images.ids.to_list() == ["c"]
    assert examples.left_out == 1


def test_the_answer_of_a_quiz_is_its_true_option():
    options = [["hat", "doll"], ["rain", "snow"]]
    examples = questions_of(quiz(image_id=["a", "b"], question="what?", options=options, truth=[1, 0]))
    assert examples.table["answer"].to_list() == ["doll", "rain"]


def test_files_of_json_lines(tmp_path: Path):
    path = tmp_path / "q.jsonl"
    rows = [
        {"image": "x.png", "question": "what?", "answer": "hat"},
        {"image": "x.png", "question": "{question}", "answer": "a"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    examples = load_questions(str(path), "Q: {question}")
    assert examples.table.rows() == [(0, "Q: what?", "hat"), (0, "Q: {question}", "a")]
    assert examples.images.table["path"].to_list() == [str(tmp_path / "x.png")]
    (tmp_path / "c.jsonl").write_text(json.dumps({"image": "x.png", "caption": "a hat"}))
    assert load_captions(str(tmp_path / "c.jsonl"), "see").table.rows() == [(0, "see", "a hat")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"image": "x", "question": "q"}', r"line 1: needs a field 'answer' that is text and not empty"),
        ('{"image": "x", "question": "q", "answer": " "}', "needs a field 'answer'"),
        ('{"image": 3, "question": "q", "answer": "a"}', "needs a field 'image'"),
        ("[1]", "line 1: holds a list; expected an object"),
        ("{", "line 1: is not JSON"),
        ("", "holds nothing to learn from"),
    ],
)
def test_a_line_that_is_wrong_is_named(line, said, tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=said):
        load_questions(str(path))


def test_benchmarks_that_cannot_teach_are_said():
    with pytest.raises(InputError, match="benchmark 'bare' has no table 'questions'"):
        questions_of(Benchmark("bare", IMAGES))
    with pytest.raises(InputError, match="has no texts"):
        captions_of(Benchmark("bare", IMAGES), "see")
    with pytest.raises(InputError, match="its questions have neither an answer nor options"):
        questions_of(quiz(image_id=["a"], question=["what?"]))
    with pytest.raises(InputError, match="none of its 1 questions has an answer"):
        questions_of(quiz(image_id=["a"], question=["what?"], answer=pl.Series([None], dtype=pl.String)))
    with pytest.raises(InputError, match=r"row 1: image 'z' is not among the images"):
        questions_of(quiz(image_id=["z"], question=["what?"], answer=["x"]))
