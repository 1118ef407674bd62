"""`python -m labs.worker_kills`: workers and machines of a Ray cluster, killed mid-run, lose nothing.

Each kill is of a fresh run on a cluster on loopback, at a report of progress drawn from the seed among all
that an undisturbed run makes: the process of a worker, or every fourth time the raylet of a machine, by
SIGKILL. What the run leaves must be the same to the byte as one by this process alone, the store included.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from labs.kills import outcome
from tests.conftest import add_pictures, write_world
from tests.engine.loopback import Loopback, loopback

from equiview import api
from equiview.engine import Engine
from equiview.io.progress import Progress, silent
from equiview.search import sharded
from equiview.stats import bootstrap, matched

SPREAD = ("encoding images", "encoding texts", "ranking")
"""Reports of progress made while workers work."""


def audit(data: Path, out: Path, engine: str | Engine, progress: Progress = silent) -> dict[str, str]:
    """Checksums of what a run leaves, with a store of its own."""
    with mock.patch.dict(os.environ, EQUIVIEW_CACHE=f"{out}-cache"):
        api.audit(
            "tests.engine.encoders:Small:skewed", f"folder:{data}", ["prevalence"], out, engine=engine,
            settings={"prevalence": {"replicates": 200}}, progress=progress,
        )  # fmt: skip
    return outcome(out)


def kills(cluster: Loopback, data: Path, folder: Path, wanted: int, seed: int) -> None:
    """Kill until `wanted` were done; AssertionError names what differs after one."""
    expected = audit(data, folder / "here", "local")
    moments: list[tuple[str, int]] = []
    audit(data, folder / "whole", cluster.engine, lambda label, done, total: moments.append((label, done)))
    moments = [moment for moment in moments if moment[0] in SPREAD]
    dice = random.Random(seed)
    for number in range(wanted):
        moment, machine = dice.choice(moments), number % 4 == 3
        killed: list[bool] = []

        def progress(
            label: str,
            done: int,
            total: int,
            moment: tuple[str, int] = moment,
            machine: bool = machine,
            killed: list[bool] = killed,
        ) -> None:
            if label != moment[0] or done < moment[1] or killed:
                return
            if machine:
                cluster.kill_machine(dice)
            if machine or cluster.kill_worker(dice, cluster.engine):
                killed.append(True)

        left = audit(data, folder / str(number), cluster.engine, progress)
        assert killed, f"nothing was killed at {moment}"
        differs = sorted(file for file in left | expected if left.get(file) != expected.get(file))
        assert not differs, f"killed at {moment}: {differs[:5]} differ"
        print(
            f"{number + 1:3} {'machine' if machine else 'worker':8} at {moment[0]} {moment[1]}: alike",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and kill."""
    parser = argparse.ArgumentParser(prog="python -m labs.worker_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place, loopback(machines=2, cores=1) as cluster:
        folder = Path(place)
        add_pictures(write_world(folder / "world", images=40))
        with ExitStack() as stack:
            for part in (bootstrap, matched, sharded):  # of small data too
                stack.enter_context(mock.patch.object(part, "SHARED_FROM", 0))
            kills(cluster, folder / "world", folder, options.kills, options.seed)


if __name__ == "__main__":
    main()
