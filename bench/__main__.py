"""Measure speed and memory, beside peers where there are any.

    python -m bench                         all of it, medium shapes; writes bench/results.json and the page
    python -m bench --size full top-k       the shape of Crossmodal-3600, one benchmark
    python -m bench --small --out FOLDER    tiny shapes, in seconds: that it runs, not how fast
    python -m bench --cuda                  what an accelerator does, where there is one
    python -m bench --write-docs            docs/performance.md and its figure from bench/results.json again

Each benchmark is a process of its own, in which the ways to the result take turns. Peers are installed by
`pip install equiview[bench]`; those that are missing are named. Settings that choose other kernels for the
library of products (`OPENBLAS_CORETYPE`, `OPENBLAS_L2_SIZE`) are taken out of those processes' environment,
and an accelerator is seen only where it is measured.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.contest import held, machine
from bench.page import write_page

RESULTS = Path(__file__).parent / "results.json"
SIZES = ("small", "medium", "full")
CONTESTS = {
    "top-k": "search:exact",
    "ranks": "search:ranked",
    "approximate": "approximate:contest",
    "on disk": "disk:contest",
    "maxsim": "search:late",
    "maxsim lists": "search:late_lists",
    "metrics": "numbers:metrics",
    "bootstrap": "numbers:bootstrap",
    "silhouettes": "numbers:silhouettes",
    "pictures": "encode:pictures_contest",
    "texts": "encode:texts_contest",
}
"""Ways that take turns; each makes its `Contest` of a size."""
COSTS = {
    "prevalence": "prevalence_path:parts",
    "removal": "removal:costs",
    "growth of search": "search:growth",
    "growth of numbers": "numbers:growth",
    "growth of comparisons": "comparing:growth",
}
"""What is measured alone."""
ON_CUDA = {
    "search on CUDA": "accelerator:search",
    "maxsim on CUDA": "accelerator:maxsim",
    "pictures on CUDA": "accelerator:pictures",
}
"""Contests where an accelerator takes part, which are measured where there is one and they are asked for."""
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def main() -> None:
    """Measure what was asked for, each in its own process, and write what was found."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    usual, names = [*CONTESTS, *COSTS], [*CONTESTS, *COSTS, *ON_CUDA]
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all but the last three: {', '.join(names)}"
    )
    parser.add_argument("--cuda", action="store_const", const=list(ON_CUDA), default=[], help="those three")
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--small", action="store_const", const="small", dest="size", help="as --size small")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each way that count")
    parser.add_argument("--out", type=Path, help="folder for results.json, performance.md and the figure")
    parser.add_argument("--write-docs", action="store_true", help="measure nothing")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options.alone, options.size, options.rounds)))
        return
    if wrong := [name for name in options.names if name not in names]:
        parser.error(f"no benchmark is called {wrong[0]!r}; there are {', '.join(names)}")
    results = (options.out or RESULTS.parent) / "results.json"
    found: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    asked = options.names + options.cuda or usual
    for name in [] if options.write_docs else asked:
        words = ["--alone", name, "--size", options.size, "--rounds", str(options.rounds)]
        run = [sys.executable, "-m", "bench", *words]
        alone = {} if name in ON_CUDA else {"CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(run, env=environment | alone, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} was not measured")
        found[name] = json.loads(done.stdout.splitlines()[-1])
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(json.dumps({key: found[key] for key in names if key in found}, indent=1) + "\n")
        print(summary(name, found[name]), flush=True)
    write_page(found, options.out)
    if wrong := [name for name, what in found.items() if not agrees(what)]:
        raise SystemExit(f"results do not agree: {', '.join(wrong)}")


def measured(name: str, size: str, rounds: int) -> dict[str, Any]:
    """One benchmark, in this process."""
    module, _, function = {**CONTESTS, **COSTS, **ON_CUDA}[name].partition(":")
    make = getattr(importlib.import_module(f"bench.{module}"), function)
    if name in COSTS:
        return {"size": size, "machine": machine(), "found": make(size)}
    with make(size) as contest:
        return {"size": size, "machine": machine(), "found": held(contest, rounds)}


def agrees(what: dict[str, Any]) -> bool:
    """Whether all results of a contest are as near to ours as they must be."""
    rows = what["found"].get("rows", []) if isinstance(what["found"], dict) else []
    return all(row["agrees"] for row in rows)


def summary(name: str, what: dict[str, Any]) -> str:
    """What was found, for whoever waits."""
    found = what["found"]
    if not isinstance(found, dict) or "rows" not in found:
        return f"{name}\n  {json.dumps(found)}"
    lines = [f"{name}: {found['work']}"]
    for row in found["rows"]:
        apart = "" if row["apart"] is None else f", {row['apart']:.1g} apart"
        lines.append(
            f"  {row['name']:36} {row['seconds']:8.3f} s {row['processor']:8.3f} s of processor time "
            f"{row['ratio']:8.2f} x {row['extra_mb']} MB{apart}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
