"""Replies that were paid for: kept as they come, whatever happens."""

import os
import signal
import subprocess
import sys

import pytest

from equiview.data.requests import Reply
from equiview.errors import InputError
from equiview.store import Answers

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
