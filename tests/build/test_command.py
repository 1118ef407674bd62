"""`equiview build`: against a real service, stopped and continued, and with what people decided."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.review import export_review
from equiview.review.layout import read_items, read_settings
from equiview.review.opening import open_review
from tests.build.test_knowrecall import built, job_of
from tests.build.world import GOOD, SECOND, THIRD, World, landmarks, picture
from tests.chat_server import ChatServer, chat_server
from tests.processes import COMMAND, equiview, start
from tests.review.reviews import judge, reviewers


def command(server: ChatServer, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The words of the command that builds, and what of its environment is not this one's."""
    model = server.subject("world", "connections=1")
    words = ["build", "knowrecall", str(folder / "in"), "--out", str(folder / "out"), "--writer", model]
    options = ["--languages", "en,fr,ja", "--reviewed", "2"]
    return [*words, *options], {"EQUIVIEW_CACHE": str(folder / "cache")}


def test_a_build_that_is_killed_asks_nothing_twice_that_was_answered(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    world = World([GOOD, SECOND, THIRD])
    with chat_server(lambda prompt, _pictures, _model: world.said(prompt)) as server:
        words, environment = command(server, tmp_path)
        process = start(COMMAND, words, tmp_path, environment=os.environ | environment)
        server.wait_for(answered=12)
        process.kill()
        process.join()
        asked = len(server.requests)
        assert 12 <= asked < 80
        assert not (tmp_path / "out" / "data").exists()
        done = equiview(*words, **environment)
        assert done.returncode == 0, done.stderr
        repeated = sum(count - 1 for count in Counter(server.prompts).values())
    assert repeated <= 1  # the one that was under way
    assert f"knowrecall:{tmp_path / 'out'}" in done.stdout.replace("\n", "")
    assert len(load_benchmark(f"knowrecall:{tmp_path / 'out'}").tables["questions"]) == 18


def test_pictures_go_to_the_writer_and_the_judge_alone(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    world = World([GOOD])
    with chat_server(lambda prompt, _pictures, _model: world.said(prompt)) as server:
        words, environment = command(server, tmp_path)
        assert equiview(*words, **environment).returncode == 0
        seen = [bool(asked.pictures) for asked in server.requests]
        blind = [asked for asked in server.requests if "You cannot see the picture" in asked.prompt]
    assert sum(seen) == 2
    assert len(blind) == 3
    assert not any("was built by" in asked.prompt for asked in blind)


def test_people_get_every_translation_beside_the_english(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    built(tmp_path, World([GOOD]), reviewed=2)
    folder = tmp_path / "out" / "review"
    items = read_items(folder)
    assert [question.id for question in read_settings(folder).questions] == [
        "language",
        "fluency",
        "relevance",
    ]
    assert Counter(item.group for item in items) == {"French": 2, "Japanese": 2}
    english, japanese = items[-1].fields
    assert english.text.startswith("With which fair")
    assert japanese.text.startswith("この写真に写っている建物についての質問です。With which fair")
    assert japanese.language == "ja"
    assert english.text.count("\n") == japanese.text.count("\n") == 4


def test_what_people_reject_is_left_out_and_the_next_question_follows(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    decisions = tmp_path / "judgements.decisions.csv"
    decisions.write_text(
        "item,group,question,state,value\n"
        "t1-1:fr,French,fluency,agreed,no\nt1-1:ja,Japanese,fluency,agreed,yes\nt1-2:fr,French,fluency,disputed,\n"
    )
    counts, history = built(tmp_path, World([GOOD, SECOND, THIRD]), decisions=decisions, keep=1)
    assert counts["people"] == 2
    rejected = history.filter(~pl.col("passed"), step="people").row(0, named=True)
    assert (rejected["item_id"], rejected["detail"]) == ("t1-1", "fluency (fr)")
    assert history.filter(pl.col("passed"), step="select")["item_id"].to_list() == ["t1-2"]


def reviewed(folder: Path, kind: str = "csv") -> Path:
    """A build of one place whose first question people rejected in Japanese; returns their decisions."""
    landmarks(folder / "in", ["t1"])
    built(folder, World([GOOD, SECOND, THIRD]), reviewed=2, keep=1)
    review = open_review(folder / "out" / "review", 3)
    try:
        (japanese,) = (number for number, item in review.items.items() if item.group == "Japanese")
        for person in reviewers(review):
            judge(review, person, japanese, {"language": "yes", "fluency": "no", "relevance": "yes"})
    finally:
        review.database.close()
    return export_review(folder / "out" / "review", folder / f"=judged.{kind}")[1]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_an_export_of_the_same_build_rejects_is_left_out(tmp_path: Path, kind: str) -> None:
    decisions = reviewed(tmp_path, kind)
    (tmp_path / "out").rename(tmp_path / "before")
    counts, history = built(tmp_path, World([GOOD, SECOND, THIRD]), decisions=decisions, keep=1)
    assert counts["people"] == 2
    rejected = history.filter(~pl.col("passed"), step="people").row(0, named=True)
    assert (rejected["item_id"], rejected["detail"]) == ("t1-1", "fluency (ja)")
    (tmp_path / "out").rename(tmp_path / "second")
    counts, _ = built(tmp_path, World([GOOD, SECOND]), decisions=decisions, languages=("en", "fr"))
    assert counts["people"] == 2  # its Japanese says nothing about a build without Japanese


def other_question(_: Path) -> World:
    return World([SECOND, GOOD, THIRD])


def other_picture(folder: Path) -> World:
    picture(folder / "in" / "images" / "t1" / "1.png", 99)
    return World([GOOD, SECOND, THIRD])


def other_translation(_: Path) -> World:
    world = World([GOOD, SECOND, THIRD])
    said = world._translate
    world._translate = lambda prompt: said(prompt).replace("どのように", "どう")  # type: ignore[method-assign]
    return world


@pytest.mark.parametrize("other", [other_question, other_picture, other_translation])
def test_decisions_of_another_build_reject_nothing(tmp_path: Path, other: Callable[[Path], World]) -> None:
    decisions = reviewed(tmp_path)
    (tmp_path / "out").rename(tmp_path / "before")
    with pytest.raises(InputError, match=r"=judged.*: people judged another question 't1-1:ja'"):
        built(tmp_path, other(tmp_path), decisions=decisions, keep=1)
    assert not (tmp_path / "out" / "data").exists()


def test_decisions_about_a_question_that_is_not_there_are_refused(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    decisions = tmp_path / "decisions.csv"
    decisions.write_text("item,question,value\nt9-1:fr,fluency,no\n")
    with pytest.raises(InputError, match="rejects 't9-1', a question that this build does not have"):
        built(tmp_path, World([GOOD]), decisions=decisions)


def test_decisions_without_an_item_are_a_clear_error(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    decisions = tmp_path / "wrong.csv"
    decisions.write_text("name,value\nt1,no\n")
    with pytest.raises(InputError, match=r"wrong\.csv: column 'item'"):
        built(tmp_path, World([GOOD]), decisions=decisions)


def test_a_plan_is_what_is_asked_when_nothing_is_rejected(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    world = World([GOOD, SECOND])
    planned = {plan.purpose: plan.requests for plan in job_of(tmp_path, world, candidates=2).plan()}
    assert not world.asked
    built(tmp_path, world, candidates=2)
    tasks = ["write", "recall", "choose", "judge", "translate", "back", "same"]
    assert list(planned.values()) == [world.asked[task] for task in tasks] == [3, 6, 18, 6, 12, 12, 12]


def test_english_is_needed(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    with pytest.raises(InputError, match="must hold en"):
        built(tmp_path, World([GOOD]), languages=("fr", "ja"))


def test_a_subject_that_does_not_answer_is_refused(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    words = ["build", "knowrecall", tmp_path / "in", "--out", tmp_path / "out"]
    done = equiview(*words, "--writer", "pictogram:aligned")
    assert done.returncode == 1
    assert "'pictogram:aligned' is an encoder; a builder asks a model that answers" in done.stderr
