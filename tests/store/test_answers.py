"""Answers that were paid for: asked once, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from equiview.errors import InputError
from equiview.store import Answers

REQUESTS = [{"question": f"{number} + 1?", "language": "en"} for number in range(6)]
SCRIPT = """
import sys, time
from pathlib import Path
from equiview.store import Answers

log = Path(sys.argv[2])

def ask(requests):
    for request in requests:
        with log.open("a") as stream:
            stream.write(request["question"] + "\\n")
        time.sleep(0.02)
        yield {"answer": request["question"].upper()}

requests = [{"question": f"q{number}"} for number in range(40)]
answers = Answers("model", Path(sys.argv[1])).asked(requests, ask)
Path(sys.argv[3]).write_text(repr(answers))
"""


def counting(asked: list[str]):
    def ask(requests):
        for request in requests:
            asked.append(request["question"])
            yield {"answer": request["question"][::-1]}

    return ask


def test_a_request_is_asked_once_and_answers_stand_in_order(tmp_path):
    answers, asked = Answers("model", tmp_path), []
    some = answers.asked(REQUESTS[:3], counting(asked))
    both = answers.asked([REQUESTS[4], REQUESTS[1], REQUESTS[4], REQUESTS[0]], counting(asked))
    assert [answer["answer"] for answer in both] == ["?1 + 4", "?1 + 1", "?1 + 4", "?1 + 0"]
    assert some[1] == both[1]
    assert asked == [request["question"] for request in (*REQUESTS[:3], REQUESTS[4])]


def test_another_subject_is_asked_itself(tmp_path):
    asked = []
    Answers("model", tmp_path).asked(REQUESTS[:1], counting(asked))
    Answers("other", tmp_path).asked(REQUESTS[:1], counting(asked))
    assert len(asked) == 2


def test_what_came_back_before_an_error_is_kept(tmp_path):
    def breaks(requests):
        yield {"answer": 1}
        raise ConnectionError("gone")

    answers, asked = Answers("model", tmp_path), []
    with pytest.raises(ConnectionError):
        answers.asked(REQUESTS[:2], breaks)
    with pytest.raises(InputError, match="1 of 1 requests were not answered"):
        answers.asked(REQUESTS[:2], lambda requests: [])
    with pytest.raises(InputError, match="more answers came back than the 1 asked for"):
        answers.asked(REQUESTS[:2], lambda requests: [{"answer": 2}, {"answer": 3}])
    assert answers.asked(REQUESTS[:2], counting(asked)) == [{"answer": 1}, {"answer": 2}]
    assert asked == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "answers").write_text("a file")
    with pytest.raises(InputError, match=r"answers cannot be kept .*EQUIVIEW_CACHE"):
        Answers("model", tmp_path).asked(REQUESTS, counting([]))


def test_a_killed_process_asks_for_nothing_twice(tmp_path):
    log, out = tmp_path / "asked.log", tmp_path / "answers.txt"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(log), str(out)]
    for wanted in (5, 20):
        process = subprocess.Popen(command)
        while len(lines(log)) < wanted:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    asked = lines(log)
    # Only the request that was under way at each of the two kills may be asked again.
    assert len(asked) <= 42
    assert set(asked) == {f"q{number}" for number in range(40)}
    assert out.read_text() == repr([{"answer": f"Q{number}"} for number in range(40)])


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []
