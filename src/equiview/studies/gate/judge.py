"""Judge runs by conditions: what is shown to hold, what is not, and what the numbers do not decide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from equiview.audits import installed
from equiview.data.comparison import BASE as PAIRED
from equiview.data.comparison import quantity_of
from equiview.data.estimates import Estimate
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.data.verdict import Verdict
from equiview.errors import InputError, unknown_name
from equiview.stats import holm
from equiview.studies.compare import paired
from equiview.studies.gate.grammar import ANY, CHANGES, EFFECT, WORSE, Condition, Wanted, parse, parse_rows

Rule = Literal["fail if", "require"]
Outcome = Literal["pass", "fail", "unclear"]
Unclear = Literal["fail", "pass"]
Holds: TypeAlias = bool | None
SURE = 0.05
CHECKED = {
    **dict.fromkeys(("rule", "condition", "system", "audit", "about", "field", "finding"), pl.String),
    **dict.fromkeys(("compared", "value", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "outcome": pl.String,
    "why": pl.String,
}
"""Columns of `Gate.table`: a row for each condition, run and row of the run's numbers that it is about."""


@dataclass(frozen=True)
class Row:
    """What one condition found of one row of numbers, or of one verdict.

    `holds` is None where the numbers do not decide; `why` then says so. `value` is the estimate, or of a
    paired condition the difference to the baseline, and `low` to `high` its 95% interval; `compared` is what
    of it was compared. An effect is `in_tolerances`.
    """

    audit: str
    about: Quantity | None
    holds: Holds
    finding: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    why: str = ""
    compared: float | None = None
    is_change: bool = False
    in_tolerances: bool = False


@dataclass(frozen=True)
class Checked:
    """One condition on one run: every row it is about."""

    rule: Rule
    condition: Condition
    run: Run
    rows: tuple[Row, ...]

    def outcome_of(self, row: Row) -> Outcome:
        """What a row means for the gate, before `unclear` counts as passed or failed."""
        if row.holds is None:
            return "unclear"
        return "fail" if row.holds == (self.rule == "fail if") else "pass"


@dataclass(frozen=True)
class Gate:
    """The result of all conditions on all runs; what is unclear counts as `unclear` says."""

    checked: tuple[Checked, ...]
    unclear: Unclear = "fail"

    @property
    def passed(self) -> bool:
        """Whether every condition lets every run pass."""
        return not any(self.fails(entry) for entry in self.checked)

    def fails(self, entry: Checked) -> bool:
        """Whether one condition stops one run."""
        return bool(self.failing(entry))

    def failing(self, entry: Checked) -> list[Row]:
        """The rows by which one condition stops one run."""
        bad = {"fail", "unclear"} if self.unclear == "fail" else {"fail"}
        return [row for row in entry.rows if entry.outcome_of(row) in bad]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each condition, run and row of numbers, with the columns of `CHECKED`."""
        rows = [
            (
                *(entry.rule, entry.condition.text, entry.run.name, row.audit),
                *(row.about.label() if row.about else "verdict", entry.condition.field, row.finding),
                *(row.compared, row.value, row.low, row.high, row.n, entry.outcome_of(row), row.why),
            )
            for entry in self.checked
            for row in entry.rows
        ]
        return pl.DataFrame(rows, schema=CHECKED, orient="row")


def check(
    runs: Sequence[Run],
    *,
    fail_if: Iterable[str] = (),
    require: Iterable[str] = (),
    baseline: Run | None = None,
    unclear: Unclear = "fail",
) -> Gate:
    """Judge runs by conditions (`equiview.studies.gate.grammar`): what must not hold, and what must.

    What the numbers do not decide fails, or passes with `unclear="pass"`: a verdict that is unclear (unless
    the condition names that), an interval that n is too small for. A run whose items are those of `baseline`
    is compared with it in pairs by query. InputError, never a pass, for a condition that cannot be read or
    that is about no row, an audit that the run lacks or that could not be measured, and no condition at all.
    """
    if unclear not in get_args(Unclear):
        raise unknown_name("way to take what is unclear", unclear, get_args(Unclear))
    rules: list[tuple[Rule, Condition]] = [("fail if", parse(text)) for text in fail_if]
    rules += [("require", parse(text)) for text in require]
    if not rules:
        raise InputError("a gate needs at least one condition, such as --fail-if 'AUDIT=biased'")
    for _, condition in rules:
        if condition.is_paired and baseline is None:
            part = "field" if condition.rows else "condition"
            raise condition.wrong(part, "is about a difference; name the run to compare with as baseline")
    checked = []
    for run in runs:
        changes = _changes(run, baseline) if baseline and any(one.is_paired for _, one in rules) else None
        for rule, condition in rules:
            rows = list(_rows(condition, run, changes))
            checked.append(Checked(rule, condition, run, tuple(rows)))
    return Gate(tuple(checked), unclear)


def _rows(condition: Condition, run: Run, changes: pl.DataFrame | None) -> Iterable[Row]:
    if condition.audit:
        _check_audit(condition, run)
    if changes is not None and condition.is_paired:
        return _paired_rows(condition, run, changes)
    if condition.finding:
        return [_verdict_row(condition, run)]
    return _number_rows(condition, run)


def _check_audit(condition: Condition, run: Run) -> None:
    """InputError unless the run holds the audit's numbers."""
    if condition.audit not in run.manifest.audits:
        raise condition.unknown("audit", condition.audit, run.manifest.audits, f"audit of {run.folder}")
    for failure in run.failures:
        if failure.audit == condition.audit:
            raise condition.wrong(
                "audit", f"{run.folder}: {condition.audit} could not be measured ({failure.message})"
            )


def _verdict(run: Run, audit: str) -> Verdict:
    return next(verdict for verdict in run.verdicts if verdict.audit == audit)


def _verdict_row(condition: Condition, run: Run) -> Row:
    found = _verdict(run, condition.audit).finding
    if found == "unclear" and condition.finding != "unclear":
        return Row(condition.audit, None, None, found, why="the verdict is unclear")
    same = found == condition.finding
    return Row(condition.audit, None, same == (condition.test != "!="), found)


def _number_rows(condition: Condition, run: Run) -> Iterator[Row]:
    wanted = condition.rows or Wanted("")
    estimates = run.estimates.of(condition.audit)
    metrics = list(dict.fromkeys(estimates.table["metric"]))
    if wanted.metric == EFFECT and EFFECT not in metrics:
        yield _effect_row(condition, run)
        return
    for row in _matching(condition, list(estimates), metrics):
        yield _compared(condition, row)


def _matching(condition: Condition, rows: Sequence[Estimate], metrics: Sequence[str]) -> list[Estimate]:
    """The rows that are meant; InputError names the first part of the condition that no row has."""
    wanted = condition.rows or Wanted("")
    quantities = [row.quantity for row in rows]
    places = places_of(condition, wanted, quantities, metrics)
    return [rows[place] for place in places]


def rows_of(run: Run, text: str, audit: str = "") -> pl.DataFrame:
    """The rows of a run's numbers that `METRIC@K[KEY=VALUE]` means, of one audit or of all that have it.

    InputError where no row is meant.
    """
    condition = parse_rows(text)
    wanted = condition.rows or Wanted("")
    estimates = run.estimates.of(audit) if audit else run.estimates
    metrics = list(dict.fromkeys(estimates.table["metric"]))
    meant = replace(condition, audit=audit or run.name)
    return estimates.table[places_of(meant, wanted, [row.quantity for row in estimates], metrics)]


def places_of(
    condition: Condition, wanted: Wanted, rows: Sequence[Quantity], metrics: Sequence[str]
) -> list[int]:
    """The places of the rows that are meant; InputError, with what is nearest, where there is none."""
    left = [place for place, row in enumerate(rows) if row.metric == wanted.metric]
    if not left:
        what = "headline, by which runs are compared," if condition.is_paired else "metric"
        raise condition.unknown("metric", wanted.metric, metrics, f"{what} of {condition.audit}")
    if wanted.k is not None:
        measured = {rows[place].k for place in left}
        cutoffs = [str(k) for k in sorted(k for k in measured if k is not None)]
        left = [place for place in left if rows[place].k == wanted.k]
        if not left:
            known = f"it is measured at {', '.join(cutoffs)}" if cutoffs else "it has no cutoff"
            raise condition.wrong("cutoff", f"{wanted.metric!r} is not measured at {wanted.k}; {known}")
    for key, value in wanted.keys:
        known_keys = sorted({name for place in left for name in rows[place].keys})
        if key not in known_keys and value:
            raise condition.unknown(f"key {key}", key, known_keys, f"key of {wanted.metric!r}")
        values = {rows[place].keys[key] for place in left if key in rows[place].keys}
        meant = [place for place in left if _is_meant(rows[place].keys.get(key), value)]
        if not meant and value:
            raise condition.unknown(f"value of {key}", value, values, f"{key} of {wanted.metric!r}")
        if not meant:
            raise condition.wrong(f"key {key}", f"every row of {wanted.metric!r} is by {key}")
        left = meant
    return left


def _is_meant(found: str | None, value: str) -> bool:
    """Whether a row's value of a key (None: it is not by that key) is the one that is asked for."""
    return found is None if not value else found is not None and value in (found, ANY)


def _compared(condition: Condition, row: Estimate) -> Row:
    """A row of the estimates beside the condition's number."""
    number = getattr(row, condition.field)
    known = number is not None and not math.isnan(number)
    low, high = (row.low, row.high) if row.has_interval else (None, None)
    why = "" if known else f"no {condition.field}: {_absent(condition.field)}"
    return Row(
        condition.audit,
        row.quantity,
        condition.holds(float(number)) if known else None,
        value=None if math.isnan(row.value) else row.value,
        low=low,
        high=high,
        n=row.n,
        why=why,
        compared=float(number) if known else None,
    )


def _absent(field: str) -> str:
    """Why an estimate may have no such field."""
    if field in {"low", "high"}:
        return "n is too small for an interval"
    return {"value": "it is not defined"}.get(field, "it is not measured for this row")


def in_tolerances(run: Run, verdict: Verdict) -> tuple[Estimate, dict[str, float | None]] | None:
    """The estimate that a verdict is shown by, and its distance from its floor in units of its tolerance.

    That is `value`, `low` and `high`, the ends None where n is too small for an interval. None for a verdict
    that rests on no single effect.
    """
    effect = verdict.effect
    row = run.estimates.of(verdict.audit).at(effect.quantity) if effect else None
    if effect is None or row is None:
        return None
    row = (row.of_many() if effect.among > 1 else row).above_chance()
    ends: dict[str, float | None] = {"value": abs(row.value) / effect.tolerance, "low": None, "high": None}
    if row.has_interval:
        far = max(abs(row.low), abs(row.high))
        near = 0.0 if row.low <= 0 <= row.high else min(abs(row.low), abs(row.high))
        ends |= {"low": near / effect.tolerance, "high": far / effect.tolerance}
    return row, ends


def _effect_row(condition: Condition, run: Run) -> Row:
    """The effect of the verdict, as its distance from its floor in units of its tolerance."""
    wanted = condition.rows or Wanted("")
    if wanted.k is not None or wanted.keys:
        raise condition.wrong("metric", "the effect of a verdict has neither a cutoff nor keys")
    if condition.field not in {"value", "low", "high"}:
        raise condition.unknown("field", condition.field, ("value", "low", "high"), "field of an effect")
    found = in_tolerances(run, _verdict(run, condition.audit))
    if found is None:
        return Row(condition.audit, None, None, why="the verdict rests on no single effect")
    row, ends = found
    number = ends[condition.field]
    known = number is not None and not math.isnan(number)
    return Row(
        condition.audit,
        row.quantity,
        condition.holds(number) if known and number is not None else None,
        value=ends["value"],
        low=ends["low"],
        high=ends["high"],
        n=row.n,
        why="" if known else f"no {condition.field}: n is too small for an interval",
        compared=number if known else None,
        in_tolerances=True,
    )


def _changes(run: Run, baseline: Run) -> pl.DataFrame:
    """The paired differences of a run to its baseline, which may be of the same subject."""
    if run.folder.resolve() == baseline.folder.resolve():
        raise InputError(f"{run.folder}: is the baseline itself; name an earlier run")
    return paired([replace(baseline, label="baseline"), replace(run, label="run")], None)


def _paired_rows(condition: Condition, run: Run, changes: pl.DataFrame) -> Iterator[Row]:
    """Rows of the comparison that a condition is about; of `worse` with p corrected over all of them."""
    rows = list(changes.iter_rows(named=True))
    if condition.audit:
        rows = [row for row in rows if row["audit"] == condition.audit]
        if not rows:
            raise condition.wrong("audit", f"{condition.audit} is not in both runs, over the same items")
    if condition.rows is not None:
        about = [quantity_of(row) for row in rows]
        headlines = list(dict.fromkeys(entry.metric for entry in about))
        rows = [rows[place] for place in places_of(condition, condition.rows, about, headlines)]
    if condition.field != WORSE:
        for row in rows:
            number = row[CHANGES[condition.field]]
            yield _difference_row(row, None if number is None else condition.holds(number), number)
        return
    sided = [(row, better) for row in rows if (better := _better(row)) is not None]
    if not sided:
        raise condition.wrong(
            "metric", "neither more nor less of it is better; use .change.low or .change.high with a number"
        )
    corrected = holm([row["p"] for row, _ in sided])
    for (row, better), p in zip(sided, corrected, strict=True):
        shift = row["difference"]
        bad = shift is not None and (shift > 0 if better == "lower" else shift < 0)
        yield _difference_row(row, None if shift is None else bad and bool(p < SURE), shift)


def _difference_row(row: Mapping[str, Any], holds: Holds, number: float | None) -> Row:
    return Row(
        row["audit"],
        quantity_of(row),
        holds,
        value=row["difference"],
        low=row["low"],
        high=row["high"],
        n=row["n"],
        why="" if holds is not None else "no such difference: both are infinite, or n is too small",
        compared=number,
        is_change=True,
    )


def _better(row: Mapping[str, Any]) -> str | None:
    known = installed(row["audit"])
    metric = known.metric(row["metric"]) if known else None
    return metric.better if metric else None


assert set(CHANGES.values()) <= set(PAIRED)
