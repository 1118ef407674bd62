"""Memory that was freed is given back to the system."""

import os
import platform
import subprocess
import sys

import pytest

CHILD = """
import numpy as np
from equiview.search.room import give_back

def resident():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1e3

parts = [np.ones(2**17) for _ in range(100)]  # 1 MiB each
last = np.ones(2**17)
before = resident()
del parts  # what stands behind them in the heap keeps them there
print(before - resident(), flush=True)
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep what they keep")
def test_what_was_freed_before_the_end_of_the_heap_is_given_back():
    in_one_heap = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(2**25)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, env=in_one_heap
    )
    kept, given = map(float, done.stdout.split())
    assert kept < 10
    assert given > 90
