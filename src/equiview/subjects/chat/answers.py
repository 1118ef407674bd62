"""`answers:FILE`: finished answers in a table, JSON or JSON Lines.

A row has `id` and `answer`, or `question_id`, `language` and `answer`, and for several prompts `prompt`,
counted from 0; the id is then `QUESTION_ID:LANGUAGE` or `QUESTION_ID:LANGUAGE:PROMPT`. `stopped` may say that
an answer was cut off (`length`) or refused (`refused`) by the service. Rows may also be results as COCO's
and VQA's servers take them. A `.json` file is a list of such rows, or predictions as VisRecall releases
them: `{landmark_id: {language: [answer to prompt 0, to 1]}}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from equiview.data.languages import read_language
from equiview.data.requests import Reply, Stopped
from equiview.errors import InputError
from equiview.io.files import kind_of, read_json, read_json_lines
from equiview.io.remote import local
from equiview.io.tables import TABLES, Schema, is_table, read_table
from equiview.subjects.chat.finished import FinishedAnswers

BY_ID = {"id", "answer"}
BY_QUESTION = {"question_id", "language", "answer"}
OPTIONAL = {"stopped"}
LINES = (".jsonl", ".ndjson")
FIELDS = ("id", "question_id", "image_id", "language", "prompt", "answer", "caption", "stopped")
RESULTS = (("image_id", "caption", (int, str)), ("question_id", "answer", (int,)))
"""Results for the evaluation servers of COCO and VQA: fields of the id and the text, types of the id."""
Row = Mapping[str, Any]


class AnswersFile(FinishedAnswers):
    """Finished answers in a file."""

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        if not argument:
            raise InputError("subject 'answers' needs a file: answers:FILE")
        self.path = local(argument)

    @property
    def about(self) -> str:
        """The file."""
        return str(self.path)

    @property
    def files(self) -> Sequence[Path]:
        """The one file."""
        return [self.path]

    def read(self) -> Mapping[str, Reply]:
        """Every reply; InputError names the first row that cannot be one."""
        replies: dict[str, Reply] = {}
        places: dict[str, str] = {}
        for where, row in _rows(self.path):
            name, reply = _reply(row, where)
            if name in replies:
                raise InputError(
                    f"{where}: {name!r} is answered a second time (first: {places[name]}); leave one out"
                )
            replies[name], places[name] = reply, where
        if not replies:
            raise InputError(f"{self.path}: holds no answer")
        return replies


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Each row with where it is."""
    if path.suffix.lower() in LINES:
        for number, row in read_json_lines(path, saved_anyhow=True):
            yield f"{path}, line {number}", row
    elif is_table(path):
        table = read_table(path, Schema("answers", (), FIELDS))
        for number, row in enumerate(table.iter_rows(named=True), start=1):
            yield f"{path}, row {number}", row
    elif path.suffix == ".json":
        content = read_json(path)
        if isinstance(content, dict):
            yield from _released(content, path)
        elif isinstance(content, list):
            for number, entry in enumerate(content, start=1):
                where = f"{path}, entry {number}"
                yield where, _object(entry, where)
        else:
            raise InputError(f"{path}: holds neither a list of answers nor predictions by landmark")
    else:
        raise InputError(f"{path}: expected a file that ends in .json, {', '.join(TABLES)}")


def _released(content: dict[str, Any], path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of predictions as VisRecall releases them."""
    for landmark, languages in content.items():
        for language, outputs in _object(languages, f"{path}, landmark {landmark!r}").items():
            where = f"{path}, landmark {landmark!r}, language {language!r}"
            if not isinstance(outputs, list):
                raise InputError(f"{where}: expected a list of one answer for each prompt")
            for prompt, output in enumerate(outputs):
                row = {"question_id": landmark, "language": language, "prompt": prompt, "answer": output}
                yield f"{where}, prompt {prompt}", row


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object with fields, found {kind_of(value)}")
    return value


def _reply(row: Row, where: str) -> tuple[str, Reply]:
    """The id of a row's request, and its reply."""
    row = answer_row(row)
    _check_fields(row, where)
    answer = "" if row["answer"] is None else row["answer"]
    if not isinstance(answer, str):
        raise InputError(f"{where}: 'answer' is {answer!r}; expected text")
    stopped: Stopped = row.get("stopped") or "stop"
    if stopped not in get_args(Stopped):
        raise InputError(f"{where}: 'stopped' is {stopped!r}; expected one of {', '.join(get_args(Stopped))}")
    parts = ["id"] if "id" in row else ["question_id", "language", "prompt"]
    said = [_part(row, part, where) for part in parts if part in row]
    if "id" not in row:
        said[1] = read_language(said[1])
    return ":".join(said), Reply(answer, stopped)


def _check_fields(row: Row, where: str) -> None:
    """InputError for a field that is missing or unknown."""
    given = set(row) - OPTIONAL
    if given in (BY_ID, BY_QUESTION, BY_QUESTION | {"prompt"}):
        return
    wanted = BY_ID if "id" in row else BY_QUESTION | ({"prompt"} & given)
    missing, unknown = sorted(wanted - given), sorted(given - wanted)
    said = [f"no field {', '.join(map(repr, missing))}"] if missing else []
    said += [f"unknown field {', '.join(map(repr, unknown))}"] if unknown else []
    raise InputError(
        f"{where}: {' and '.join(said)}; a row has id and answer, or question_id, language and answer (and "
        "prompt, stopped)"
    )


def _part(row: Row, name: str, where: str) -> str:
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InputError(f"{where}: {name!r} is {value!r}; expected text or a whole number")
    if name == "prompt" and not str(value).isdecimal():
        raise InputError(f"{where}: 'prompt' is {value!r}; expected its number, counted from 0")
    return str(value)


def answer_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with `id` and `answer`, if it is COCO's or VQA's, or as it is.

    COCO's has `image_id` and `caption`, and the id is the image's; VQA's a number as `question_id` and
    `answer`, without a language. Other fields are left out.

    >>> answer_row({"image_id": 42, "caption": "a dog"})
    {'id': '42', 'answer': 'a dog'}
    >>> answer_row({"question_id": 42001, "answer": "dog"})
    {'id': '42001', 'answer': 'dog'}
    """
    for name, text, types in RESULTS:
        if isinstance(row.get(name), types) and text in row and not {"id", "language"} & row.keys():
            return {"id": str(row[name]), "answer": row[text]}
    return row
