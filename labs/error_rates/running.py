"""Run audits on their systems in parallel, keep every result, and count findings.

Each result is a line of `OUT/AUDIT.jsonl`, written whole as soon as it is known, so that a run that was
stopped goes on where it was. Counts are in `OUT/AUDIT.csv`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from labs.error_rates.harness import EFFECTS, PACKAGE, code_of, judged, systems_of
from scipy.stats import binomtest

from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.io.tables import write_bytes

OUTCOMES = ("biased", "fair", "unclear", "failed")
CASE = ("audit", "system", "effect", "size", "seed")
RESULT = {
    "audit": pl.String,
    "system": pl.String,
    "effect": pl.Float64,
    "size": pl.Int64,
    "seed": pl.Int64,
    "outcome": pl.String,
    "error": pl.String,
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True)
class Case:
    """One audit of one system: `effect` in multiples of the tolerance, None where nothing is planted."""

    audit: str
    system: str
    effect: float | None
    size: int
    seed: int


def rates(
    audits: Sequence[str],
    out: Path,
    *,
    seeds: int = 200,
    sizes: Sequence[int] = (100, 300, 1000),
    effects: Sequence[float] = EFFECTS,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    package: str = PACKAGE,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Judge every system of `audits` for seeds 0 to `seeds - 1`, as far as `out` does not have it yet.

    Returns a row for each audit, system, effect and size: `truth`, `seeds`, how many of them were judged
    biased, fair or unclear or failed (InputError, the first in `error`), and Wilson's 95% interval of the
    share that is biased and fair. Results of other code or settings are not counted.
    """
    chosen = dict(settings or {})
    codes = {audit: code_of(audit, chosen, package) for audit in audits}
    done = {audit: kept(path_of(out, audit), code) for audit, code in codes.items()}
    wanted = [
        Case(audit, name, effect, size, seed)
        for seed in range(seeds)  # outermost, so that a run that is stopped has as many of each
        for audit in audits
        for name, system in systems_of(audit, package).items()
        for size in sizes
        for effect in system.effects(effects)
    ]
    known = {tuple(row[key] for key in CASE) for rows in done.values() for row in rows}
    missing = [case for case in wanted if tuple(asdict(case).values()) not in known]
    progress("judging", 0, len(missing))
    for count, (case, outcome, error) in enumerate(outcomes(missing, chosen, jobs, package), start=1):
        row = asdict(case) | {"outcome": outcome, "error": error}
        append(path_of(out, case.audit), row | {"code": codes[case.audit]})
        done[case.audit].append(row)
        progress("judging", count, len(missing))
    tables = {audit: counted(rows, package) for audit, rows in done.items()}
    for audit, table in tables.items():
        write_bytes(table.write_csv(float_precision=4).encode(), out / f"{audit}.csv")
    return pl.concat(tables.values())


def outcomes(
    cases: Sequence[Case], settings: Mapping[str, Any], jobs: int, package: str
) -> Iterator[tuple[Case, str, str | None]]:
    """What is found in each case, as soon as it is known, and why one failed."""
    if jobs == 1:
        yield from ((case, *outcome(case, settings, package)) for case in cases)
        return
    with (
        one_thread_each(),
        ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        futures = {pool.submit(outcome, case, settings, package): case for case in cases}
        try:
            for future in as_completed(futures):
                yield futures[future], *future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def outcome(case: Case, settings: Mapping[str, Any], package: str) -> tuple[str, str | None]:
    """The finding in one case, or "failed" and why. Any other error is a defect, and says in which case."""
    system = systems_of(case.audit, package)[case.system]
    try:
        return judged(case.audit, system, case.seed, case.size, settings, effect=case.effect), None
    except InputError as error:
        return "failed", str(error)
    except Exception as error:
        error.add_note(f"in {case}")
        raise


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes started meanwhile compute with one thread each: there is one of them for each core."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def counted(rows: Sequence[Mapping[str, Any]], package: str = PACKAGE) -> pl.DataFrame:
    """Results as counts by audit, system, effect and size, in the order of the audit's systems."""
    table = pl.DataFrame(rows, schema=RESULT).unique(CASE, keep="last", maintain_order=True)
    keys = ["audit", "system", "effect", "size"]
    counts = table.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"),
        *((pl.col("outcome") == name).sum().alias(name) for name in OUTCOMES),
        pl.col("error").sort_by("seed").drop_nulls().first(),
    )
    ends = [
        (wilson(row["biased"], row["seeds"]), wilson(row["fair"], row["seeds"])) for row in counts.to_dicts()
    ]
    known = {audit: systems_of(audit, package) for audit in counts["audit"].unique()}
    named = list(zip(counts["audit"], counts["system"], strict=True))
    return counts.select(
        "audit",
        "system",
        pl.Series("truth", [known[audit][system].truth for audit, system in named], pl.String),
        *(name for name in counts.columns if name not in {"audit", "system", "error"}),
        pl.Series("biased_low", [biased[0] for biased, _ in ends], pl.Float64),
        pl.Series("biased_high", [biased[1] for biased, _ in ends], pl.Float64),
        pl.Series("fair_low", [fair[0] for _, fair in ends], pl.Float64),
        pl.Series("fair_high", [fair[1] for _, fair in ends], pl.Float64),
        "error",
        pl.Series("order", [list(known[audit]).index(system) for audit, system in named], pl.Int64),
    ).sort("audit", "order", "effect", "size").drop("order")  # fmt: skip


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    interval = binomtest(count, of).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def path_of(out: Path, audit: str) -> Path:
    """Where results of an audit are kept."""
    return out / f"{audit}.jsonl"


def kept(path: Path, code: str) -> list[dict[str, Any]]:
    """Results of `code` that are there; a line that was cut off is removed from the file."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        write_bytes(whole, path)
    rows = map(json.loads, whole.splitlines())
    return [{key: row[key] for key in RESULT} for row in rows if row["code"] == code]


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add one line to a file by one write, so that it is there whole or was the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def read_rates(out: Path) -> pl.DataFrame:
    """The counts of all audits that `out` has, as `rates` returns them."""
    types = RESULT | {"truth": pl.String}
    tables = [pl.read_csv(path, schema_overrides=types) for path in sorted(out.glob("*.csv"))]
    return pl.concat(tables or [counted([])])
