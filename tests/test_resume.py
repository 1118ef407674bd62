"""A real process killed at random moments, again and again, ends with the bytes of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from equiview.data.tables import checksum
from tests.conftest import write_world

KILLS = 20


def command(world, out):
    script = (
        "import sys; from pathlib import Path; from equiview import api;"
        "api.audit(sys.argv[1], sys.argv[2], ['prevalence'], Path(sys.argv[3]), name='subject')"
    )
    return [sys.executable, "-c", script, f"embeddings:{world}", f"folder:{world}", str(out)]


def outcome(folder: Path) -> dict[str, str]:
    """Checksums of all that a run leaves, clock times aside; hidden leftovers would count as well."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "timings.json")
    return {path.relative_to(folder).as_posix(): checksum(path) for path in files}


def test_killed_at_random_moments_a_run_ends_byte_identical(tmp_path):
    world = write_world(tmp_path / "world", images=400, width=16)
    began = time.monotonic()
    subprocess.run(command(world, tmp_path / "whole"), check=True)
    whole = time.monotonic() - began
    expected = outcome(tmp_path / "whole")

    moments = random.Random(0)
    killed = 0
    for attempt in range(400):
        # Each round is a fresh run, killed at least once before it is let through.
        out = tmp_path / f"killed-{attempt}"
        for _ in range(2):
            process = subprocess.Popen(command(world, out), stderr=subprocess.DEVNULL)
            timer = threading.Timer(moments.uniform(0.3, 1.0) * whole, os.kill, (process.pid, signal.SIGKILL))
            timer.start()
            process.wait()
            timer.cancel()
            killed += process.returncode == -signal.SIGKILL
        subprocess.run(command(world, out), check=True)
        assert outcome(out) == expected
        if killed >= KILLS:
            break
    assert killed >= KILLS
