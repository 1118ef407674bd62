"""The opening: per audit the question, the answer, the size of the effect against chance, who is worst off.

It takes a minute to read. Rules choose what is shown: the effect that each verdict rests on beside its
tolerance, and of each list that the audit names at most five that are shown to be worse off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from equiview.audits import installed, label_of
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import Better, Metric, Quantity
from equiview.data.run import Run
from equiview.report.effects import at_once, plotted, scale
from equiview.report.words import interval, language, metric_of, number, signed

FINDINGS = {"biased": ("▲", "biased"), "fair": ("✓", "fair"), "unclear": ("?", "unclear")}
WORST = 5


@dataclass(frozen=True)
class Answer:
    """One run's answer, and its effect on the card's scale (places in percent of the scale's width).

    `finding` is that of the verdict, or "failed" for an audit that could not be measured; `text` then says
    why.
    """

    subject: str
    finding: str
    sign: str
    word: str
    text: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    trace: str = ""
    effect: dict[str, Any] | None = None
    worst: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Worst:
    """Who is shown to be worse off than `reference`: the key that tells them apart, and the quantity.

    `all` are the rows of all of them, with intervals that hold at once; `shown_rows` those shown to be worse
    off, worst first.
    """

    key: str
    about: Quantity
    reference: float
    all: tuple[Estimate, ...]
    shown_rows: tuple[Estimate, ...]

    @property
    def rows(self) -> tuple[Estimate, ...]:
        """The worst of those shown to be."""
        return self.shown_rows[:WORST]

    @property
    def shown(self) -> int:
        """How many are shown to be."""
        return len(self.shown_rows)

    @property
    def of(self) -> int:
        """How many there are."""
        return len(self.all)


@dataclass(frozen=True)
class Card:
    """One audit in the opening."""

    audit: str
    question: str
    metric: str
    meaning: Metric | None
    chance: bool
    tolerance: bool
    largest: bool
    at_once: bool
    answers: tuple[Answer, ...]
    ticks: tuple[tuple[float, str], ...]
    advice: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def worst_title(self) -> str:
        """What its lists of who is worst off are of."""
        titles = [f"{group['of_what']} {group['title']}" for each in self.answers for group in each.worst]
        return "; ".join(dict.fromkeys(titles))

    def without(self, shown: Quantity, key: str) -> Card:
        """The card without the lists of a quantity by a key, at whatever cutoff, that stand elsewhere."""
        about = replace(shown, k=None)
        answers = (
            replace(
                answer,
                worst=tuple(
                    group
                    for group in answer.worst
                    if (replace(group["about"], k=None), group["key"]) != (about, key)
                ),
            )
            for answer in self.answers
        )
        return replace(self, answers=tuple(answers))


def cards(runs: Sequence[Run]) -> list[Card]:
    """One card an audit, in the order in which the runs hold them."""
    audits = dict.fromkeys(audit for run in runs for audit in run.manifest.audits)
    return [_card(audit, [run for run in runs if audit in run.manifest.audits]) for audit in audits]


def readings(runs: Sequence[Run]) -> dict[str, list[tuple[str, str]]]:
    """Readings of several numbers together: by title, (subject, sentence) for each run that has it."""
    by_title: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for reading in (reading for verdict in run.verdicts for reading in verdict.readings):
            by_title.setdefault(reading.title, []).append((run.name, reading.sentence))
    return by_title


def worst(audit: str, estimates: Estimates, k: int | None = None) -> list[Worst]:
    """For each key by which the audit lists who is worst off, those shown to be, worst first.

    The quantity is the first for that key with several values, at the cutoff `k` of the verdict where it was
    measured there; rows with too few to judge by do not count. Listed is whose interval, of those that hold
    for all of them at once, lies wholly on the bad side of the reference: the floor of effects, which are
    tested, or 0; of levels the chance floor where less is better, else the mean of all. There is no list
    where neither end of the metric is the bad one.
    """
    known = installed(audit)
    lists: dict[str, Worst] = {}
    for key, named in known.worst_by if known else ():
        better = metric_of(audit, named.metric).better
        at_verdict = replace(named, k=k if named.k else None)
        wanted = at_verdict if _by(estimates, key, at_verdict) else named
        measured = _by(estimates, key, wanted)
        rows = [row for row in measured if row.judged is not False and math.isfinite(row.value)]
        if key in lists or better is None or len(rows) < 2:
            continue
        rows = [at_once(row, len(rows)) for row in rows]
        mean = math.fsum(row.value for row in rows) / len(rows)
        bad = [row for row in rows if _is_worse(row, better, mean)]
        bad.sort(key=lambda row: row.value, reverse=better == "lower")
        lists[key] = Worst(key, wanted, _reference(rows[0], better, mean), tuple(rows), tuple(bad))
    return list(lists.values())


def _by(estimates: Estimates, key: str, wanted: Quantity) -> list[Estimate]:
    """The rows of a quantity by a key, or by it and who it is compared with."""
    keys: tuple[str | tuple[str, ...], ...] = (key, (key, "other"))
    parts = (estimates.by(by, wanted.metric, wanted.k, **wanted.keys) for by in keys)
    return next((list(part) for part in parts if len(part)), [])


def _reference(row: Estimate, better: Better, mean: float) -> float:
    """Where nobody is worse off: the floor of an effect, or of a level chance or the mean of all."""
    level = mean if better == "higher" or row.chance is None else row.chance
    return level if row.p is None else row.chance or 0.0


def _is_worse(row: Estimate, better: Better, mean: float) -> bool:
    """Whether a row is shown to be on the worse side of its reference."""
    reference = _reference(row, better, mean)
    return row.low > reference if better == "lower" else row.high < reference


def _card(audit: str, runs: Sequence[Run]) -> Card:
    axis = scale(audit, plotted(runs, audit))
    bad_ends = [worst(audit, run.estimates.of(audit), _cutoff(run, audit)) for run in runs]
    given = (
        _answer(run, audit, effect=row, worst=tuple(_worst_list(audit, entries) for entries in lists))
        for run, row, lists in zip(runs, axis.rows, bad_ends, strict=True)
    )
    answers = [answer for answer in given if answer is not None]
    known = installed(audit)
    questions = [verdict.question for run in runs for verdict in run.verdicts if verdict.audit == audit]
    return Card(
        audit=audit,
        question=next(iter(questions), known.question if known else audit),
        metric=axis.label or "effect" if axis.about else "",
        meaning=axis.meaning,
        chance=any(row is not None and row["chance_at"] is not None for row in axis.rows),
        tolerance=any(row is not None and row["tolerance"] is not None for row in axis.rows),
        largest=any(row is not None and row["among"] > 1 for row in axis.rows),
        at_once=all(row is None or row["among"] < 2 or row["at_once"] for row in axis.rows),
        answers=tuple(answers),
        ticks=axis.ticks,
        advice=_advice(answers),
    )


def _answer(
    run: Run, audit: str, effect: dict[str, Any] | None, worst: tuple[dict[str, Any], ...]
) -> Answer | None:
    """The answer of one run; None when it has neither a verdict nor a failure."""
    for failure in run.failures:
        if failure.audit == audit:
            return Answer(run.name, "failed", "!", "not measured", failure.message, trace=failure.trace)
    for verdict in run.verdicts:
        if verdict.audit == audit:
            return Answer(
                run.name, verdict.finding, *FINDINGS[verdict.finding], verdict.answer,
                verdict.evidence, verdict.advice, verdict.limits, effect=effect, worst=worst,
            )  # fmt: skip
    return None


def _cutoff(run: Run, audit: str) -> int | None:
    """The cutoff that the verdict reads, None where it has none."""
    effects = (verdict.effect for verdict in run.verdicts if verdict.audit == audit)
    return next((effect.quantity.k for effect in effects if effect), None)


def _worst_list(audit: str, bad: Worst) -> dict[str, Any]:
    unit, key = metric_of(audit, bad.about.metric).unit, bad.key
    entries = []
    for row in bad.rows:
        value = row.quantity.keys[key]
        entries.append(
            {
                "name": language(value).name if key == "language" else value,
                "tier": language(value).tier if key == "language" else None,
                "value": signed(row.value, unit) if unit == "points" else number(row.value, unit),
                "interval": interval(row.low, row.high, unit),
            }
        )
    about = {"about": bad.about, "key": key, "of_what": label_of(audit, bad.about), "title": f"by {key}"}
    return about | {"entries": entries, "shown": bad.shown, "of": bad.of}


def _advice(answers: Sequence[Answer]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each piece of advice once, with the runs it is for (none named when it is for all)."""
    subjects: dict[str, list[str]] = {}
    for answer in answers:
        for advice in answer.advice:
            subjects.setdefault(advice, []).append(answer.subject)
    return tuple(
        (advice, () if len(names) == len(answers) else tuple(names)) for advice, names in subjects.items()
    )
