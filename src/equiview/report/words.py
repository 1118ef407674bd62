"""Words and numbers as a person reads them: what a metric means, how a value is written.

What a number is about comes with its audit. Of an audit that is not installed the numbers are still shown,
under their plain names and without meanings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from equiview.audits import installed
from equiview.audits.saying import listed
from equiview.data.countries import countries
from equiview.data.estimates import TOO_SMALL
from equiview.data.languages import known_languages, languages
from equiview.data.metric import Metric


class Language(NamedTuple):
    """A language as the page shows it: `direction` is ltr, rtl or auto, `tier` None where there is none."""

    name: str
    direction: str = "auto"
    tier: str | None = None


@cache
def shown_languages() -> dict[str, Language]:
    """The languages whose names are known, by code."""
    known = {
        row["language"]: Language(row["language_name"])
        for row in countries().unique("language", maintain_order=True).iter_rows(named=True)
    }
    directions = dict(languages().select("code", "direction").iter_rows())
    for row in known_languages().iter_rows(named=True):
        known[row["code"]] = Language(row["name"], directions.get(row["code"], "auto"), row["tier"])
    return known


def language(code: str) -> Language:
    """The language of a code; one that is not known is called by its code."""
    return shown_languages().get(code, Language(code))


def metric_of(audit: str, name: str) -> Metric:
    """A metric of an audit; without a meaning when it is not known.

    >>> metric_of("not installed", "R").unit
    ''
    """
    known = installed(audit)
    return (known.metric(name) if known else None) or Metric(name, "")


def counted(counts: Mapping[str, int]) -> str:
    """How many of each thing, as part of a sentence.

    >>> counted({"images": 1280, "texts": 46000, "trials": 1100, "questions": 0})
    '1,280 images, 46,000 texts and 1,100 trials'
    """
    return listed(f"{number(n)} {name.replace('_', ' ')}" for name, n in counts.items() if n)


def number(value: object, unit: str = "") -> str:
    """A value in three significant digits; the same rule on the page, in exports and on paper.

    A share is written in percent, a difference of shares in points (`Metric.unit`).

    >>> number(0.11713), number(12.3456), number(0.5, "share"), number(0.5, "points"), number(None)
    ('0.117', '12.3', '50.0%', '50.0 points', '–')
    """
    if isinstance(value, float):
        return _decimal(value, unit) + (" points" if unit == "points" and not math.isnan(value) else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return "–" if value is None else str(value)


def signed(value: float, unit: str = "") -> str:
    """A difference, with its sign.

    What is 0 to three decimals has none.

    >>> signed(0.1234), signed(-0.5, "points"), signed(-4e-6)
    ('+0.123', '−50.0 points', '0.000')
    """
    value = _visible(value)
    return ("+" if value > 0 else "") + number(value, unit)


def _visible(value: float) -> float:
    """A value, 0 where its first three decimals are: beside others an exponent says nothing."""
    return 0.0 if abs(value) < 0.0005 else value


def _decimal(value: float, unit: str) -> str:
    size = abs(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    elif unit in {"share", "points"}:
        text = f"{100 * value:.1f}{'%' if unit == 'share' else ''}"
    elif 0 < size < 0.0005:
        text = f"{value:.1e}"
    else:
        text = f"{value:,.{3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0}f}"
    return text.replace("-", "−")


def interval(low: float | None, high: float | None, unit: str = "") -> str:
    """An interval in brackets, or why there is none; points are not named again.

    >>> interval(0.1, 0.25), interval(0.1, 0.25, "points"), interval(None, None)
    ('[0.100, 0.250]', '[10.0, 25.0]', 'n too small for an interval')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return TOO_SMALL
    return f"[{_decimal(_visible(low), unit)}, {_decimal(_visible(high), unit)}]"


def probability(p: float | None) -> str:
    """A p value as it is usually written.

    >>> probability(0.00004), probability(0.0312)
    ('< 0.001', '0.031')
    """
    if p is None or math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
