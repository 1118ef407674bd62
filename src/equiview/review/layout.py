"""The folder of a review: its settings and items.

review.json      title, instructions, questions, people per item
items.parquet    the items, or items.jsonl with an item on each line
pictures/        the items' pictures, each named by its content
review.sqlite    who judged what; made by `equiview review`
links.json       the secret links' tokens, readable by the owner alone
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import AfterValidator, Field, Strict, field_validator, model_validator

from equiview.data.languages import direction_of
from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of, inside, parse_json, read_json, read_lines
from equiview.io.pictures import picture_kind
from equiview.io.refusals import Model, refused
from equiview.io.spelling import JOINERS, cleaned
from equiview.io.tables import Column, Schema, read_table, write_bytes, write_parquet

SETTINGS = "review.json"
ITEMS = ("items.parquet", "items.jsonl")
PICTURES = "pictures"
DATABASE = "review.sqlite"
LINKS = "links.json"
MOST_CHOICES = 9
"""Choices are made with the keys 1 to 9."""
TEXTS = pl.List(pl.Struct({"label": pl.String, "text": pl.String, "language": pl.String}))
SCHEMA = Schema("items", (Column("id", pl.String, "the item", unique=True),))
WRITTEN: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "group": pl.String,
    "picture": pl.String,
    "fields": TEXTS,
}

LONGEST_NAME = 200
"""Characters of an id, a choice or a person's name."""
MOST_PEOPLE = 1000
"""Reviewers of one page; with more, planning who judges what would take very long."""


def spelling(name: str) -> str:
    r"""What names that look alike have in common: case, blanks and characters that nobody sees do not count.

    >>> spelling(" ann\u200b  LEE") == spelling("Ann Lee")
    True
    """
    return "".join(letter for letter in cleaned(name) if letter not in JOINERS).casefold()


def _visible(name: str) -> str:
    if not spelling(name):
        raise ValueError("it holds nothing that can be seen")
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise ValueError("it holds a control character, such as a line break or NUL; remove it")
    return name


def _told_apart(names: Sequence[str], what: str) -> None:
    """ValueError where a name is there twice, or in two spellings that people do not tell apart."""
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(spelling(name), name)) != name:
            raise ValueError(f"{other!a} and {name!a} look alike; {what}")
    if len(first) < len(names):
        raise ValueError(what)


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_visible)]


class Question(Frozen):
    """A question on every item: a choice among named answers.

    >>> Question(id="fluency", text="Is the translation fluent?").choices
    ('yes', 'no')
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    text: Annotated[str, Field(min_length=1)]
    choices: Annotated[tuple[Name, ...], Field(min_length=2, max_length=MOST_CHOICES)] = ("yes", "no")
    required: bool = True

    @field_validator("choices")
    @classmethod
    def _distinct(cls, choices: tuple[str, ...]) -> tuple[str, ...]:
        _told_apart(choices, "a choice is there twice")
        return choices


class ReviewSettings(Frozen):
    """What `review.json` says.

    `people_per_item` different people judge each item. `reviewers` is the number of people, or their names;
    names stay in the folder, and exports have pseudonyms. An item that was shown but not judged is offered to
    another person after `lease_minutes`. `seed` decides the assignment and order of items.
    """

    title: Annotated[str, Field(min_length=1), AfterValidator(_visible)]
    instructions: str = ""
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]
    people_per_item: Annotated[int, Field(ge=1, le=MOST_PEOPLE)] = 3
    reviewers: Annotated[int, Field(ge=1)] | tuple[str, ...] | None = None
    lease_minutes: Annotated[float, Field(gt=0)] = 30.0
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _coherent(self) -> ReviewSettings:
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids):
            raise ValueError("two questions have the same id")
        names = self.reviewers if isinstance(self.reviewers, tuple) else ()
        for name in names:
            if len(_visible(name)) > LONGEST_NAME:
                raise ValueError(f"reviewers: a name has more than {LONGEST_NAME} characters")
        _told_apart(names, "reviewers: a name is there twice; tell those people apart")
        return self


class ReviewText(Frozen):
    """One text of an item: label, text, and language code (such as `ar`), if it has one."""

    label: str = ""
    text: str
    language: str | None = None

    @property
    def direction(self) -> str:
        """`ltr` or `rtl` where the language is known, else `auto`: by the text's first letter."""
        return direction_of(self.language or "") or "auto"


class ReviewItem(Frozen):
    """One item to judge: texts, and a picture as bytes (PNG, JPEG, GIF or WebP) or as a path.

    A path is relative to the folder of the review. `group` is free, for example the language or the country;
    progress is counted by it and exports have it.
    """

    id: Name
    fields: tuple[ReviewText, ...] = ()
    picture: Annotated[bytes, Strict()] | Path | None = None
    group: str | None = None


def write_review(folder: Path, settings: ReviewSettings, items: Iterable[ReviewItem]) -> Path:
    """Write a folder for `equiview review`, pictures included, and return it.

    It may be written again with further items while nothing that was judged changes. InputError for no item,
    for two items of one id, and for a picture that is missing or is of another kind.

    >>> import tempfile
    >>> asked = ReviewSettings(title="Captions", questions=[Question(id="right", text="Is it right?")])
    >>> dog = ReviewItem(id="a", fields=[ReviewText(label="Caption", text="mbwa", language="sw")])
    >>> folder = write_review(Path(tempfile.mkdtemp()), asked, [dog])
    >>> [item.id for item in read_items(folder)]
    ['a']
    """
    rows = []
    for item in items:
        where = f"item {item.id!r}"
        picture = (
            None if item.picture is None else _kept(folder, _content(folder, item.picture, where), where)
        )
        fields = [text.model_dump() for text in item.fields]
        rows.append({"id": item.id, "group": item.group, "picture": picture, "fields": fields})
    if not rows:
        raise InputError(f"{folder}: a review needs at least one item")
    table = SCHEMA.check(pl.DataFrame(rows, schema=WRITTEN), "items")
    write_parquet(table, folder / ITEMS[0])
    write_bytes(settings.model_dump_json(indent=1).encode(), folder / SETTINGS)
    return folder


def read_settings(folder: Path) -> ReviewSettings:
    """The settings of a folder; InputError names the field that is wrong."""
    path = folder / SETTINGS
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one that holds {SETTINGS}")
    if not path.exists():
        raise InputError(f"{path}: is missing; name a folder that was written for a review")
    return _checked(ReviewSettings, read_json(path), str(path))


def read_items(folder: Path) -> list[ReviewItem]:
    """The items of a folder, every picture a path that can be read; InputError names file and row."""
    present = [folder / name for name in ITEMS if (folder / name).exists()]
    if len(present) != 1:
        found = "both are there; remove one" if present else "neither is there"
        raise InputError(f"{folder}: needs either {ITEMS[0]} or {ITEMS[1]}: {found}")
    rows = _parquet_rows(present[0]) if present[0].suffix == ".parquet" else _json_rows(present[0])
    items: list[ReviewItem] = []
    first: dict[str, str] = {}
    for where, row in rows:
        item = _checked(ReviewItem, row, where)
        if item.id in first:
            raise InputError(f"{where}: id {item.id!r} is that of {first[item.id]}; it must be distinct")
        first[item.id] = where.rpartition(", ")[2]
        items.append(item.model_copy(update={"picture": _picture(folder, item.picture, where)}))
    if not items:
        raise InputError(f"{present[0]}: holds no item")
    return items


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    table = read_table(path, SCHEMA)
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        if row.get("fields", ()) is None:
            row["fields"] = ()
        yield f"{path}, row {number}", row


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        if line.strip():
            yield where, parse_json(line, where)


def _picture(folder: Path, picture: bytes | Path | None, where: str) -> Path | None:
    """The absolute path of a picture; bytes of a table are unpacked, so that each can be read alone."""
    if picture is None:
        return None
    if isinstance(picture, bytes):
        picture = Path(_kept(folder, picture, where))
    path = inside(folder, picture, f"{where}: picture")
    with path.open("rb") as stream:
        _check_kind(stream.read(12), where)
    return path


def _content(folder: Path, picture: bytes | Path, where: str) -> bytes:
    if isinstance(picture, bytes):
        return picture
    try:
        return content_of(folder / picture)
    except InputError as error:
        raise InputError(f"{where}: picture {error}") from None


def _kept(folder: Path, content: bytes, where: str) -> str:
    """Keep a picture in the folder, once, and return its path there."""
    name = f"{PICTURES}/{hashlib.sha256(content).hexdigest()[:32]}.{_check_kind(content[:12], where)}"
    if not (folder / name).exists():
        write_bytes(content, folder / name)
    return name


def _check_kind(start: bytes, where: str) -> str:
    if (kind := picture_kind(start)) is None:
        raise InputError(f"{where}: the picture is no PNG, JPEG, GIF or WebP; convert it to one")
    return kind


def _checked(kind: type[Model], content: Any, where: str) -> Model:
    with refused(lambda first: f"{where}: {first}; correct it and start again"):
        return kind.model_validate(content)
