"""Replies that were paid for: kept as they come, whatever happens."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from equiview.data.requests import Reply
from equiview.errors import InputError
from equiview.store import Answers, AnswerStore
from equiview.store.answers import TABLES

REPLIES = {
    "a": Reply("B", "stop", 12, 1, 0.25),
    "b": Reply('ಬೆಂಗಳೂರು\n"quoted"', "length", 3, 1024),
    "c": Reply("", "refused"),
}


def test_a_reply_comes_back_whole_and_others_are_not_there(tmp_path):
    with Answers("model", tmp_path).opened() as answers:
        for key in ("c", "a", "b"):
            answers.put(key, REPLIES[key])
    with Answers("model", tmp_path).opened() as answers:
        assert answers.get(["b", "x", "a", "c"]) == REPLIES
        assert answers.get(["x"]) == {}
    with Answers("other", tmp_path).opened() as answers:
        assert answers.get(REPLIES) == {}


def test_an_answer_of_another_version_is_not_there_and_can_be_put_again(tmp_path):
    with Answers("model", tmp_path).opened() as answers:
        for text in ("not JSON", "[]", '{"text": "B", "mood": "good"}'):
            with answers._database as database:
                database.execute("INSERT OR REPLACE INTO answers VALUES ('a', ?)", (text,))
            assert answers.get(["a"]) == {}
        answers.put("a", REPLIES["a"])
        assert answers.get(["a"]) == {"a": REPLIES["a"]}


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "answers").write_text("a file")
    with (
        pytest.raises(InputError, match=r"answers cannot be kept .*EQUIVIEW_CACHE"),
        Answers("model", tmp_path).opened(),
    ):
        pass


def test_a_damaged_file_is_said(tmp_path):
    path = Answers("model", tmp_path).path
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(InputError, match="answers cannot be kept"), Answers("model", tmp_path).opened():
        pass


@pytest.fixture
def filled(tmp_path):
    """Three replies of one model, and one long reply more, and one reply of another."""
    for subject, name, keys in (("f00d", "chat:one", "abc"), ("beef", "chat:two", "a")):
        with Answers(subject, tmp_path, name).opened() as answers:
            for key in keys:
                answers.put(key, REPLIES[key])
            if len(keys) > 1:
                answers.put("long", Reply("word " * 50_000))
    return AnswerStore(tmp_path)


def keys_in(folder, subject):
    with Answers(subject, folder).opened() as answers:
        return set(answers.get(REPLIES))


def test_what_is_kept_is_listed_by_model(filled):
    assert filled.contents().select("subject", "name", "answers").rows() == [
        ("beef", "chat:two", 1),
        ("f00d", "chat:one", 4),
    ]
    assert (filled.contents()["megabytes"] > 0).all()
    assert len(filled.verify()) == 0


def test_answers_of_one_model_can_be_removed(filled, tmp_path):
    assert filled.prune("f0") > 200_000
    assert filled.contents()["subject"].to_list() == ["beef"]
    assert (keys_in(tmp_path, "f00d"), keys_in(tmp_path, "beef")) == (set(), {"a"})
    assert filled.prune("f0") == 0


def test_answers_of_the_version_that_did_not_share_them_are_used_and_removed(tmp_path):
    for name in ("used", "left"):
        path = tmp_path / "answers" / f"{name}.sqlite"
        path.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            for table in TABLES[:2]:
                database.execute(table)
            database.execute("INSERT INTO answers VALUES ('a', '{\"text\": \"B\"}')")
    with Answers("used", tmp_path).opened() as answers:
        assert answers.get("a")["a"].text == "B"
    store = AnswerStore(tmp_path)
    assert store.contents()["answers"].to_list() == [1, 1]
    assert store.prune() >= 0
    assert store.contents()["answers"].to_list() == []


def test_answers_that_were_used_lately_are_spared(filled, tmp_path):
    path = Answers("beef", tmp_path).path
    os.utime(path, (1, 1))
    filled.prune(unused_days=30)
    assert filled.contents()["subject"].to_list() == ["f00d"]


def test_a_process_that_is_asking_loses_nothing_of_what_comes_after(filled, tmp_path):
    with Answers("f00d", tmp_path).opened() as answers:
        filled.prune()
        assert answers.get(REPLIES) == {}
        answers.put("b", REPLIES["b"])
    assert keys_in(tmp_path, "f00d") == {"b"}


def test_damaged_answers_are_found_and_alone_removed(filled, tmp_path):
    path = Answers("f00d", tmp_path).path
    path.write_bytes(path.read_bytes()[:4096] + b"?" * 8192)
    assert filled.verify().select("subject", "file").rows() == [("f00d", "f00d.sqlite")]
    listed = filled.contents().filter(subject="f00d")
    assert listed.select("name", "answers").rows() == [("?", None)]
    assert filled.prune(damaged=True) > 0
    assert filled.contents()["subject"].to_list() == ["beef"]
    assert not path.exists()


FOREIGN = {
    "other tables": "CREATE TABLE thesis (chapter TEXT)",
    "a table of that name": "CREATE TABLE answers (question TEXT, answer TEXT)",
    "our tables and another": f"{TABLES[0]}; {TABLES[1]}; CREATE TABLE thesis (chapter TEXT)",
}


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_database_of_somebody_else_is_neither_emptied_nor_removed(filled, name, damaged):
    path = filled.root / "thesis.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(FOREIGN[name])
    before = path.read_bytes()
    filled.prune(damaged=damaged)
    assert path.read_bytes() == before
    assert "thesis" not in filled.contents()["subject"]
    assert len(filled.verify()) == 0


def test_what_is_no_database_is_named_and_kept(filled):
    path = filled.root / "thesis.sqlite"
    path.write_text("years of work")
    assert filled.verify()["problem"].to_list() == ["is no database; move it away or delete it"]
    for damaged in (False, True):
        filled.prune(damaged=damaged)
    assert path.read_text() == "years of work"


def test_answers_behind_a_link_are_not_removed(filled, tmp_path):
    other = AnswerStore(tmp_path / "other")
    other.root.mkdir(parents=True)
    (other.root / "f00d.sqlite").symlink_to(filled.root / "f00d.sqlite")
    os.link(filled.root / "beef.sqlite", other.root / "beef.sqlite")
    assert other.prune() == other.prune(damaged=True) == 0
    whole = AnswerStore(tmp_path / "whole")
    whole.root.parent.mkdir()
    whole.root.symlink_to(filled.root)
    with pytest.raises(InputError, match="nothing is removed through a link"):
        whole.prune()
    assert (keys_in(tmp_path, "f00d"), keys_in(tmp_path, "beef")) == (set("abc"), {"a"})


def test_answers_without_the_name_of_their_model_are_listed(tmp_path):
    with Answers("old", tmp_path).opened() as answers:
        answers.put("a", REPLIES["a"])
        answers._database.execute("DROP TABLE model")
    assert AnswerStore(tmp_path).contents().select("name", "answers").rows() == [("?", 1)]


def test_what_a_killed_process_had_put_is_there(tmp_path):
    script = (
        "import sys, itertools; from pathlib import Path; from equiview.store import Answers\n"
        "from equiview.data.requests import Reply\n"
        "with Answers('model', Path(sys.argv[1])).opened() as answers:\n"
        "    for number in itertools.count():\n"
        "        answers.put(str(number), Reply(f'reply {number}'))\n"
        "        print(number, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            if int(line) >= 200:
                os.kill(process.pid, signal.SIGKILL)
                break
        last = int([line, *lines][-1])
    process.wait()
    with Answers("model", tmp_path).opened() as answers:
        kept = answers.get(map(str, range(last + 1)))
    assert kept == {str(number): Reply(f"reply {number}") for number in range(last + 1)}
