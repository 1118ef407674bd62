"""Colours: the same colour for the same thing in every figure, table and page.

Every colour stands out from both the light and the dark ground (contrast of 3 to 1 or more), and those that
can meet in one figure stay apart for eyes with red-green or blue-yellow deficiency; a test measures both.
Colour never says a thing alone: symbols, words or places say it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Palette = Literal["tier", "subject", "outcome", "group"]

GROUNDS = {"light": "#ffffff", "dark": "#16191d"}

# Okabe and Ito's blue, bluish green and vermilion.
TIERS = {"high": "#0072b2", "medium": "#009e73", "low": "#d55e00", "unknown": "#6f6f7f"}
OUTCOMES = {"sem": "#ad7f00", "cul": "#8b4fc0", "non": "#858585"}
SUBJECTS = ("#4a6fe3", "#b8860b", "#c62863", "#2f9e8f", "#c8553d", "#7a8450", "#4f8fcc", "#6b7a8c")
GROUPS = ("#3d7ea6", "#c2701c", "#8a63d2", "#4f8f4f", "#b5407e", "#7f8790", "#a67c00", "#1b8a8f")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star", "triangle-down", "x")

# Dark to light through blue and yellow, as cividis does: readable in grey and without red or green.
SEQUENCE = ("#00306e", "#3f4c6d", "#6b6d77", "#97907a", "#c8b46b", "#fee838")
# From below the centre to above it: blue, nearly white, orange.
DIVERGING = ("#0a4a8f", "#5b93c9", "#b9d0e6", "#f5f3ee", "#f2c899", "#d98a3a", "#8f4700")


def colour_of(palette: Palette, name: str, order: Sequence[str]) -> str:
    """The colour of `name`; `order` lists what it may be, and places what the palette does not know.

    >>> colour_of("tier", "low", ["high", "low"])
    '#d55e00'
    >>> colour_of("outcome", "semantic", [])
    '#ad7f00'
    """
    if palette == "tier" and name in TIERS:
        return TIERS[name]
    if palette == "outcome" and outcome(name) in OUTCOMES:
        return OUTCOMES[outcome(name)]
    # What a palette does not know has the colour of its place in the order.
    cycle = SUBJECTS if palette == "subject" else GROUPS
    return cycle[_place(name, order) % len(cycle)]


def symbol_of(name: str, order: Sequence[str]) -> str:
    """The marker of `name`, so that colour is not all that tells it from others."""
    place = _place(name, order)
    # Past the last colour the colours begin again, with other symbols.
    return SYMBOLS[(place + place // len(GROUPS)) % len(SYMBOLS)]


def outcome(name: str) -> str:
    """The short name of an outcome, however a table spells it: `M_sem` and `semantic` are both `sem`."""
    return name.lower().removeprefix("m_")[:3]


def translucent(colour: str, alpha: float) -> str:
    """`colour` as an rgba() of this opacity.

    >>> translucent("#0072b2", 0.2)
    'rgba(0,114,178,0.2)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _place(name: str, order: Sequence[str]) -> int:
    return list(order).index(name) if name in order else len(order)
