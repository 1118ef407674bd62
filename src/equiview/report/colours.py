"""Colours: the same colour for the same thing in every figure, table and page.

Every colour stands out from both the light and the dark ground (contrast of 3 to 1 or more), and those that
can meet in one figure stay apart for eyes with red-green or blue-yellow deficiency; a test measures both.
Colour never says a thing alone: symbols, words or places say it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equiview.data.roles import TIER_ROLES, Role

GROUNDS = {"light": "#ffffff", "dark": "#16191d"}

ROLES: dict[Role, str] = {
    # Okabe and Ito's blue and vermilion, and khaki between them: green is what is fair.
    **{"most": "#0072b2", "middle": "#998855", "least": "#d55e00", "unknown": "#6f6f7f"},
    **{"right": "#ad7f00", "biased": "#8b4fc0", "wrong": "#858585"},
}
TIERS = {tier: ROLES[role] for tier, role in TIER_ROLES.items()}
SUBJECTS = (
    "#4a6fe3",
    "#b8860b",
    "#c62863",
    "#2f9e8f",
    "#c8553d",
    "#7a8450",
    "#4f8fcc",
    "#6b7a8c",
    "#9a3fd5",
    "#d94fb0",
    "#3f9142",
    "#8d5a3b",
)
GROUPS = ("#3d7ea6", "#c2701c", "#8a63d2", "#4f8f4f", "#b5407e", "#7f8790", "#a67c00", "#1b8a8f")
NO_ROLES: Mapping[str, Role] = {}
SYMBOLS = (
    "circle",
    "diamond",
    "square",
    "triangle-up",
    "cross",
    "star",
    "triangle-down",
    "x",
    "hexagon",
    "pentagon",
    "triangle-left",
    "triangle-right",
)

# Dark to light through blue and yellow, as cividis does: readable in grey and without red or green.
SEQUENCE = ("#00306e", "#3f4c6d", "#6b6d77", "#97907a", "#c8b46b", "#fee838")
# From below the centre to above it: blue, nearly white, orange.
DIVERGING = ("#0a4a8f", "#5b93c9", "#b9d0e6", "#f5f3ee", "#f2c899", "#d98a3a", "#8f4700")


def colour_of(name: str, order: Sequence[str], roles: Mapping[str, Role] = NO_ROLES) -> str:
    """The colour of `name`: that of its role, or else of its place in `order`, which lists what it may be.

    >>> colour_of("low", ["high", "low"], {"low": "least"}), colour_of("low", ["high", "low"])
    ('#d55e00', '#c2701c')
    """
    return ROLES[roles[name]] if name in roles else GROUPS[_place(name, order) % len(GROUPS)]


def subject_colour(name: str, order: Sequence[str]) -> str:
    """The colour of a system by its place among those of a page."""
    return SUBJECTS[_place(name, order) % len(SUBJECTS)]


def symbol_of(name: str, order: Sequence[str]) -> str:
    """The marker of `name`, so that colour is not all that tells it from others."""
    place = _place(name, order)
    # Past the last colour the colours begin again, with other symbols.
    return SYMBOLS[(place + place // len(GROUPS)) % len(SYMBOLS)]


def translucent(colour: str, alpha: float) -> str:
    """`colour` as an rgba() of this opacity.

    >>> translucent("#0072b2", 0.2)
    'rgba(0,114,178,0.2)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more from `colour` (relative luminance of WCAG 2).

    >>> ink_on("#f5f3ee"), ink_on("#0a4a8f")
    ('#000000', '#ffffff')
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    # Equal contrast with both: (L + .05)^2 = 1.05 * .05.
    return "#000000" if luminance > (1.05 * 0.05) ** 0.5 - 0.05 else "#ffffff"


def _place(name: str, order: Sequence[str]) -> int:
    return list(order).index(name) if name in order else len(order)
