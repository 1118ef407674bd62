"""`python -m labs.error_rates` measures how often verdicts are wrong; `--write-docs` shows it in the docs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from labs.error_rates import front
from labs.error_rates.harness import EFFECTS, PACKAGE, systems_of
from labs.error_rates.page import write_docs
from labs.error_rates.power import write_power
from labs.error_rates.running import rates, read_rates

from equiview.audits import AUDITS
from equiview.errors import InputError

OUT = Path(__file__).parents[1] / "results" / "error_rates"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do what it says."""
    options = parser().parse_args(arguments)
    if options.write_docs:
        counts = read_rates(options.out)
        write_power(counts)
        write_docs(counts)
        front.README.write_text(front.written(front.README.read_text("utf-8"), counts), "utf-8")
        return
    audits = options.audits.split(",") if options.audits else list(AUDITS.all())
    for audit in audits:
        systems_of(audit, options.package)  # says which has none, before anything is run
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        "{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )
    with bar:
        task = bar.add_task(", ".join(audits), total=None)
        table = rates(
            audits,
            options.out,
            seeds=options.seeds,
            sizes=[int(size) for size in options.sizes.split(",")],
            effects=[float(effect) for effect in options.effects.split(",")],
            settings={"replicates": options.replicates},
            jobs=options.jobs,
            package=options.package,
            progress=lambda _, done, total: bar.update(task, completed=done, total=total),
        )
    columns = ("audit", "system", "effect", "size", "seeds", "biased", "fair", "unclear", "failed")
    print(table.select(columns).write_csv(separator="\t"), end="")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m labs.error_rates", description=__doc__)
    parser.add_argument("--audits", default="", help="names with commas between; all when not said")
    parser.add_argument("--seeds", type=int, default=200, help="how many of each system")
    parser.add_argument("--sizes", default="100,300,1000", help="numbers of queries with commas between")
    parser.add_argument(
        "--effects",
        default=",".join(f"{effect:g}" for effect in EFFECTS),
        help="planted effects in multiples of the tolerance, with commas between",
    )
    parser.add_argument("--replicates", type=int, default=500, help="bootstrap and permutation replicates")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of results; what it has is kept")
    parser.add_argument("--package", default=PACKAGE, help="Python package with the systems of audits")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the docs, power.csv and the README from --out"
    )
    return parser


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error_rates: {error}")
