"""Words and numbers as a person reads them: what a metric means, how a value is written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from equiview.data.countries import countries
from equiview.data.languages import languages


@cache
def tongues() -> dict[str, tuple[str, str, str | None]]:
    """By language code: its name, its direction, and its tier where it has one."""
    table = countries().unique("language", maintain_order=True)
    known: dict[str, tuple[str, str, str | None]] = {
        row["language"]: (row["language_name"], "auto", None) for row in table.iter_rows(named=True)
    }
    return known | {
        row["code"]: (row["name"], row["direction"], row["tier"]) for row in languages().iter_rows(named=True)
    }


@dataclass(frozen=True)
class Term:
    """A metric in words; `better` says which way is good, None when neither is."""

    name: str
    means: str
    better: Literal["lower", "higher"] | None = None
    percent: bool = False


TERMS = (
    Term(
        "DLBKL",
        "how far the mix of language groups among the results is from an even one, upper ranks counting "
        "more; 0 is even",
        "lower",
    ),
    Term(
        "LBKL",
        "how far the mix of language groups among the results is from an even one; 0 is even",
        "lower",
    ),
    Term(
        "Accuracy",
        "share of queries with a right result among the first ones, in any language",
        "higher",
        True,
    ),
    Term("NDCG", "how near the top the right results stand; 1 is the ideal order", "higher"),
    Term("R", "share of queries whose right result is among the first ones", "higher", True),
    Term("SP", "wins of the query's culture over wins of what was asked; 0 is never, 1 is as often", "lower"),
    Term("M_sem", "share of trials won by the right concept from another culture", "higher", True),
    Term(
        "M_cul", "share of trials won by the culture of the query's language over its concept", "lower", True
    ),
    Term("M_non", "share of trials won by a picture that is neither", "lower", True),
    Term(
        "M_cul - M_non",
        "what the culture of the query's language wins beyond what a random mistake would; 0 is no pull",
        "lower",
        True,
    ),
    Term(
        "relative gap",
        "how far a caption's language moves its similarity to the image, over what a right image has on "
        "a wrong one; 0 is not at all",
        "lower",
    ),
    Term("gap to pivot", "accuracy lost against the pivot language, as a mean over languages", "lower", True),
    Term("accuracy", "share of pictures named rightly", "higher", True),
)
_KEYS = {"grouping": "by {}", "direction": "{}"}
_BY_NAME = {term.name.lower(): term for term in TERMS}


def term(metric: str) -> Term | None:
    """What a metric's name means, cutoff, variant and keys left out; None when it is not known.

    >>> term("NDCG@10 (pool)").better
    'higher'
    """
    return _BY_NAME.get(re.split(r"@| [\[(]|, ", metric)[0].lower())


def keyed(name: str) -> tuple[str, dict[str, str]]:
    """A metric's name taken apart from the keys written behind it.

    >>> keyed("R@1 [tier=low]")
    ('R@1', {'tier': 'low'})
    """
    metric, _, keys = name.removesuffix("]").partition(" [")
    return metric, dict(pair.split("=", 1) for pair in keys.split(", ") if "=" in pair)


def spoken(name: str) -> str:
    """A metric's name with its keys as words.

    >>> spoken("R@1 [tier=low]"), spoken("DLBKL@10 [grouping=tier]"), spoken("SP [direction=text-to-image]")
    ('R@1, low tier', 'DLBKL@10, by tier', 'SP, text to image')
    """
    metric, keys = keyed(name)
    return ", ".join(
        [metric, *(_KEYS.get(k, "{} " + k).format(v.replace("-", " ")) for k, v in keys.items())]
    )


def number(value: object, percent: bool = False) -> str:
    """A value in three significant digits; the same rule on the page, in exports and on paper.

    >>> number(0.11713), number(12.3456), number(0.5, percent=True), number(1234.5), number(None)
    ('0.117', '12.3', '50.0%', '1,234', '–')
    """
    if isinstance(value, float):
        return _decimal(value, percent)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return "–" if value is None else str(value)


def _decimal(value: float, percent: bool) -> str:
    size = abs(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    elif percent:
        text = f"{100 * value:.1f}%"
    elif 0 < size < 0.0005:
        text = f"{value:.1e}"
    else:
        text = f"{value:,.{3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0}f}"
    return text.replace("-", "−")


def interval(low: float | None, high: float | None, percent: bool = False) -> str:
    """An interval in brackets, or nothing when there is none.

    >>> interval(0.1, 0.25)
    '[0.100, 0.250]'
    """
    if low is None or high is None:
        return ""
    return f"[{number(low, percent)}, {number(high, percent)}]"


def probability(p: float | None) -> str:
    """A p value as it is usually written.

    >>> probability(0.00004), probability(0.0312)
    ('< 0.001', '0.031')
    """
    if p is None or math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
