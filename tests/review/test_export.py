"""Exports: every judgement, what is decided, pseudonyms only, in three kinds of file."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from equiview.errors import InputError
from equiview.io.tables import without_apostrophe
from equiview.review import Question, ReviewItem, export_review
from tests.review.reviews import RIGHT, WRONG, judge, opened, reviewers, write

NAMES = ["Ann Secret", "Bo Secret", "Chidi Secret"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Item a is agreed, b adjudicated, c in dispute, d judged by one person."""
    write(tmp_path, [ReviewItem(id=name, group="g") for name in "abcd"], reviewers=NAMES)
    with opened(tmp_path) as review:
        people = reviewers(review)
        judge(review, people[0], 1, WRONG)  # changes their mind
        for item in (1, 2, 3):
            for person in people:
                judge(review, person, item, WRONG if item > 1 and person is people[1] else RIGHT)
        judge(review, review.people["adjudicator"], 2, {"relevance": "partly"})
        judge(review, people[2], 4, RIGHT | {"note": "yes"})
    return tmp_path


READERS = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}


@pytest.mark.parametrize("kind", READERS)
def test_tables_are_the_same_in_every_kind_of_file(folder: Path, kind: str) -> None:
    paths = export_review(folder, folder / f"out.{kind}")
    assert [path.name for path in paths] == [f"out.{kind}", f"out.decisions.{kind}", f"out.agreement.{kind}"]
    judgements, decisions, agreement = (READERS[kind](path) for path in paths)
    assert len(judgements) == 2 + 9 * 2 + 1 + 3
    assert judgements.filter("superseded")["value"].to_list() == ["yes", "no"]
    assert set(judgements["author"]) == {"reviewer-1", "reviewer-2", "reviewer-3", "adjudicator"}
    assert judgements["time"].str.contains(r"^20\d\d-\d\d-\d\dT.*\+00:00$").all()
    relevance = decisions.filter(pl.col("question") == "relevance")
    assert relevance.select("item", "state", "value", "majority", "votes").rows() == [
        ("a", "agreed", "yes", "yes", 3),
        ("b", "adjudicated", "partly", "yes", 3),
        ("c", "disputed", None, "yes", 3),
        ("d", "too few", None, "yes", 1),
    ]
    assert json.loads(relevance["counts"][2]) == {"yes": 2, "no": 1}
    assert decisions.filter(pl.col("question") == "note")["state"].to_list() == [
        "not answered", "not answered", "not answered", "too few",
    ]  # fmt: skip
    assert agreement["question"].to_list() == ["language", "relevance", "note"]
    assert agreement["note"][0] == "undefined: every answer is 'yes'"
    assert agreement["n"].to_list() == [3, 3, 0]


def test_no_name_leaves_the_database(folder: Path) -> None:
    for kind in ("csv", "jsonl", "parquet"):
        for path in export_review(folder, folder / f"out.{kind}"):
            assert b"Secret" not in path.read_bytes()


def test_the_same_votes_give_the_same_bytes(folder: Path) -> None:
    for kind in ("csv", "jsonl", "parquet"):
        first, second = (export_review(folder, folder / f"{name}.{kind}") for name in "ab")
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_an_export_is_possible_while_somebody_writes(folder: Path) -> None:
    with opened(folder) as review, review.database.transaction():
        assert len(export_review(folder, folder / "out.csv")) == 3


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError, match=r"out\.xlsx: an export is a \.csv, \.jsonl, \.parquet file"):
        export_review(tmp_path, tmp_path / "out.xlsx")
    with pytest.raises(InputError, match="has no judgements yet; start it with: equiview review"):
        export_review(tmp_path, tmp_path / "out.csv")
    before = (tmp_path / "items.parquet").read_bytes()
    for name in ("items.parquet", "items.jsonl", "../{folder}/items.parquet"):
        with pytest.raises(InputError, match="holds the items of the review; name another file"):
            export_review(tmp_path, tmp_path / name.format(folder=tmp_path.name))
    assert (tmp_path / "items.parquet").read_bytes() == before
    with pytest.raises(InputError, match="no such folder"):
        export_review(tmp_path / "none", tmp_path / "out.csv")


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    names = ["=cmd|' /C calc'!A0", "@sum(1)", "\xa0=1", "＝1", "'=1", "plain"]
    choices = ("+1", "-1")
    items = [ReviewItem(id=name, group=name) for name in names]
    write(tmp_path, items, questions=[Question(id="-q", text="?", choices=choices)])
    with opened(tmp_path) as review:
        for number in review.items:
            judge(review, reviewers(review)[0], number, {"-q": "+1"})
    raw = [pl.read_parquet(path) for path in export_review(tmp_path, tmp_path / "out.parquet")]
    safe = [pl.read_csv(path) for path in export_review(tmp_path, tmp_path / "out.csv")]
    for before, after in zip(raw, safe, strict=True):
        words = [name for name, dtype in before.schema.items() if dtype == pl.String]
        assert not after.select(
            pl.any_horizontal(pl.col(words).cast(pl.String).str.contains(r"^\s*[=+@＝-]")).any()
        ).item()
        for name in words:
            assert without_apostrophe(after[name].cast(pl.String)).to_list() == before[name].to_list()
    assert raw[0]["item"].to_list() == names
    assert safe[0]["item"].to_list()[-1] == "plain"
