"""The scale of a card: the effect that each run's finding rests on, beside what would still be fair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from equiview.audits import installed
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import Metric, Quantity
from equiview.data.run import Run
from equiview.report.words import interval, language, metric_of, number, signed
from equiview.stats import widened

LANGUAGES = ("language", "other")
"""Keys whose values are languages."""
NEAR = 14.0
"""Percent of the scale's width within which two words at its ticks would touch."""


@dataclass(frozen=True)
class Plotted:
    """An estimate on a card's scale, its tolerance around chance, and how many effects it is largest of."""

    estimate: Estimate
    tolerance: float | None = None
    among: int = 1

    @property
    def reference(self) -> float:
        """The value at which nobody is treated differently."""
        return self.estimate.chance or 0.0

    @property
    def times(self) -> float | None:
        """The size of the effect in tolerances."""
        distance = abs(self.estimate.value - self.reference)
        return distance / self.tolerance if self.tolerance else None


@dataclass(frozen=True)
class Scale:
    """A card's scale: what is on it, its round ends, and a row for each run (None where it has nothing)."""

    about: Quantity | None
    label: str
    meaning: Metric | None
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[dict[str, Any] | None, ...]


def at_once(row: Estimate, among: int) -> Estimate:
    """An estimate picked among several, with an interval that holds for all of them at once.

    The one measured with it, else its own one widened after Bonferroni.

    >>> from equiview.data.metric import quantity
    >>> print(f"{at_once(Estimate(quantity('gap'), 0.5, 0.4, 0.6, n=900), 10):.2f}")
    0.50 [0.36, 0.64]
    """
    if among < 2 or row.low_all is not None or not row.has_interval:
        return row.of_many()
    low, high = widened(row.value, row.low, row.high, 1 - 0.05 / among, row.n)
    return replace(row, low=low, high=high)


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


def plotted(runs: Sequence[Run], audit: str) -> list[Plotted | None]:
    """What the card plots of each run: the effect of its verdict, or the headline where none has one."""
    effects = [_of_verdict(run, audit) for run in runs]
    if any(effects):
        return effects
    headlines = [headline(audit, run.estimates.of(audit)) for run in runs]
    about = next((row.quantity for row in headlines if row is not None), None)
    return [Plotted(row) if row is not None and row.quantity == about else None for row in headlines]


def scale(audit: str, entries: Sequence[Plotted | None]) -> Scale:
    """The scale that holds every entry with its interval, its floor and its tolerance."""
    shown = [entry for entry in entries if entry is not None]
    if not shown:
        return Scale(None, "", None, (), tuple(None for _ in entries))
    about = _shared([entry.estimate.quantity for entry in shown])
    metric = metric_of(audit, shown[0].estimate.quantity.metric)
    ends = _ends(shown)
    return Scale(
        about,
        named(audit, about) if about.metric else "",
        metric if about.metric else None,
        _ticks(ends, metric.unit),
        tuple(_row(audit, entry, about, ends) if entry is not None else None for entry in entries),
    )


def named(audit: str, wanted: Quantity) -> str:
    """A quantity in words, languages by their names."""
    items = ((key, language(value).name if key in LANGUAGES else value) for key, value in wanted.items)
    known = installed(audit)
    formats = {"language": "{}"} | dict(known.key_formats if known else {})
    return replace(wanted, items=tuple(items)).label(formats).removeprefix(", ")


def _of_verdict(run: Run, audit: str) -> Plotted | None:
    effect = next((verdict.effect for verdict in run.verdicts if verdict.audit == audit), None)
    row = run.estimates.of(audit).at(effect.quantity) if effect else None
    if effect is None or row is None:
        return None
    # A verdict reads what it has measured at once; where it has not, the interval is that of the row alone.
    return Plotted(row.of_many() if effect.among > 1 else row, effect.tolerance, effect.among)


def _shared(quantities: Sequence[Quantity]) -> Quantity:
    """What all quantities have in common."""
    first = quantities[0]
    alike = all(wanted.metric == first.metric for wanted in quantities)
    same_k = all(wanted.k == first.k for wanted in quantities)
    items = tuple(item for item in first.items if all(item in wanted.items for wanted in quantities))
    return Quantity(first.metric if alike else "", first.k if same_k else None, items if alike else ())


def _ends(shown: Sequence[Plotted]) -> tuple[float, float]:
    places = [0.0]
    for entry in shown:
        row, limit = entry.estimate, entry.tolerance or 0.0
        places += [row.value, row.low, row.high, entry.reference - limit, entry.reference + limit]
    finite = [place for place in places if math.isfinite(place)]
    low, high = _round(-min(finite)), _round(max(finite))
    return (0.0 - low, high) if low or high else (0.0, 1.0)


def _round(size: float) -> float:
    """The next round number, 0 for none."""
    rounds = (step * 10.0**power for power in range(-6, 9) for step in (1, 1.5, 2, 3, 4, 5, 6, 8))
    return next((end for end in rounds if end >= size * (1 - 1e-9)), size) if size > 0 else 0.0


def _ticks(ends: tuple[float, float], unit: str) -> tuple[tuple[float, str], ...]:
    low, high = ends
    values = (low, 0.0, high) if low < 0 < high else (low, (low + high) / 2, high)
    zero = _at(0.0, ends)
    factor = 100 if unit in {"share", "points"} else 1
    words = [f"{factor * value:.3g}{'%' if unit == 'share' else ''}".replace("-", "−") for value in values]
    places = [(_at(value, ends), word) for value, word in zip(values, words, strict=True)]
    return tuple((at, word) for at, word in places if at == zero or abs(at - zero) >= NEAR)


def _at(value: float, ends: tuple[float, float]) -> float:
    """The place of a value in percent of the scale's width."""
    low, high = ends
    return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)


def _row(audit: str, entry: Plotted, about: Quantity, ends: tuple[float, float]) -> dict[str, Any]:
    row, tolerance = entry.estimate, entry.tolerance
    unit = metric_of(audit, row.quantity.metric).unit
    left, right = (row.low, row.high) if row.has_interval else (row.value, row.value)
    other_keys = tuple(item for item in row.quantity.items if item not in about.items)
    own = Quantity(
        "" if about.metric else row.quantity.metric, None if about.k else row.quantity.k, other_keys
    )
    fair_low, fair_high = (_at(entry.reference + side * (tolerance or 0.0), ends) for side in (-1, 1))
    most = f"largest of {entry.among}" if entry.among > 1 else ""
    return {
        "of": ", ".join(filter(None, [named(audit, own) if own != Quantity("") else "", most])),
        "value": signed(row.value, unit) if unit == "points" else number(row.value, unit),
        "interval": interval(row.low, row.high, unit),
        "chance": None if not row.chance else number(row.chance, unit),
        "tolerance": None if tolerance is None else number(tolerance, unit),
        "multiple": entry.times,
        "times": None if entry.times is None else f"{entry.times:.1f} × the tolerance",
        "n": number(row.n),
        "among": entry.among,
        "at_once": row.low_all is not None,
        "at": _at(row.value, ends),
        "low": _at(left, ends),
        "width": round(_at(right, ends) - _at(left, ends), 2),
        "chance_at": None if row.chance is None and tolerance is None else _at(entry.reference, ends),
        "fair_at": fair_low,
        "fair_width": round(fair_high - fair_low, 2),
    }
