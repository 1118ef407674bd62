"""The embedding store under real processes: killed at any moment, and two at once."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from equiview.search.cached import Cached
from equiview.search.store import Store
from tests.search.test_store import Counting, many

COUNT, KILLS = 400, 12
SCRIPT = """
import sys, time
from pathlib import Path
from equiview.search.cached import Cached
from equiview.search.store import Store
from tests.search.test_store import Counting, many

class Slow(Counting):
    def encode_texts(self, texts):
        time.sleep(float(sys.argv[3]))
        return super().encode_texts(texts)

def told(*_):
    print("batch", flush=True)

encoder = Slow()
vectors = Cached(encoder, Store(Path(sys.argv[1]))).embed(many(int(sys.argv[2])), told)
print(encoder.encoded, float(vectors.sum()))
"""


def start(root, seconds):
    command = [sys.executable, "-c", SCRIPT, str(root), str(COUNT), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_again_and_again_nothing_stored_is_lost_or_damaged(tmp_path):
    moments = random.Random(0)
    stored = [0]
    for _ in range(KILLS):
        process = start(tmp_path, 0.01)
        for _ in range(moments.randint(0, 8)):
            process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.03))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        if Store(tmp_path).folders():
            assert len(Store(tmp_path).verify()) == 0
            stored.append(int(Store(tmp_path).contents()["items"].sum()))
    assert stored == sorted(stored)
    assert len(set(stored)) > 2
    assert stored[-1] > 0
    encoder = Counting()
    vectors = Cached(encoder, Store(tmp_path)).embed(many(COUNT))
    assert encoder.encoded == COUNT - stored[-1]
    np.testing.assert_array_equal(vectors, Counting().embed(many(COUNT)))
    assert not list(tmp_path.rglob("*.journal"))


def test_two_runs_at_once_both_have_it_right(tmp_path):
    processes = [start(tmp_path, 0.002) for _ in range(2)]
    ends = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    expected = Counting().embed(many(COUNT))
    assert [float(end[-1]) for end in ends] == [float(expected.sum())] * 2
    assert len(Store(tmp_path).verify()) == 0
    encoder = Counting()
    began = time.monotonic()
    np.testing.assert_array_equal(Cached(encoder, Store(tmp_path)).embed(many(COUNT)), expected)
    assert encoder.encoded == 0
    assert time.monotonic() - began < 30
