"""Answers are about what people were shown and asked: whatever changes afterwards is refused, by name."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from equiview.errors import InputError
from equiview.review import ReviewItem, ReviewText, export_review
from equiview.review.layout import read_items
from equiview.review.opening import open_review
from equiview.review.unchanged import _former_hash, content_keys
from tests.review.reviews import QUESTIONS, RIGHT, judge, opened, picture, reviewers, write

ITEMS = [
    ReviewItem(id=name, group="g", picture=picture(), fields=[ReviewText(text=name, language="sw")])
    for name in "ab"
]
JUDGED = {"language": "yes", "relevance": "yes", "note": "no"}


def judged(folder: Path, **settings: object) -> Path:
    """A review whose item a was judged by one person."""
    write(folder, ITEMS, **settings)
    with opened(folder) as review:
        judge(review, reviewers(review)[0], 1, JUDGED)
    return folder


def repainted(folder: Path) -> None:
    """Another picture of the same name and size in bytes."""
    (kept,) = (folder / "pictures").iterdir()
    other = picture("red")
    kept.write_bytes(other + bytes(kept.stat().st_size - len(other)))


def rewritten(**changed: object) -> Callable[[Path], None]:
    """The first item otherwise."""
    return lambda folder: write(folder, [ITEMS[0].model_copy(update=changed), ITEMS[1]]) and None


def asked_otherwise(place: int, **changed: object) -> Callable[[Path], None]:
    questions = list(QUESTIONS)
    questions[place] = questions[place].model_copy(update=changed)
    return lambda folder: write(folder, ITEMS, questions=questions) and None


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a picture of the same size": (repainted, r"item 'a' was changed .* \(picture\)"),
    "another picture": (rewritten(picture=picture("red")), r"item 'a' was changed .* \(picture\)"),
    "no picture": (rewritten(picture=None), r"item 'a' was changed .* \(picture\)"),
    "a text": (rewritten(fields=[ReviewText(text="A", language="sw")]), r"item 'a' was changed .* \(texts\)"),
    "a language": (rewritten(fields=[ReviewText(text="a")]), r"item 'a' was changed .* \(texts\)"),
    "a group": (rewritten(group="h"), r"item 'a' was changed .* \(group\)"),
    "no group": (rewritten(group=None), r"item 'a' was changed .* \(group\)"),
    "an id": (rewritten(id="A"), r"item 'a' was removed after people had judged it;"),
    "ids that change places": (
        lambda folder: write(folder, [item.model_copy(update={"id": name}) for item, name in
                                      zip(ITEMS, "ba", strict=True)]),
        r"item 'a' was changed .* \(texts\)",
    ),
    "a question's text": (asked_otherwise(0, text="?"), r"words of questions .* \(language\);"),
    "a question's id": (asked_otherwise(1, id="other"), r"questions or choices .* \(other\);"),
    "a choice": (asked_otherwise(1, choices=("yes", "no")), "questions or choices in review.json"),
    "choices in another order": (asked_otherwise(0, choices=("no", "yes")), "questions or choices"),
    "an optional question": (asked_otherwise(0, required=False), "words of questions in review.json"),
    "questions in another order": (lambda folder: write(folder, ITEMS, questions=QUESTIONS[::-1]),
                                   "questions or choices in review.json were changed"),
    "instructions": (lambda folder: write(folder, ITEMS, instructions="Judge."), r"\(instructions\);"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_after_judging_is_neither_served_nor_exported(tmp_path: Path, change: str) -> None:
    spoil, said = CHANGES[change]
    spoil(judged(tmp_path))
    with pytest.raises(InputError, match=said), opened(tmp_path):
        pass
    with pytest.raises(InputError, match=said):
        export_review(tmp_path, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    write(tmp_path, ITEMS)  # restored
    (kept,) = [path for path in (tmp_path / "pictures").iterdir() if path.name in str(read_items(tmp_path))]
    kept.write_bytes(picture())
    with opened(tmp_path) as review:
        assert review.items[1].id == "a"
    export_review(tmp_path, tmp_path / "out.csv")


def test_every_changed_item_counts_and_the_first_are_named(tmp_path: Path) -> None:
    many = [ReviewItem(id=f"i{n}") for n in range(10)]
    write(tmp_path, many)
    with opened(tmp_path) as review:
        for number in review.items:
            judge(review, reviewers(review)[0], number, RIGHT)
    write(tmp_path, [item.model_copy(update={"group": "new"}) for item in many[:-1]])
    with pytest.raises(
        InputError, match=r"'i0' was changed .* \(group\); also 'i1' \(group\), .* and 4 more;"
    ):
        export_review(tmp_path, tmp_path / "out.csv")


def test_order_seed_title_people_and_items_nobody_judged_may_change(tmp_path: Path) -> None:
    judged(tmp_path)
    other = ITEMS[1].model_copy(update={"group": "h", "picture": picture("red")})
    write(tmp_path, [other, ReviewItem(id="c"), ITEMS[0]], seed=5, title="Else", people_per_item=2)
    with opened(tmp_path, 4) as review:
        assert [review.items[number].id for number in (1, 2)] == ["a", "b"]
        assert review.items[2].group == "h"
        assert len(reviewers(review)) == 4
    export_review(tmp_path, tmp_path / "out.csv")


def as_before(folder: Path) -> None:
    """The database as earlier versions wrote it."""
    items = {item.id: item for item in read_items(folder)}
    with sqlite3.connect(folder / "review.sqlite") as database:
        database.execute("DELETE FROM facts WHERE name = 'words'")
        for name, item in items.items():
            row = (_former_hash(item), name)
            database.execute("UPDATE items SET content_hash = ? WHERE id = ?", row)
    database.close()


@pytest.mark.parametrize("text", ["a", "A"])
def test_a_database_of_an_earlier_version_goes_on(tmp_path: Path, text: str) -> None:
    as_before(judged(tmp_path))
    write(
        tmp_path, [ITEMS[0].model_copy(update={"fields": (ReviewText(text=text, language="sw"),)}), ITEMS[1]]
    )
    if text == "A":
        with (
            pytest.raises(InputError, match=r"item 'a' was changed .* \(texts or picture\)"),
            opened(tmp_path),
        ):
            pass
        return
    export_review(tmp_path, tmp_path / "before.csv")
    with opened(tmp_path):
        pass
    repainted(tmp_path)  # seen from now on
    with pytest.raises(InputError, match=r"\(picture\)"):
        export_review(tmp_path, tmp_path / "after.csv")


def test_a_picture_that_vanished_is_named_with_its_item(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"item 'a': its picture cannot be read \(No such file"):
        content_keys([ReviewItem(id="a", picture=tmp_path / "none.png")])


def test_a_picture_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "review")
    (folder / "items.parquet").unlink()
    (tmp_path / "outside.png").write_bytes(picture())
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "loop.png").symlink_to("loop.png")
    (folder / "ünï 写.png").write_bytes(picture())
    (folder / "inner.png").symlink_to("ünï 写.png")
    for name, said in (
        ("../outside.png", "leads out of"),
        (str(tmp_path / "outside.png"), "leads out of"),
        ("x/../../outside.png", "is no file in"),
        ("link.png", "leads out of"),
        ("loop.png", "is no file in"),
        ("nul\0.png", "is no file in"),
        (".", "is no file in"),
    ):
        (folder / "items.jsonl").write_text(json.dumps({"id": "a", "picture": name}))
        with pytest.raises(InputError, match=said):
            read_items(folder)
    (folder / "items.jsonl").unlink()
    pl.DataFrame({"id": ["a"], "picture": [picture("red")]}).write_parquet(folder / "items.parquet")
    kept = read_items(folder)[0].picture
    assert isinstance(kept, Path)
    kept.unlink()
    kept.symlink_to(tmp_path / "outside.png")
    with pytest.raises(InputError, match="leads out of"):
        read_items(folder)
    (folder / "items.parquet").unlink()
    for name in ("ünï 写.png", "./inner.png", str(folder / "ünï 写.png"), "../review/inner.png"):
        (folder / "items.jsonl").write_text(json.dumps({"id": "a", "picture": name}))
        assert read_items(folder)[0].picture is not None


def changed(*statements: str) -> Callable[[Path], object]:
    """The database after these statements, its own guards aside."""

    def change(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute("DROP TRIGGER votes_are_not_changed")
            for statement in statements:
                database.execute(statement)
        database.close()

    return change


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE votes (years_of_work TEXT)")
    database.close()


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[5000::97] = bytes(byte ^ 255 for byte in content[5000::97])
    path.write_bytes(content)


CANNOT = "says of people or votes what cannot be; restore it from a copy"
OTHER = "is not the database of a review, or of another version; restore it"
UNUSABLE = r"is not a database that can be used \(.*\); restore it"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "answers that are no JSON": (changed("UPDATE votes SET answers = 'x'"), "vote 1 is damaged"),
    "answers that are a list": (changed("UPDATE votes SET answers = '[]'"), "vote 1 is damaged"),
    "answers that are bytes": (changed("UPDATE votes SET answers = x'ff00'"), "vote 1 is damaged"),
    "nested answers": (changed(f"UPDATE votes SET answers = '{'[' * 100_000}'"), "vote 1 is damaged"),
    "another choice": (changed("""UPDATE votes SET answers = '{"note": "maybe"}'"""), "vote 1 is damaged"),
    "a list as choice": (changed("""UPDATE votes SET answers = '{"note": ["no"]}'"""), "vote 1 is damaged"),
    "another role": (changed("UPDATE people SET role = 'boss'"), CANNOT),
    "another hash": (changed("UPDATE people SET token_hash = 'x'"), CANNOT),
    "no people": (changed("DELETE FROM people"), CANNOT),
    "no items": (changed("DELETE FROM items"), CANNOT),
    "no table of facts": (changed("DROP TABLE facts"), OTHER),
    "a further column": (
        changed("ALTER TABLE people ADD COLUMN x"),
        OTHER,
    ),
    "of another program": (foreign, OTHER),
    "facts that are no JSON": (
        changed("UPDATE facts SET value = 'x'"),
        "were changed after people had answered;",
    ),
    "bytes that flipped": (flipped, "restore it from a copy"),
    "cut in half": (
        lambda path: os.truncate(path, path.stat().st_size // 2),
        UNUSABLE,
    ),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), UNUSABLE),
    "a pipe": (lambda path: (path.unlink(), os.mkfifo(path)), UNUSABLE),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    spoil, said = DAMAGES[damage]
    path = judged(tmp_path) / "review.sqlite"
    spoil(path)
    for attempt in (lambda: export_review(tmp_path, tmp_path / "out.csv"), lambda: open_review(tmp_path)):
        with pytest.raises(InputError, match=said):
            attempt()


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = judged(tmp_path) / "review.sqlite"
    foreign(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=OTHER):
        open_review(tmp_path)
    assert path.read_bytes() == before
