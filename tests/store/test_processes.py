"""The store of vectors under real processes: killed at any moment, and several at once."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from equiview.store import Store, stored
from tests.store.counting import Counting, many

COUNT, KILLS = 400, 8
SCRIPT = """
import sys, time
from pathlib import Path
from equiview.store import Store, stored
from tests.store.counting import Counting, many

class Slow(Counting):
    def encode_texts(self, texts):
        time.sleep(float(sys.argv[3]))
        return super().encode_texts(texts)

def told(*_):
    print("batch", flush=True)

encoder = Slow()
vectors = stored(encoder, Store(Path(sys.argv[1]))).embed(many(int(sys.argv[2])), told)
print(encoder.encoded, float(vectors.sum()))
"""


def start(root, seconds):
    command = [sys.executable, "-c", SCRIPT, str(root), str(COUNT), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_again_and_again_nothing_stored_is_lost_or_damaged(tmp_path):
    moments = random.Random(0)
    counts = [0]
    for _ in range(KILLS):
        process = start(tmp_path, 0.01)
        for _ in range(moments.randint(0, 8)):
            process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.03))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        if Store(tmp_path).folders():
            assert len(Store(tmp_path).verify()) == 0
            counts.append(int(Store(tmp_path).contents()["items"].sum()))
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    assert counts[-1] > 0
    encoder = Counting()
    vectors = stored(encoder, Store(tmp_path)).embed(many(COUNT))
    assert encoder.encoded == COUNT - counts[-1]
    np.testing.assert_array_equal(vectors, Counting().embed(many(COUNT)))


def test_two_runs_at_once_both_have_it_right(tmp_path):
    processes = [start(tmp_path, 0.002) for _ in range(2)]
    ends = [process.communicate(timeout=600)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    expected = Counting().embed(many(COUNT))
    assert [float(end[-1]) for end in ends] == [float(expected.sum())] * 2
    assert len(Store(tmp_path).verify()) == 0
    encoder = Counting()
    began = time.monotonic()
    np.testing.assert_array_equal(stored(encoder, Store(tmp_path)).embed(many(COUNT)), expected)
    assert encoder.encoded == 0
    assert time.monotonic() - began < 300


WRITING = """
import sys
from pathlib import Path
import numpy as np
from equiview.store import Store

shelf = Store(Path(sys.argv[1])).shelf("x")
for number in range(int(sys.argv[2]), 1_000_000_000):
    shelf.add([number.to_bytes(16, "big")], np.full((1, 4), number, dtype=np.float32))
    print(f"{number:>200}", flush=True)  # the pipe holds twenty of these: so far it runs ahead of the reader
"""


def test_what_was_stored_is_found_at_once_while_others_write_and_are_killed(tmp_path):
    moments = random.Random(0)
    starts = iter(range(1, 10_000_000, 100_000))  # all of them are whole numbers in float32

    def begin():
        command = [sys.executable, "-c", WRITING, str(tmp_path), str(next(starts))]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pipesize=4096)

    def read(process):
        return [int(process.stdout.readline()) for _ in range(moments.randint(1, 12))]

    written = []
    processes = [begin(), begin()]
    for _ in range(KILLS):
        for process in processes:
            written += read(process)
        keys = [number.to_bytes(16, "big") for number in written]
        assert Store(tmp_path).shelf("x").get(keys)[:, 0].tolist() == written
        victim = processes.pop(0)
        written += read(victim)  # so that it goes on writing and is killed amid it
        time.sleep(moments.uniform(0.0, 0.01))
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()
        processes.append(begin())
    for process in processes:
        process.kill()
        process.communicate()
    assert len(Store(tmp_path).verify()) == 0
    keys = [number.to_bytes(16, "big") for number in written]
    assert Store(tmp_path).shelf("x").get(keys)[:, 0].tolist() == written
