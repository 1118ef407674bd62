"""A search stays within a limit that the scores of all pairs do not fit in."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")

CHILD = """
import resource, sys
import numpy as np
from threadpoolctl import threadpool_limits
from equiview.errors import InputError
from equiview.search import Targets, ranked_within, top_k

threadpool_limits(2, user_api="blas")
rng = np.random.default_rng(0)
queries, gallery = (rng.standard_normal((n, 64), dtype=np.float32) for n in (1500, 50_000))
targets = Targets(np.arange(1500), np.arange(1500), np.arange(50_000) % 36)
top_k(queries, gallery[:9000], 100)  # libraries, threads and their buffers are there
(held,) = [line for line in open("/proc/self/status") if line.startswith("VmSize")]
limit = int(held.split()[1]) * 1024 + 100 * 10**6
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    queries @ gallery.T  # 300 MB
except MemoryError:
    pass
else:
    sys.exit("the limit does not bind")
top_k(queries, gallery, 100)
ranked_within(queries, gallery, 100, targets)
print("within")
"""


def test_a_search_stays_within_its_bound():
    one_arena = os.environ | {"MALLOC_ARENA_MAX": "1"}  # a thread's arena reserves 64 MB of addresses
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=False, env=one_arena
    )
    assert (done.stdout, done.returncode) == ("within\n", 0), done.stderr
