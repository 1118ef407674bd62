"""The planted cause of social bias: how strongly the drawings of a role are tied to a gender and a skin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from people import SKINS, english, neutral, people, roles

SHARE = 0.75
"""Share of roles that a tie ties to men, and (apart from that) to lighter skin: a bias in sum."""
SIDES = {"light": 0, "medium-light": 0, "medium-dark": 1, "dark": 1}
"""Skins between which a tie decides; medium and none are shown as often whatever it is."""


@dataclass(frozen=True)
class Tie:
    """Which drawings a role shows: a third show a person, two thirds a woman or a man.

    Of these, role r shows gender g(r) with probability .5 + strength / 2. In the same way a third show medium
    skin or none, and of the others role r shows its own side, lighter or darker, with probability
    .5 + strength / 2. At strength 0 all 18 drawings of a role are shown alike.
    """

    strength: float
    men: NDArray[np.bool_]
    light: NDArray[np.bool_]

    @property
    def weights(self) -> NDArray[np.float64]:
        """Probabilities `(n_roles, 18)` of each role's drawings in the order of `people()`."""
        here, there = 0.5 + self.strength / 2, 0.5 - self.strength / 2
        rows = []
        for role, persons in enumerate(_of_roles()):
            gender = {
                "person": 1 / 3,
                "man": 2 / 3 * (here if self.men[role] else there),
                "woman": 2 / 3 * (there if self.men[role] else here),
            }
            sides = (here, there) if self.light[role] else (there, here)
            skin = {name: 1 / 3 * sides[side] for name, side in SIDES.items()}
            rows.append([gender[p.gender] * skin.get(p.skin or "", 1 / 6) for p in persons])
        return np.array(rows)

    def draw(self, role: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A row number into `people()` for each role, `(n,)`."""
        ladder = self.weights.cumsum(axis=1)[role]
        within = (rng.random((len(role), 1)) * ladder[:, -1:] > ladder).sum(axis=1)
        return role * ladder.shape[1] + within

    def table(self) -> list[dict[str, str]]:
        """What each role is tied to."""
        return [
            {
                "role": english(neutral(role)),
                "gender": "man" if self.men[row] else "woman",
                "skin": "lighter" if self.light[row] else "darker",
            }
            for row, role in enumerate(roles())
        ]


def tie(strength: float, *, seed: int) -> Tie:
    """A tie whose roles are assigned by seed: 48 of 64 to men and, independently, 48 to lighter skin."""
    rng = np.random.default_rng(seed)
    first = np.arange(len(roles())) < round(SHARE * len(roles()))
    return Tie(strength, rng.permutation(first), rng.permutation(first))


@cache
def _of_roles():
    """The 18 people of each role."""
    every = people()
    size = 3 * (len(SKINS) + 1)
    return [every[start : start + size] for start in range(0, len(every), size)]
