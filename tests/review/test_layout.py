"""The folder of a review: what is written is read, and what is wrong is said in one line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from equiview.errors import InputError
from equiview.review import ReviewItem, ReviewSettings, ReviewText
from equiview.review.layout import read_items, read_settings
from tests.review.reviews import QUESTIONS, RIGHT, judge, opened, picture, reviewers, write


def test_what_is_written_is_read(tmp_path: Path) -> None:
    texts = [ReviewText(label="Question", text="في أي مدينة؟\n", language="ar"), ReviewText(text="")]
    shown = ReviewItem(id="a", fields=texts, picture=picture(), group="ar")
    bare = ReviewItem(id="b")
    write(tmp_path, [shown, bare], instructions="Read.", seed=4)
    first, second = read_items(tmp_path)
    assert (first.fields, first.group) == (shown.fields, "ar")
    assert isinstance(first.picture, Path)
    assert first.picture.read_bytes() == picture()
    assert second == bare
    assert read_settings(tmp_path).seed == 4


def test_one_picture_of_many_items_is_kept_once(tmp_path: Path) -> None:
    (tmp_path / "own.png").write_bytes(picture())
    write(tmp_path / "review", [
        ReviewItem(id="a", picture=picture()), ReviewItem(id="b", picture=tmp_path / "own.png"),
        ReviewItem(id="c", picture=picture("red", "WEBP")),
    ])  # fmt: skip
    assert sorted(path.suffix for path in (tmp_path / "review" / "pictures").iterdir()) == [".png", ".webp"]


def test_lines_and_bytes_of_ones_own_are_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "items.parquet").unlink()
    (tmp_path / "own.jpg").write_bytes(picture(kind="JPEG"))
    lines = [{"id": "a", "picture": "own.jpg"}, {"id": "b", "fields": [{"text": "x", "language": "sw"}]}]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = read_items(tmp_path)
    assert first.picture == tmp_path / "own.jpg"
    assert second.fields[0].language == "sw"
    (tmp_path / "items.jsonl").unlink()
    pl.DataFrame({"id": ["a"], "picture": [picture(kind="GIF")]}).write_parquet(tmp_path / "items.parquet")
    (unpacked,) = read_items(tmp_path)
    assert isinstance(unpacked.picture, Path)
    assert unpacked.picture.suffix == ".gif"


WRONG_LINES = {
    '{"id": "a"}\n{"id": "a"}': "line 2: id 'a' is that of line 1; it must be distinct",
    '{"id": "a", "title": "t"}': "line 1: title: extra inputs are not permitted; correct it",
    '{"id": "a"}\n{"id": 3}': "line 2: id: input should be a valid string",
    '{"id": "a", "fields": [{"label": "t"}]}': "line 1: fields.0.text: field required",
    '{"id": "a"}\n{"id": ': "line 2: is not JSON",
    '{"id": "a", "picture": "no.png"}': "line 1: picture 'no.png' is no file",
    '{"id": "a", "picture": "x.svg"}': "line 1: the picture is no PNG, JPEG, GIF or WebP; convert it",
    "": "holds no item",
    '{"id": "a\\u0000"}': "line 1: id: it holds a control character",
    '{"id": " "}': "line 1: id: it holds nothing that can be seen",
}


@pytest.mark.parametrize(("content", "message"), WRONG_LINES.items(), ids=range(len(WRONG_LINES)))
def test_a_wrong_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.svg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "items.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"items\.jsonl") as error:
        read_items(tmp_path)
    assert message in str(error.value)


WRONG_SETTINGS = {
    "questions": ([], "questions: tuple should have at least 1 item"),
    "people_per_item": (0, "people_per_item: "),
    "reviewers": (["Ann", "Ann"], "a name is there twice"),
    "colour": ("red", "colour: extra inputs are not permitted"),
    "title": ("", "title: "),
    "people_per_item ": (10**20, "people_per_item: input should be less than or equal to 1000"),
    "title ": (" \u200b", "title: it holds nothing that can be seen"),
    "reviewers by case": (["Ann", "ANN"], "'Ann' and 'ANN' look alike; reviewers: a name is there twice"),
    "reviewers by what nobody sees": (["Ann", "A\u200bnn "], r"'Ann' and 'A\u200bnn ' look alike"),
    "reviewers by form": (["\xe9", "e\u0301"], r"'\xe9' and 'e\u0301' look alike"),
    "reviewers with an escape": (["\x1b[2J", "Bo"], "it holds a control character"),
    "reviewers with NUL": (["a\0", "Bo"], "it holds a control character"),
    "reviewers of blanks": ([" ", "Bo"], "it holds nothing that can be seen"),
}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(tmp_path: Path, name: str) -> None:
    value, message = WRONG_SETTINGS[name]
    write(tmp_path)
    content = json.loads((tmp_path / "review.json").read_text()) | {name.split(maxsplit=1)[0]: value}
    (tmp_path / "review.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"review\.json") as error:
        read_settings(tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "choices", [["yes"], ["yes", "yes"], list("abcdefghij"), ["yes", ""], ["yes", "Yes "], ["a", "\u200b"]]
)
def test_choices_are_two_to_nine_distinct_names(tmp_path: Path, choices: list[str]) -> None:
    question = {"id": "q", "text": "?", "choices": choices}
    (tmp_path / "review.json").write_text(json.dumps({"title": "t", "questions": [question]}))
    with pytest.raises(InputError, match=r"review\.json: questions\.0\.choices"):
        read_settings(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_settings(tmp_path / "none")
    with pytest.raises(InputError, match=r"review\.json: is missing"):
        read_settings(tmp_path)
    with pytest.raises(InputError, match="neither is there"):
        read_items(tmp_path)
    write(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"id": "a"}')
    with pytest.raises(InputError, match="both are there; remove one"):
        read_items(tmp_path)


def test_nothing_is_written_of_items_that_are_wrong(tmp_path: Path) -> None:
    for items, message in (
        ([], "needs at least one item"),
        ([ReviewItem(id="a"), ReviewItem(id="a")], "repeats 'a' in rows 1 and 2"),
        ([ReviewItem(id="a", picture=b"<svg/>")], "item 'a': the picture is no PNG"),
        ([ReviewItem(id="a", picture=Path("none.png"))], "item 'a': picture .*none.png: no such file"),
    ):
        with pytest.raises(InputError, match=message):
            write(tmp_path / "review", items)
    assert not (tmp_path / "review").exists()


def test_two_questions_need_two_ids() -> None:
    with pytest.raises(ValueError, match="two questions have the same id"):
        ReviewSettings(title="t", questions=[QUESTIONS[0], QUESTIONS[0]])


def test_items_may_be_added_but_what_was_judged_stays(tmp_path: Path) -> None:
    items = [ReviewItem(id=name, fields=[ReviewText(text=name)]) for name in "abc"]
    write(tmp_path, items)
    with opened(tmp_path) as review:
        number = next(number for number, item in review.items.items() if item.id == "b")
        judge(review, reviewers(review)[0], number, RIGHT)
    more = [items[1], ReviewItem(id="new"), items[2]]
    write(tmp_path, more)  # nobody judged a
    with opened(tmp_path) as review:
        assert {item.id for item in review.items.values()} == {"b", "new", "c"}
        assert review.items[number].id == "b"
    changed = ReviewItem(id="b", fields=[ReviewText(text="other")])
    for wrong, what in (([changed, items[2]], "changed"), ([items[2]], "removed")):
        write(tmp_path, wrong)
        with pytest.raises(InputError, match=f"item 'b' was {what} after people had judged it"):
            open_review_of(tmp_path)
    write(tmp_path, more, questions=QUESTIONS[:1])
    with pytest.raises(InputError, match=r"questions or choices in review\.json were changed"):
        open_review_of(tmp_path)


def open_review_of(folder: Path) -> None:
    with opened(folder):
        pass


def test_questions_may_change_before_anybody_answered(tmp_path: Path) -> None:
    open_review_of(write(tmp_path))
    open_review_of(write(tmp_path, questions=QUESTIONS[:1]))


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "review.sqlite").write_bytes(b"no database, but long enough to look at" * 30)
    with pytest.raises(InputError, match=r"review\.sqlite: is not a database"):
        open_review_of(tmp_path)
