"""The opening: per audit the question, the answer, the size of the effect against chance, who is worst off.

Made to be read in a minute. What is shown is picked by rule, never by hand: the audit's headline metrics, its
row with the fewest keys, the five languages or countries at the bad end of the first metric that has one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equiview.audits.base import AUDITS
from equiview.data.estimates import BASE
from equiview.data.run import Run, Verdict
from equiview.report.words import Term, interval, keyed, number, probability, spoken, term, tongues

FINDINGS = {"biased": ("▲", "biased"), "fair": ("✓", "fair"), "unclear": ("?", "not decided")}
WORST = 5
MORALS = {
    (True, True): "The top is uneven, and languages are served unequally.",
    (True, False): "The top is uneven though each language is served alike: scores differ between languages.",
    (False, True): "The top is even, and still some languages are served worse.",
    (False, False): "Even by both.",
}
"""What exposure (uneven or not) and accuracy (apart or not) say together."""


@dataclass(frozen=True)
class Answer:
    """One run's answer, and its effect on the audit's scale (places in percent of the scale's width)."""

    subject: str
    place: int
    verdict: Verdict
    sign: str
    word: str
    effect: dict[str, Any] | None
    worst: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Card:
    """What the opening says of one audit."""

    audit: str
    question: str
    metric: str
    meaning: Term | None
    answers: tuple[Answer, ...]
    ticks: tuple[tuple[float, str], ...]
    worst_title: str
    advice: tuple[tuple[str, tuple[str, ...]], ...]
    comparison: tuple[dict[str, Any], ...]


def cards(runs: Sequence[Run], comparison: pl.DataFrame | None) -> list[Card]:
    """One card an audit, in the order in which the runs hold them."""
    audits = list(dict.fromkeys(audit for run in runs for audit in run.manifest.audits))
    return [_card(audit, runs, comparison) for audit in audits]


@dataclass(frozen=True)
class Together:
    """What prevalence and accuracy say of one subject when read together."""

    subject: str
    sentence: str


def together(runs: Sequence[Run]) -> tuple[Together, ...]:
    """Exposure beside accuracy, for each run of prevalence: an even top can hide a language that fails.

    LBKL and DLBKL see only whose captions are shown. An aligned model in P's table has nearly none of either
    and yet finds captions of some languages far less often than those of others.
    """
    said = []
    for run in runs:
        table = run.estimates.table.filter(pl.col("audit") == "prevalence")
        even = headline("prevalence", table)
        if even is None or even["chance"] is None or "language" not in table.columns:
            continue
        by_language = table.filter((pl.col("metric") == "R@1") & pl.col("language").is_not_null())
        if not len(by_language):
            continue
        ordered = by_language.sort("value", "language")
        worst_off, best_off = ordered.row(0, named=True), ordered.row(-1, named=True)
        uneven, apart = even["low"] > even["chance"], worst_off["high"] < best_off["low"]
        shown = "above chance" if uneven else "not above chance"
        served = ", ".join(
            f"{tongues()[row['language']][0] if row['language'] in tongues() else row['language']} "
            f"{number(row['value'], True)}"
            for row in (worst_off, best_off)
        )
        said.append(
            Together(
                run.name,
                f"{even['spoken']} {number(even['value'])} is {shown}; R@1 within a language: {served}. "
                + MORALS[uneven, apart],
            )
        )
    return tuple(said)


def headline(audit: str, table: pl.DataFrame) -> dict[str, Any] | None:
    """The one estimate that sums an audit up: its first headline metric that the table has.

    An audit this page does not know is summed up by its first estimate with a chance floor and fewest keys.
    """
    known = AUDITS.all()
    keys = [name for name in table.columns if name not in BASE]
    for name in known[audit].value.headline if audit in known else ():
        metric, wanted = keyed(name)
        for row in table.filter(pl.col("metric") == metric).iter_rows(named=True):
            if {key: row[key] for key in keys if row[key] is not None} == wanted:
                return row | {"spoken": spoken(name)}
    rows = table.filter(pl.col("chance").is_not_null())
    if not len(rows):
        return None
    least = min(rows.iter_rows(named=True), key=lambda row: sum(row[key] is not None for key in keys))
    return least | {"spoken": least["metric"]}


def worst(table: pl.DataFrame, key: str, preferred: Sequence[str] = ()) -> tuple[str, list[dict[str, Any]]]:
    """The metric used, and its worst values over `key`, worst first; no rows where all are alike.

    The metric is the first of `preferred`, else of the table, whose good direction is known and which has a
    value for each of several values of `key`; the name is empty where there is none.
    """
    if key not in table.columns:
        return "", []
    keyed_rows = table.filter(pl.col(key).is_not_null())
    others = [name for name in table.columns if name not in BASE and name != key]
    present = keyed_rows["metric"].unique(maintain_order=True).to_list()
    for metric in (*(name for name in preferred if name in present), *present):
        rows = keyed_rows.filter(pl.col("metric") == metric)
        # Where a metric is there in several senses (directions, groupings), the first is meant.
        rows = rows.filter(*(pl.col(name).eq_missing(pl.lit(rows[name][0])) for name in others))
        meaning = term(metric)
        if meaning and meaning.better and rows[key].n_unique() == len(rows) > 1:
            if rows["value"].n_unique() == 1:
                return metric, []
            ordered = rows.sort("value", descending=meaning.better == "lower", maintain_order=True)
            return metric, list(ordered.head(WORST).iter_rows(named=True))
    return "", []


def compared(comparison: pl.DataFrame | None, audit: str) -> tuple[dict[str, Any], ...]:
    """Rows of the comparison as the page writes them."""
    if comparison is None or not len(comparison):
        return ()
    return tuple(_compared(row) for row in comparison.filter(pl.col("audit") == audit).iter_rows(named=True))


def _compared(row: dict[str, Any]) -> dict[str, Any]:
    meaning = term(row["metric"])
    percent = bool(meaning and meaning.percent)
    sure = row["p_holm"] is not None and row["p_holm"] < 0.05 and row["difference"] is not None
    better = None
    if sure and meaning and meaning.better and row["difference"]:
        better = row["b"] if (row["difference"] < 0) == (meaning.better == "lower") else row["a"]
    return {
        "metric": spoken(row["metric"]),
        "a": row["a"],
        "b": row["b"],
        "value_a": number(row["value_a"], percent),
        "value_b": number(row["value_b"], percent),
        "difference": ("+" if (row["difference"] or 0) > 0 else "") + number(row["difference"], percent),
        "interval": interval(row["low"], row["high"], percent),
        "p": probability(row["p_holm"]),
        "n": number(row["n"]),
        "sure": sure,
        "better": better,
    }


def _card(audit: str, runs: Sequence[Run], comparison: pl.DataFrame | None) -> Card:
    found = []
    for place, run in enumerate(runs):
        verdict = next((v for v in run.verdicts if v.audit == audit), None)
        if verdict is not None:
            table = run.estimates.table.filter(pl.col("audit") == audit)
            found.append((place, run, verdict, table, headline(audit, table)))
    known = AUDITS.all()
    preferred = [keyed(name)[0] for name in known[audit].value.headline] if audit in known else []
    effects = [row for *_, row in found if row is not None]
    metric = effects[0]["spoken"] if effects else ""
    meaning = term(metric)
    top = _scale([row for row in effects if row["spoken"] == metric])
    titles: list[str] = []
    answers = []
    for place, run, verdict, table, row in found:
        rows: list[dict[str, Any]] = []
        for key in ("language", "country"):
            of, bad = worst(table, key, preferred)
            if of:
                titles.append(f"{spoken(of)} by {key}")
                rows.append({"title": f"by {key}", "entries": [_worst_entry(entry, key) for entry in bad]})
        sign, word = FINDINGS.get(verdict.finding, ("?", verdict.finding))
        effect = _effect(row, top, meaning) if row is not None and row["spoken"] == metric else None
        answers.append(Answer(run.name, place, verdict, sign, word, effect, tuple(rows)))
    differences = compared(comparison, audit)
    return Card(
        audit=audit,
        question=answers[0].verdict.question if answers else "",
        metric=metric,
        meaning=meaning,
        answers=tuple(answers),
        ticks=_ticks(top, meaning),
        worst_title="; ".join(dict.fromkeys(titles)),
        advice=_advice(answers),
        comparison=tuple(row for row in differences if row["metric"] == metric) or differences[:3],
    )


def _scale(rows: Sequence[dict[str, Any]]) -> float:
    """A round number no value, interval or chance floor is beyond; the scale starts at 0."""
    ends = [row[name] or 0.0 for row in rows for name in ("value", "high", "chance")]
    top = max((end for end in ends if math.isfinite(end)), default=1.0)
    return next(
        (
            step * 10.0**power
            for power in range(-6, 9)
            for step in (1, 1.5, 2, 3, 4, 5, 6, 8)
            if step * 10.0**power >= top
        ),
        1.0,
    )


def _ticks(top: float, meaning: Term | None) -> tuple[tuple[float, str], ...]:
    percent = bool(meaning and meaning.percent)
    words = [f"{100 * top * f:.0f}%" if percent else f"{top * f:g}" for f in (0, 0.5, 1)]
    return tuple(zip((0.0, 50.0, 100.0), words, strict=True))


def _effect(row: dict[str, Any], top: float, meaning: Term | None) -> dict[str, Any]:
    percent = bool(meaning and meaning.percent)

    def at(value: float | None) -> float | None:
        return None if value is None else round(100 * min(max(value / top, 0.0), 1.0), 2)

    return {
        "value": number(row["value"], percent),
        "interval": interval(row["low"], row["high"], percent),
        "chance": None if row["chance"] is None else number(row["chance"], percent),
        "n": number(row["n"]),
        "at": at(row["value"]),
        "low": at(row["low"]),
        "width": round((at(row["high"]) or 0.0) - (at(row["low"]) or 0.0), 2),
        "chance_at": at(row["chance"]),
    }


def _worst_entry(row: dict[str, Any], key: str) -> dict[str, Any]:
    meaning = term(row["metric"])
    percent = bool(meaning and meaning.percent)
    name, _, tier = (
        tongues().get(row[key], (row[key], "", None)) if key == "language" else (row[key], "", None)
    )
    return {
        "name": name,
        "tier": tier,
        "value": number(row["value"], percent),
        "interval": interval(row["low"], row["high"], percent),
    }


def _advice(answers: Sequence[Answer]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each piece of advice once, with the runs it is for (none named when it is for all)."""
    given: dict[str, list[str]] = {}
    for answer in answers:
        for advice in answer.verdict.advice:
            given.setdefault(advice, []).append(answer.subject)
    return tuple(
        (advice, () if len(names) == len(answers) else tuple(names)) for advice, names in given.items()
    )
