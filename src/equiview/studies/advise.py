"""From what was found to what to do: methods worth trying on a system, in order, with what each was worth.

What a method was worth stands in `worth/*.csv`, which `python -m labs.mitigations` and the labs beside it
measure on the embedded encoders, on images that nothing was fitted on.
"""

from __future__ import annotations

import io
import math
import shlex
from functools import cache
from importlib.resources import files
from statistics import mean
from typing import Any

import polars as pl

from equiview.data.run import Run
from equiview.subjects.load import kind_of

HELPS = 0.1
"""Part of a bias that a method must have taken away on each encoder to be advised."""
KEEPS = 1 / 3
"""Part of a skill that such a method must have left on each of them."""
MOST = 4
"""Methods that are advised for an audit."""
ADVICE = pl.Schema(
    {
        "audit": pl.String, "finding": pl.String, "method": pl.String, "command": pl.String,
        "system": pl.String, "bias": pl.String, "bias_before": pl.Float64, "bias_after": pl.Float64,
        "skill": pl.String, "skill_before": pl.Float64, "skill_after": pl.Float64,
    }
)  # fmt: skip
SHOWN = [name for name in ADVICE if name not in {"audit", "finding", "command"}]


@cache
def worth() -> pl.DataFrame:
    """What each method was worth, a row for each embedded encoder that was biased.

    Columns: audit, method, command (with SUBJECT and BENCHMARK), needs (vectors or lists), system; bias, its
    value before and after and the value without bias (`even`); skill, before and after.
    """
    tables = sorted(files("equiview.studies").joinpath("worth").iterdir(), key=lambda path: path.name)
    numbers = ("even", "bias_before", "bias_after", "skill_before", "skill_after")
    types = dict.fromkeys(numbers, pl.Float64)
    return pl.concat([pl.read_csv(io.BytesIO(path.read_bytes()), schema_overrides=types) for path in tables])


def advise(run: Run) -> pl.DataFrame:
    """The methods worth trying against each bias that a run shows, the best first, in the layout `ADVICE`.

    A row for each method and encoder on which it was measured. Methods are in order of how much of the bias
    was left, those first beside which no other left less of it and cost less skill; those that took away less
    than `HELPS` of it on one of the encoders, or left less than `KEEPS` of its skill, are not among them. An
    audit that found a bias and has no such method has a row without one; audits that found none have no row.
    """
    rows: list[dict[str, Any]] = []
    for verdict in run.verdicts:
        if verdict.finding != "biased":
            continue
        about = {"audit": verdict.audit, "finding": verdict.finding}
        methods = ranked(_for(run, verdict.audit))
        rows += [
            about | {"command": _command(row["command"], run)} | {key: row[key] for key in SHOWN}
            for row in methods
        ] or [about]
    return pl.DataFrame(rows, schema=ADVICE, orient="row")


def ranked(known: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of `worth` of the methods that helped, the best first, at most `MOST` methods."""
    methods = []
    for (name,), rows in known.group_by("method", maintain_order=True):
        costs = [row["skill_before"] - row["skill_after"] for row in rows.iter_rows(named=True)]
        left = [_left(row) for row in rows.iter_rows(named=True)]
        if all(map(_helps, rows.iter_rows(named=True))):
            methods.append((name, mean(left), mean(costs), rows))

    def beaten(entry: tuple[Any, ...]) -> bool:
        return any(other[1] < entry[1] and other[2] < entry[2] for other in methods)

    best = sorted(methods, key=lambda entry: (beaten(entry), entry[1], entry[0]))[:MOST]
    return [row for *_, rows in best for row in rows.iter_rows(named=True)]


def useless(run: Run, audit: str) -> list[str]:
    """The methods that were measured against an audit's bias, and took away too little, or cost too much."""
    rows = _for(run, audit).iter_rows(named=True)
    return list(dict.fromkeys(row["method"] for row in rows if not _helps(row)))


def _helps(row: dict[str, Any]) -> bool:
    return _left(row) <= 1 - HELPS and row["skill_after"] >= KEEPS * row["skill_before"]


def _left(row: dict[str, Any]) -> float:
    """The part of a bias that is left; ratios are compared by their logarithm."""
    before, after, even = (float(row[name]) for name in ("bias_before", "bias_after", "even"))
    if even == 1:
        before, after, even = math.log(before), math.log(after), 0.0
    return abs(after - even) / abs(before - even)


def _for(run: Run, audit: str) -> pl.DataFrame:
    """What was measured against an audit's bias and can be done to this system."""
    known = worth().filter(audit=audit)
    if kind_of(run.manifest.subject.name) == "result lists":
        known = known.filter(needs="lists")
    return known


def _command(template: str, run: Run) -> str:
    """The method's command line for the run's system and benchmark."""
    subject, benchmark = (shlex.quote(card.name) for card in (run.manifest.subject, run.manifest.benchmark))
    return template.replace("SUBJECT", subject).replace("BENCHMARK", benchmark)
