"""What the opening shows of all systems at once: who is biased in what, and which languages it hits.

Rows are systems, worst first; columns are audits. Below it each system has a strip of languages, from the
most to the least written on the web.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from equiview.audits import label_of
from equiview.data.estimates import Estimate
from equiview.data.languages import web_shares
from equiview.data.metric import Metric, Quantity
from equiview.data.run import Run
from equiview.report.opening import FINDINGS, Answer, Card, Worst, worst
from equiview.report.words import interval, language, metric_of, number, signed

STEPS = 3
"""Steps of colour on either side of a strip's reference."""
DOUBLINGS = 2.0
"""A ratio that many doublings from its reference has the last colour."""
NAMED = 3
"""Groups that a strip names as worst off."""


@dataclass(frozen=True)
class Row:
    """A system, and its answer to the question of each card; None where it was not asked."""

    subject: str
    answers: tuple[Answer | None, ...]


@dataclass(frozen=True)
class Cell:
    """A language on a strip.

    `step` is from -3, better off, to 3, worse off; None where it was not measured, or over too few.
    """

    code: str
    name: str
    value: str
    step: int | None
    worse: bool


@dataclass(frozen=True)
class Strip:
    """A quantity by language for each system that has it; `rows` are (system, cells, who is worst off)."""

    audit: str
    about: Quantity
    title: str
    meaning: Metric
    reference: str
    rows: tuple[tuple[str, tuple[Cell, ...], str], ...]


def board(cards: Sequence[Card]) -> list[Row]:
    """The systems of all cards, worst first: by how many audits find a bias, then by the largest effect."""
    names = dict.fromkeys(answer.subject for card in cards for answer in card.answers)
    rows = [
        Row(
            name,
            tuple(next((each for each in card.answers if each.subject == name), None) for card in cards),
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: _badness([answer for answer in row.answers if answer]), reverse=True)


def summary(card: Card) -> str:
    """One system's answer, or how many of several are found to be what, and the one that is most biased."""
    return card.answers[0].text if len(card.answers) == 1 else counted(card)


def counted(card: Card) -> str:
    """How many systems are found to be what, and the one that is most biased."""
    counts = Counter(answer.word for answer in card.answers)
    words = [word for word in (*(word for _, word in FINDINGS.values()), "not measured") if counts[word]]
    said = [f"{counts[word]} {word}" for word in words]
    said[0] = f"{counts[words[0]]} of {len(card.answers)} {words[0]}"
    biased = [answer for answer in card.answers if answer.finding == "biased"]
    most = max(biased, key=lambda answer: (answer.effect or {}).get("multiple") or 0.0, default=None)
    if most is not None:
        times = (most.effect or {}).get("times")
        said[0] += f", most {most.subject}" if len(biased) > 1 else f": {most.subject}"
        said[0] += f" ({times})" if times else ""
    return "; ".join(said)


def strip(runs: Sequence[Run], cards: Sequence[Card]) -> Strip | None:
    """The first quantity by which an audit of these lists who is worst off by language, for every system.

    Systems are in the order of the board. None where no audit has one.
    """
    order = {row.subject: place for place, row in enumerate(board(cards))}
    runs = sorted(runs, key=lambda run: order.get(run.name, len(order)))
    for card in cards:
        lists = {
            run.name: worst(card.audit, run.estimates.of(card.audit))
            for run in runs
            if card.audit in run.manifest.audits
        }
        found = {name: bad for name, of_run in lists.items() for bad in of_run if bad.key == "language"}
        if found:
            first = next(iter(found.values())).about
            return _strip(card.audit, {name: bad for name, bad in found.items() if bad.about == first})
    return None


def _strip(audit: str, found: dict[str, Worst]) -> Strip:
    about = next(iter(found.values())).about
    metric = metric_of(audit, about.metric)
    values = {name: {row.quantity.keys["language"]: row for row in bad.all} for name, bad in found.items()}
    harms = {
        name: {code: _harm(row, metric, found[name]) for code, row in of_run.items()}
        for name, of_run in values.items()
    }
    largest = max((abs(harm) for of_run in harms.values() for harm in of_run.values()), default=0.0)
    limit = DOUBLINGS if metric.unit == "ratio" else largest
    codes = _by_share({code for of_run in values.values() for code in of_run})
    rows = []
    for name, of_run in values.items():
        shown = {row.quantity.keys["language"] for row in found[name].shown_rows}
        cells = tuple(
            Cell(
                code,
                language(code).name,
                f"{_written(of_run[code], metric)} {_ends(of_run[code], metric)}"
                if code in of_run
                else "not measured, or over too few",
                _step(harms[name][code], limit) if code in of_run else None,
                code in shown,
            )
            for code in codes
        )
        rows.append((name, cells, _named(found[name], metric)))
    references = {number(bad.reference, metric.unit) for bad in found.values()}
    reference = references.pop() if len(references) == 1 else ""
    return Strip(audit, about, label_of(audit, about), metric, reference, tuple(rows))


def _step(harm: float, limit: float) -> int:
    """The step of colour of a distance from the reference, of which `limit` has the last."""
    return round(STEPS * max(-1.0, min(1.0, harm / limit))) if limit else 0


def _harm(row: Estimate, metric: Metric, bad: Worst) -> float:
    """How far a value lies on the bad side of its reference; doublings of a ratio."""
    sign = 1.0 if metric.better == "lower" else -1.0
    if metric.unit == "ratio":
        return sign * math.log2(row.value / bad.reference) if row.value > 0 else sign * -math.inf
    return sign * (row.value - bad.reference)


def _named(bad: Worst, metric: Metric) -> str:
    """Who is shown to be worse off, the worst by name."""
    if not bad.shown:
        return f"none of {bad.of} shown to be worse off"
    names = [
        f"{language(row.quantity.keys['language']).name} {_written(row, metric)}" for row in bad.rows[:NAMED]
    ]
    more = bad.shown - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _written(row: Estimate, metric: Metric) -> str:
    return signed(row.value, metric.unit) if metric.unit == "points" else number(row.value, metric.unit)


def _ends(row: Estimate, metric: Metric) -> str:
    return interval(row.low, row.high, metric.unit)


def _by_share(codes: set[str]) -> list[str]:
    """Languages from the most to the least written on the web, then the others by code."""
    order = {code: place for place, code in enumerate(web_shares()["code"])}
    return sorted(codes, key=lambda code: (order.get(code, len(order)), code))


def _badness(answers: Sequence[Answer]) -> tuple[int, float, int]:
    biased = [answer for answer in answers if answer.finding == "biased"]
    largest = max((times for each in biased if (times := (each.effect or {}).get("multiple"))), default=0.0)
    return len(biased), largest, sum(answer.finding != "fair" for answer in answers)
