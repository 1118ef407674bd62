"""Colours can be told from the page and from each other, by everybody."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from equiview.data.roles import TIER_ROLES
from equiview.report import colours

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "usual": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
EVERY = {
    **colours.ROLES,
    **dict(enumerate(colours.SUBJECTS)),
    **dict(enumerate(colours.GROUPS, 20)),
}
OUTCOMES = tuple(colours.ROLES[role] for role in ("right", "biased", "wrong"))


def linear(colour: str) -> np.ndarray:
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIELAB of a colour as these eyes see it."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(sight @ linear(colour), 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("ground", colours.GROUNDS)
def test_every_colour_stands_out_from_the_ground(ground: str) -> None:
    weak = {name: contrast(c, colours.GROUNDS[ground]) for name, c in EVERY.items()}
    assert min(weak.values()) >= 3, min(weak, key=lambda name: weak[name])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("together", [tuple(colours.TIERS.values()), OUTCOMES, colours.SUBJECTS[:4]])
def test_colours_of_one_figure_stay_apart_for_every_eye(together: tuple[str, ...], sight: str) -> None:
    for a, b in combinations(together, 2):
        apart = float(np.linalg.norm(lab(a, SIGHT[sight]) - lab(b, SIGHT[sight])))
        assert apart >= 15, (a, b, round(apart, 1))


def test_a_thing_keeps_its_colour_whatever_stands_beside_it() -> None:
    for order in (["low"], ["medium", "low"], []):
        assert colours.colour_of("low", order, TIER_ROLES) == colours.TIERS["low"] == "#d55e00"
    assert colours.colour_of("drawn in", [], {"drawn in": "biased"}) == colours.ROLES["biased"] == "#8b4fc0"
    assert colours.subject_colour("b", ["a", "b"]) == colours.SUBJECTS[1]
    assert len(set(colours.SUBJECTS)) == len(colours.SUBJECTS) == len(colours.SYMBOLS)
