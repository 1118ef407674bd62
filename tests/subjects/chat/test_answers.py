"""Finished answers in files of several kinds, and what is said of bad ones."""

import json

import polars as pl
import pytest

from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.subjects import load_subject

REQUESTS = [Request("q1:en", "?", "en"), Request("q1:sw", "?", "sw"), Request("q2:en", "?", "en")]
TEXTS = ["B", "", 'ni, "C"\nasante']
BY_ID = [{"id": request.id, "answer": text} for request, text in zip(REQUESTS, TEXTS, strict=True)]
BY_QUESTION = [
    {"question_id": row["id"][:2], "language": row["id"][3:], "answer": row["answer"]} for row in BY_ID
]


def write(rows, path):
    if path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    elif path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize("end", ["csv", "parquet", "jsonl", "json"])
@pytest.mark.parametrize("rows", [BY_ID, BY_QUESTION], ids=["by id", "by question"])
def test_answers_are_looked_up_by_id(tmp_path, end, rows):
    path = write(rows, tmp_path / f"answers.{end}")
    replies = load_subject(f"answers:{path}").ask(REQUESTS[::-1])
    assert [reply.text for reply in replies] == TEXTS[::-1]


def test_a_table_may_have_prompts_and_say_why_an_answer_ended(tmp_path):
    rows = [
        {"question_id": 7, "language": "de", "prompt": number, "answer": text, "stopped": stopped}
        for number, (text, stopped) in enumerate([("ein Turm", "length"), (None, "refused"), ("x", None)])
    ]
    asked = [Request(f"7:de:{number}", "?", "de") for number in range(3)]
    for end in ("csv", "parquet", "jsonl"):
        replies = load_subject(f"answers:{write(rows, tmp_path / f'a.{end}')}").ask(asked)
        assert replies == [Reply("ein Turm", "length"), Reply("", "refused"), Reply("x")]


def test_predictions_as_visrecall_releases_them(tmp_path):
    released = {"243": {"en": ["a tower", "an old tower"], "fr": ["une tour", None]}, "9": {"en": ["x"]}}
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(released))
    subject = load_subject(f"answers:{path}")
    assert {name: reply.text for name, reply in subject.known.items()} == {
        "243:en:0": "a tower",
        "243:en:1": "an old tower",
        "243:fr:0": "une tour",
        "243:fr:1": "",
        "9:en:0": "x",
    }


def test_the_fingerprint_is_of_the_content(tmp_path):
    first = load_subject(f"answers:{write(BY_ID, tmp_path / 'a.json')}")
    again = load_subject(f"answers:{write(BY_ID, tmp_path / 'b.json')}")
    other = load_subject(f"answers:{write(BY_ID[:2], tmp_path / 'c.json')}")
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_missing_answers_are_counted_and_the_rest_is_given(tmp_path):
    subject = load_subject(f"answers:{write(BY_ID[:1], tmp_path / 'a.csv')}")
    with pytest.raises(InputError, match=r"a\.csv: 2 of 3 requests have no answer.*'q1:sw'; it holds 1"):
        subject.ask(REQUESTS)
    with pytest.raises(InputError, match=r"none of the 1 requests.*'x:en'.*such as 'q1:en': are these"):
        subject.ask([Request("x:en", "?", "en")])


BAD = {
    "twice.csv": (
        "id,answer\na,B\nb,C\na,D\n",
        r"twice.csv, row 3: 'a' is .* second time \(first: .*row 1\)",
    ),
    "unknown.csv": ("id,answer,mood\na,B,good\n", r"unknown.csv, row 1: unknown field 'mood'; a row has id"),
    "missing.csv": ("id,reply\na,B\n", "row 1: no field 'answer' and unknown field 'reply'"),
    "both.csv": ("id,language,answer\na,en,B\n", "row 1: unknown field 'language'"),
    "language.csv": ("question_id,answer\na,B\n", "row 1: no field 'language'"),
    "short.csv": ("id,answer\na\n", "row 1: has 1 cells"),
    "empty.csv": ("id,answer\n", "empty.csv: holds no answer"),
    "blank.csv": ("id,answer\n,B\n", "row 1: 'id' is None; expected text"),
    "prompt.csv": ("question_id,language,prompt,answer\na,en,x,B\n", "'prompt' is 'x'; expected its number"),
    "stopped.csv": ("id,answer,stopped\na,B,tired\n", "'stopped' is 'tired'; expected one of stop, length"),
    "broken.jsonl": ('{"id": "a", "answer": "B"}\n{"id": "b", "ans\n', "broken.jsonl, line 2: is not JSON"),
    "twice.jsonl": ('{"id": "a", "answer": "B"}\n' * 2, "twice.jsonl, line 2: 'a' is answered a second time"),
    "list.jsonl": ('["a", "B"]\n', "line 1: holds a list; expected an object"),
    "number.jsonl": ('{"id": "a", "answer": 3}\n', "line 1: 'answer' is 3; expected text"),
    "truth.jsonl": ('{"id": true, "answer": "B"}\n', "line 1: 'id' is True; expected text or a whole number"),
    "broken.json": ('[{"id": "a"', "broken.json: is not JSON, is it cut off"),
    "field.json": ('[{"id": "a", "id": "b", "answer": "B"}]', "field 'id' twice"),
    "text.json": ('"B"', "text.json: holds neither a list of answers nor predictions"),
    "entry.json": ('[{"id": "a", "answer": "B"}, 3]', "entry.json, entry 2: expected an object"),
    "flat.json": ('{"243": "a tower"}', "flat.json, landmark '243': expected an object"),
    "deep.json": (
        '{"243": {"en": "a tower"}}',
        "landmark '243', language 'en': expected a list of one answer",
    ),
    "number.json": ('{"243": {"en": ["a", 1]}}', "language 'en', prompt 1: 'answer' is 1; expected text"),
    "answers.txt": ("a B\n", r"expected a file that ends in .json, .csv, .tsv, .jsonl"),
    "cut.parquet": ("PAR1 no", "cut.parquet: cannot be read, is it cut off"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_said_in_one_line(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as error:
        load_subject(f"answers:{tmp_path / name}").ask(REQUESTS)
    assert "\n" not in str(error.value)


def test_no_file_is_said():
    with pytest.raises(InputError, match="needs a file"):
        load_subject("answers:")
    with pytest.raises(InputError, match="no such file"):
        load_subject("answers:no/such.csv").ask(REQUESTS)


def test_a_language_may_be_named_otherwise_but_not_twice(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("question_id,language,answer\nq1,French,A\nq1,en-US,B\nq2,FR,C\n")
    assert set(load_subject(f"answers:{path}").known) == {"q1:fr", "q1:en", "q2:fr"}
    path.write_text("question_id,language,answer\nq1,French,A\nq1,fr,B\n")
    with pytest.raises(InputError, match="'q1:fr' is answered a second time"):
        _ = load_subject(f"answers:{path}").known
