"""Work in parts by processes of this machine: what it gives, what it says, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from select import select

import pytest

from equiview.engine.processes import in_processes, tell
from equiview.errors import InputError

_added: list[int] = []


def add(number):
    _added.append(number)


def added(part):
    for done in range(1000):
        tell(f"adding {part}", done + 1, 1000)
    return part + _added[0], os.getpid()


def refused(part):
    if part == 1:
        raise InputError("one is refused")
    return part


def killed(part):
    os.kill(os.getpid(), signal.SIGKILL)


def test_each_part_is_done_once_by_other_processes_that_say_how_far_they_are():
    said = []
    done = list(
        in_processes(added, range(3), 2, start=add, shared=(10,), progress=lambda *words: said.append(words))
    )
    assert sorted(number for number, _ in done) == [10, 11, 12]
    assert os.getpid() not in {process for _, process in done}
    for part in range(3):  # the first and the last step, and not all between
        done = [done for label, done, _ in said if label == f"adding {part}"]
        assert (done[0], done[-1]) == (1, 1000)
        assert done == sorted(done)
        assert len(done) < 900
    assert list(in_processes(added, (), 2)) == []


def test_an_error_and_a_killed_process_are_said():
    with pytest.raises(InputError, match=r"^one is refused$"):
        list(in_processes(refused, [1], 1))
    with pytest.raises(InputError, match=r"^a process was killed while it worked"):
        list(in_processes(killed, [1], 1))


BUSY = """
import os, signal
from equiview.engine.processes import in_processes
def busy(part):
    print(os.getpid(), flush=True)
    signal.pause()
if __name__ == "__main__":
    list(in_processes(busy, [1], 1))
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs to wait for a process not its own")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_process_ends_when_the_one_that_began_it_does(tmp_path, sent):
    (tmp_path / "busy.py").write_text(BUSY)
    command = [sys.executable, "busy.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(sent)
        assert select([worker], [], [], 60)[0]  # it has ended
        os.close(worker)
