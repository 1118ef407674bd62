"""Contests: several ways to the same result, which take turns on the same data in one process."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from equiview.extras import cuda_in_use, versions_of

OURS = "equiview"
STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Way:
    """One way to the result. `result` makes what is compared of what `call` returns."""

    name: str
    call: Callable[[], Any]
    result: Callable[[Any], Any] | None = None
    """None for a limit, which has no result: the product alone, a bare loop."""


@dataclass(frozen=True)
class Contest:
    """Ways that take turns; the first is what the others are measured by."""

    work: str
    ways: list[Way]
    apart: Callable[[Any, Any], float]
    """How far a way's result is from ours."""
    tolerance: float
    """How far it may be."""
    unit: str = "largest difference"
    missing: list[str] = field(default_factory=list)
    """Libraries that would take part, but cannot be imported."""
    by_clock: bool = False
    """Ratios of seconds by the clock: of work that an accelerator does, the processor's time says nothing."""

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *error: object) -> None:
        return


def as_it_is(result: Any) -> Any:
    """The result of a way whose call returns it."""
    return result


def largest_difference(left: Any, right: Any) -> float:
    """Of two arrays of numbers."""
    return float(np.abs(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)).max())


def held(contest: Contest, rounds: int) -> dict[str, Any]:
    """Let the ways take turns, the order reversed every other round, after one that does not count.

    For each: seconds by the clock and of the processor, the median of the rounds' ratios to the first way
    (of processor time, or by the clock), the most memory beyond what was in use, and how far the result is
    from ours.
    """
    clock: dict[str, list[float]] = {way.name: [] for way in contest.ways}
    busy: dict[str, list[float]] = {way.name: [] for way in contest.ways}
    memory: dict[str, float | None] = {}
    results: dict[str, Any] = {}
    for turn in range(rounds + 1):
        for way in contest.ways[:: -1 if turn % 2 else 1]:
            gc.collect()
            before = _resident(reset=True)
            began, worked = time.perf_counter(), time.process_time()
            returned = way.call()
            taken, used = time.perf_counter() - began, time.process_time() - worked
            if turn:
                clock[way.name].append(taken)
                busy[way.name].append(used)
            else:
                after = _resident()
                memory[way.name] = None if before is None or after is None else max(0.0, after - before)
                if way.result is not None:
                    results[way.name] = way.result(returned)
            del returned
    first, ours = contest.ways[0].name, results.get(OURS)
    rows = []
    for way in contest.ways:
        taken_by = clock if contest.by_clock else busy
        pairs = list(zip(taken_by[way.name], taken_by[first], strict=True))
        apart = None if way.result is None else float(contest.apart(results[way.name], ours))
        rows.append(
            {
                "name": way.name,
                "seconds": round(statistics.median(clock[way.name]), 4),
                "processor": round(statistics.median(busy[way.name]), 4),
                "ratio": round(statistics.median(mine / max(own, 1e-9) for mine, own in pairs), 3),
                "extra_mb": None if memory[way.name] is None else round(memory[way.name] or 0.0, 1),
                "apart": apart,
                "agrees": apart is None or apart <= contest.tolerance,
            }
        )
    return {
        "work": contest.work,
        "rounds": rounds,
        "unit": contest.unit,
        "tolerance": contest.tolerance,
        "missing": contest.missing,
        "by_clock": contest.by_clock,
        "rows": rows,
    }


def cost_of(call: Callable[[], Any], times: int = 3) -> tuple[float, float | None]:
    """Seconds of the processor that a call takes, the least of some, and the memory that the first one takes.

    That is the most held beyond what was before, in MB; later calls find it at hand.
    """
    gc.collect()
    before = _resident(reset=True)
    seconds, after = [], None
    for turn in range(times + 1):
        worked = time.process_time()
        call()
        seconds.append(time.process_time() - worked)
        after = _resident() if not turn else after
    memory = None if before is None or after is None else round(max(0.0, after - before), 1)
    return round(min(seconds[1:]), 4), memory


def machine() -> dict[str, Any]:
    """What was measured on; the accelerator where torch is imported and has one."""
    names = ("numpy", "scipy", "polars", "torch", "faiss-cpu", "scikit-learn", "pytrec-eval-terrier", "ranx",
             "sentence-transformers", "mteb", "colpali-engine", "numba", "transformers")  # fmt: skip
    return {
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "kernel": _kernel(),
        "load": round(os.getloadavg()[0], 1),
        "python": sys.version.split()[0],
        "versions": versions_of(*names),
    } | ({"accelerator": sys.modules["torch"].cuda.get_device_name()} if cuda_in_use() else {})


def _kernel() -> str:
    """The processor whose kernels NumPy's library of products has chosen."""
    from threadpoolctl import threadpool_info

    path = str(Path(np.__file__).parent)
    found = [
        library
        for library in threadpool_info()
        if library["user_api"] == "blas" and library["filepath"].startswith(path.rsplit("/", 1)[0] + "/numpy")
    ]
    return str(found[0].get("architecture", "unknown")) if found else "unknown"


def _resident(*, reset: bool = False) -> float | None:
    """The most memory this process has held, in MB; with `reset` what it holds now, from which to count."""
    if not STATUS.exists():
        return None
    if reset:
        REFS.write_text("5")
    wanted = "VmRSS:" if reset else "VmHWM:"
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith(wanted)]
    return int(line.split()[1]) / 1e3
