"""What verdicts of all audits say alike: how they begin, lists of names, points and intervals.

A sentence is a function that returns text, "" where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from equiview.audits.judging import size
from equiview.data.estimates import TOO_SMALL, Estimate
from equiview.data.languages import language_name
from equiview.data.verdict import Finding

NAMED = 3
"""How many names a sentence holds; the rest are counted."""


def not_decided(reason: str) -> str:
    """The answer where something is missing for a judgement, or where the numbers do not decide."""
    return f"Unclear: {reason}."


def opening(finding: Finding, tolerance: str = "") -> str:
    """How an answer begins.

    >>> opening("fair"), opening("unclear"), opening("unclear", "5 points")
    ('No', 'Unclear', 'Unclear at 5 points')
    """
    return {"biased": "Yes", "fair": "No"}.get(finding, f"Unclear at {tolerance}".removesuffix(" at "))


def too_few(n: int, what: str, least: int) -> str:
    """Too few items to judge.

    >>> too_few(3, "images", 30)
    'only 3 images, at least 30 are needed'
    """
    return f"only {n} {what}, at least {least} are needed"


def too_few_of(what: str, counts: Mapping[str, int], least: int) -> str:
    """Who could not be judged: what there is too little of, and how much there is of each.

    >>> not_decided(too_few_of("images of", {"women": 24, "men": 3}, 30))
    'Unclear: too few images of women (24) and men (3), at least 30 are needed of each.'
    """
    names = [f"{name} ({n})" for name, n in counts.items()]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    each = " of each" if len(names) > 1 else ""
    return f"too few {what} {listed([*names[:NAMED], *more])}, at least {least} are needed{each}"


def in_points(value: float, spec: str = ".1f") -> str:
    """A difference of shares in points.

    >>> in_points(0.538), in_points(0.05, ".3g"), in_points(-0.02, "+.1f")
    ('53.8 points', '5 points', '-2.0 points')
    """
    return f"{100 * value:{spec}} points"


def limit(tolerance: float) -> str:
    """A tolerance in points, as short as it can be."""
    return in_points(tolerance, ".3g")


def with_interval(effect: Estimate, spec: str = ".1f") -> str:
    """A difference of shares in points, with its interval.

    >>> from equiview.data.metric import quantity
    >>> with_interval(Estimate(quantity("gap"), value=0.2, low=0.1, high=0.3, n=100))
    '20.0 points [10.0, 30.0]'
    """
    ends = f"{100 * effect.low:{spec}}, {100 * effect.high:{spec}}" if effect.has_interval else TOO_SMALL
    return f"{in_points(effect.value, spec)} [{ends}]"


def of_many(n: int, which: str = "largest") -> str:
    """That an estimate was picked among `n`, whose simultaneous interval it is quoted with.

    >>> of_many(7), of_many(1)
    (', the largest of 7', '')
    """
    return f", the {which} of {n}" if n > 1 else ""


def by_how_much(effect: Estimate) -> str:
    """The size of a difference of shares, without its sign."""
    return with_interval(size(effect))


def beside_chance(row: Estimate) -> str:
    """A level as a percentage, with what chance gives.

    >>> from equiview.data.metric import quantity
    >>> beside_chance(Estimate(quantity("R", 1), value=0.02, low=0.01, high=0.03, n=100, chance=0.01))
    'R@1 2.0%, chance 1.0%'
    """
    return f"{row.quantity.metric}@{row.quantity.k} {row.value:.1%}, chance {row.chance or 0:.1%}"


def listed(parts: Iterable[str]) -> str:
    """Words in a row.

    >>> listed(["a", "b", "c"]), listed(["a", "b"]), listed(["a"])
    ('a, b and c', 'a and b', 'a')
    """
    *most, last = list(parts) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def filled(template: str, parts: Iterable[str], between: str = ", ") -> str:
    """A sentence around a list; "" where the list is empty.

    >>> filled("Left out: {}.", ["3 images", "1 text"]), filled("Left out: {}.", [])
    ('Left out: 3 images, 1 text.', '')
    """
    together = between.join(parts)
    return template.format(together) if together else ""


def language_of(row: Estimate) -> str:
    """The name of the language that a row is about."""
    return language_name(row.keys["language"])


def named(
    rows: Sequence[Estimate], about: Callable[[Estimate], str], rest: str = "more", most: int = NAMED
) -> str:
    """The first languages, each with a note in brackets, and how many more there are.

    >>> from equiview.data.metric import quantity
    >>> rows = [Estimate(quantity("R", language=code), 0.5, 0.4, 0.6, 9) for code in ("en", "sw", "de")]
    >>> named(rows, lambda row: f"{row.value:.0%}", most=1)
    'English (50%) and 2 more'
    """
    names = [f"{language_of(row)} ({about(row)})" for row in rows[:most]]
    return listed([*names, *([f"{len(rows) - most} {rest}"] if len(rows) > most else [])])


def by_side(rows: Sequence[Estimate], below: str, above: str) -> list[tuple[str, list[Estimate]]]:
    """Effects below 0 and above, each with the word for their side; an empty side is skipped."""
    sides = (below, [row for row in rows if row.value < 0]), (above, [row for row in rows if row.value > 0])
    return [(word, those) for word, those in sides if those]


def by_share(effect: Estimate) -> str:
    """The size of an effect that is a share of something and was picked among its like.

    >>> from equiview.data.metric import quantity
    >>> by_share(Estimate(quantity("shift"), -0.2, -0.25, -0.15, n=100, low_all=-0.28, high_all=-0.12))
    'by 20% [12%, 28%]'
    """
    return f"by {size(effect.of_many()):.0%}"


def in_brackets(rows: Iterable[Estimate], spec: str = ".0%") -> str:
    """Languages with their values: `Swahili (12%), Thai (15%)`."""
    return ", ".join(f"{language_of(row)} ({row.value:{spec}})" for row in rows)


def levels(rows: Iterable[Estimate], spec: str = ".0%") -> str:
    """Languages with their values: `Swahili 12%, Thai 15%`."""
    return ", ".join(f"{language_of(row)} {row.value:{spec}}" for row in rows)


def with_capital(sentence: str) -> str:
    """The sentence with its first letter large."""
    return sentence[:1].upper() + sentence[1:]


def without_capital(sentence: str) -> str:
    """The sentence as it continues another."""
    return sentence[:1].lower() + sentence[1:]
