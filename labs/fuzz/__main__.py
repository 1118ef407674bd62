"""`python -m labs.fuzz --examples 2000`: each reader on so many damaged copies, up to the first defect."""

from __future__ import annotations

import argparse
import faulthandler
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from labs.fuzz.damage import damaged, resaved
from labs.fuzz.readers import READERS
from labs.fuzz.trial import Trial

from equiview.errors import unknown_name

HANGS = 300
GIGABYTES = 2.0
"""No copy, all of a few kilobytes, may need more memory than this."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and try what it names."""
    parser = argparse.ArgumentParser(prog="python -m labs.fuzz", description=__doc__)
    parser.add_argument("readers", nargs="*", help=f"of {', '.join(READERS)}; all by default")
    parser.add_argument("--examples", type=int, default=2000, help="damaged copies for each")
    parser.add_argument("--seed", type=int, default=0, help="of the damage")
    options = parser.parse_args(arguments)
    for name in options.readers or READERS:
        if name not in READERS:
            raise SystemExit(str(unknown_name("reader", name, READERS)))
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            counts = try_reader(Trial(READERS[name], Path(folder) / name), options.examples, options.seed)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        assert peak < GIGABYTES, f"{name}: {peak:.1f} GiB of memory"
        print(
            f"{name:22} {counts['read']:5} read, {counts['refused']:5} refused, {counts['resaved']:5} saved "
            f"otherwise and read alike, {time.monotonic() - began:4.0f} s",
            flush=True,
        )


def try_reader(trial: Trial, examples: int, start: int) -> Counter[str]:
    """How many damaged copies were read and refused, and how many were only saved in another way."""
    counts: Counter[str] = Counter()
    files = sorted(trial.files)
    common = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )

    @common
    @seed(start)
    @given(st.data())
    def damage(data: st.DataObject) -> None:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        name = data.draw(st.sampled_from(files))
        digest = trial.of({name: data.draw(damaged(name, trial.files[name]))})
        counts["refused" if digest is None else "read"] += 1

    @settings(common, max_examples=max(20, examples // 20))
    @seed(start)
    @given(st.data())
    def save(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(files))
        assert trial.of({name: data.draw(resaved(name, trial.files[name]))}) == trial.digest
        counts["resaved"] += 1

    damage()
    if not trial.reader.ours:
        save()
    faulthandler.cancel_dump_traceback_later()
    return counts


if __name__ == "__main__":
    main()
