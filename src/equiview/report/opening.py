"""The opening: per audit the question, the answer, the size of the effect against chance, who is worst off.

Made to be read in a minute. What is shown is picked by rule, never by hand: the first of the audit's
headlines that was measured, and the five at the bad end of each list that the audit names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equiview.audits import installed, label_of
from equiview.data.comparison import quantity_of
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import Metric, Quantity
from equiview.data.run import Run
from equiview.report.words import interval, language, metric_of, number, probability

FINDINGS = {"biased": ("▲", "biased"), "fair": ("✓", "fair"), "unclear": ("?", "not decided")}
WORST = 5
SURE = 0.05


@dataclass(frozen=True)
class Answer:
    """One run's answer, and its effect on the audit's scale (places in percent of the scale's width).

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
class Card:
    """What the opening says of one audit."""

    audit: str
    question: str
    metric: str
    meaning: Metric | None
    chance: bool
    answers: tuple[Answer, ...]
    ticks: tuple[tuple[float, str], ...]
    worst_title: str
    advice: tuple[tuple[str, tuple[str, ...]], ...]
    comparison: tuple[dict[str, Any], ...]


def cards(runs: Sequence[Run], comparison: pl.DataFrame | None) -> list[Card]:
    """One card an audit, in the order in which the runs hold them."""
    audits = dict.fromkeys(audit for run in runs for audit in run.manifest.audits)
    return [
        _card(audit, [run for run in runs if audit in run.manifest.audits], comparison) for audit in audits
    ]


def readings(runs: Sequence[Run]) -> dict[str, list[tuple[str, str]]]:
    """What numbers say together: by title, (subject, sentence) of each run that says it."""
    by_title: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for reading in (reading for verdict in run.verdicts for reading in verdict.readings):
            by_title.setdefault(reading.title, []).append((run.name, reading.sentence))
    return by_title


def headline(audit: str, estimates: Estimates) -> Estimate | None:
    """The one estimate that sums an audit up: its first headline that was measured.

    Without one, as when the audit is not installed, the first estimate with a chance floor and fewest keys.
    """
    known = installed(audit)
    measured = (estimates.at(entry.quantity) for entry in (known.headlines if known else ()))
    with_floor = sorted(
        (row for row in estimates if row.chance is not None), key=lambda row: len(row.quantity.keys)
    )
    return next((row for row in (*measured, *with_floor) if row is not None), None)


def worst(audit: str, estimates: Estimates) -> list[tuple[str, Quantity, list[Estimate]]]:
    """For each key by which the audit lists who is worst off: (key, quantity, its worst rows, worst first).

    The quantity is the first for that key with several values; rows with too few to judge by do not count.
    There are no rows where all are alike, and no list where neither end of the metric is the bad one.
    """
    known = installed(audit)
    lists: dict[str, tuple[str, Quantity, list[Estimate]]] = {}
    for key, wanted in known.worst_by if known else ():
        better = metric_of(audit, wanted.metric).better
        measured = estimates.by(key, wanted.metric, wanted.k, **wanted.keys)
        rows = [row for row in measured if row.judged is not False]
        if key in lists or better is None or len(rows) < 2:
            continue
        alike = len({row.value for row in rows}) == 1
        ordered = sorted(rows, key=lambda row: row.value, reverse=better == "lower")
        lists[key] = (key, wanted, [] if alike else ordered[:WORST])
    return list(lists.values())


def compared(comparison: pl.DataFrame | None, audit: str) -> list[tuple[Quantity, dict[str, Any]]]:
    """Rows of the comparison by what they are about, as the page writes them."""
    if comparison is None or not len(comparison):
        return []
    rows = []
    for row in comparison.filter(pl.col("audit") == audit).iter_rows(named=True):
        about = quantity_of(row)
        rows.append((about, _compared(audit, about, row)))
    return rows


def _compared(audit: str, about: Quantity, row: dict[str, Any]) -> dict[str, Any]:
    metric = metric_of(audit, about.metric)
    percent, difference = metric.percent, row["difference"]
    sure = row["p_holm"] is not None and row["p_holm"] < SURE and difference is not None
    better = None
    if sure and metric.better and difference:
        better = row["b"] if (difference < 0) == (metric.better == "lower") else row["a"]
    return {
        "metric": label_of(audit, about),
        "a": row["a"],
        "b": row["b"],
        "value_a": number(row["value_a"], percent),
        "value_b": number(row["value_b"], percent),
        "difference": ("+" if (difference or 0) > 0 else "") + number(difference, percent),
        "interval": "" if difference is None else interval(row["low"], row["high"], percent),
        "p": probability(row["p_holm"]),
        "n": number(row["n"]),
        "sure": sure,
        "better": better,
    }


def _card(audit: str, runs: Sequence[Run], comparison: pl.DataFrame | None) -> Card:
    tables = [run.estimates.of(audit) for run in runs]
    headlines = [headline(audit, table) for table in tables]
    about = next((row.quantity for row in headlines if row is not None), None)
    effects = [row if row is not None and row.quantity == about else None for row in headlines]
    metric = metric_of(audit, about.metric) if about else None
    ends = _scale([row for row in effects if row is not None])
    bad_ends = [worst(audit, table) for table in tables]
    answers = [
        _answer(
            run,
            audit,
            effect=_effect(row, ends, metric.percent) if row is not None and metric is not None else None,
            worst=tuple(_worst_list(audit, *entries) for entries in lists),
        )
        for run, row, lists in zip(runs, effects, bad_ends, strict=True)
    ]
    titles = [f"{label_of(audit, wanted)} by {key}" for lists in bad_ends for key, wanted, _ in lists]
    known = installed(audit)
    questions = [verdict.question for run in runs for verdict in run.verdicts if verdict.audit == audit]
    differences = compared(comparison, audit)
    of_headline = tuple(row for quantity_, row in differences if quantity_ == about)
    return Card(
        audit=audit,
        question=next(iter(questions), known.question if known else audit),
        metric=label_of(audit, about) if about else "",
        meaning=metric,
        chance=any(row is not None and row.chance is not None for row in effects),
        answers=tuple(answer for answer in answers if answer is not None),
        ticks=_ticks(ends, metric.percent if metric else False),
        worst_title="; ".join(dict.fromkeys(titles)),
        advice=_advice([answer for answer in answers if answer is not None]),
        comparison=of_headline or tuple(row for _, row in differences[:3]),
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
            sign, word = FINDINGS[verdict.finding]
            return Answer(
                run.name,
                verdict.finding,
                sign,
                word,
                verdict.answer,
                verdict.evidence,
                verdict.advice,
                verdict.limits,
                effect=effect,
                worst=worst,
            )
    return None


def _scale(rows: Sequence[Estimate]) -> tuple[float, float]:
    """The ends of a scale that holds every value, interval and chance floor, 0 included; both are round."""
    places = [place or 0.0 for row in rows for place in (row.value, row.low, row.high, row.chance)]
    places = [place for place in places if not math.isnan(place)]  # no interval
    sizes = [abs(place) for place in places if math.isfinite(place)]
    rounds = (step * 10.0**power for power in range(-6, 9) for step in (1, 1.5, 2, 3, 4, 5, 6, 8))
    top = next((end for end in rounds if end >= max(sizes, default=1.0)), 1.0)
    return (-top if min(places, default=0.0) < 0 else 0.0), top


def _ticks(ends: tuple[float, float], percent: bool) -> tuple[tuple[float, str], ...]:
    low, high = ends
    values = (low, (low + high) / 2, high)
    words = [f"{100 * value:.0f}%" if percent else f"{value:g}" for value in values]
    return tuple(zip((0.0, 50.0, 100.0), (word.replace("-", "−") for word in words), strict=True))


def _effect(row: Estimate, ends: tuple[float, float], percent: bool) -> dict[str, Any]:
    low, high = ends
    left, right = (row.low, row.high) if row.has_interval else (row.value, row.value)

    def at(value: float) -> float:
        return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)

    return {
        "value": number(row.value, percent),
        "interval": interval(row.low, row.high, percent),
        "chance": None if row.chance is None else number(row.chance, percent),
        "n": number(row.n),
        "at": at(row.value),
        "low": at(left),
        "width": round(at(right) - at(left), 2),
        "chance_at": None if row.chance is None else at(row.chance),
    }


def _worst_list(audit: str, key: str, wanted: Quantity, rows: Sequence[Estimate]) -> dict[str, Any]:
    percent = metric_of(audit, wanted.metric).percent
    entries = []
    for row in rows:
        value = row.quantity.keys[key]
        entries.append(
            {
                "name": language(value).name if key == "language" else value,
                "tier": language(value).tier if key == "language" else None,
                "value": number(row.value, percent),
                "interval": interval(row.low, row.high, percent),
            }
        )
    return {"title": f"by {key}", "entries": entries}


def _advice(answers: Sequence[Answer]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each piece of advice once, with the runs it is for (none named when it is for all)."""
    subjects: dict[str, list[str]] = {}
    for answer in answers:
        for advice in answer.advice:
            subjects.setdefault(advice, []).append(answer.subject)
    return tuple(
        (advice, () if len(names) == len(answers) else tuple(names)) for advice, names in subjects.items()
    )
