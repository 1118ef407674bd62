"""The people Unicode draws: roles, each as woman, man and person, in five skin tones and none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from drawings import SIDE, held_out_of
from sources import TONES, TRAINING_STYLES, WORK, annotations, emoji_list

GENDERS = ("woman", "man", "person")
SKINS = tuple(TONES.values())
NO_GENDER, NO_SKIN, UNKNOWN = len(GENDERS), len(SKINS), -100
"""Labels of what shows no person, of yellow skin or none, and of what nobody can tell."""

PAIRS = {"1f46f", "1f93c", "1f9de", "1f9df"}
"""Two people each, or no skin tones."""
GENDER_OF = {"1f469": "woman", "1f468": "man", "1f9d1": "person"}
SIGNS = {"2640": "woman", "2642": "man"}
APART = {
    *("1f9d4", "1f471", "x-1f9b0", "x-1f9b1", "x-1f9b3", "x-1f9b2"),
    *("1f46f", "1f93c", "1f9de", "1f9df", "1f9dc"),
}
"""No roles: beards and hair are looks, two are pairs, two have no skin tones, merpeople share no name."""


@dataclass(frozen=True)
class Person:
    """One drawing: its code points, those of its role without gender and skin, and what it shows."""

    concept: str
    role: str
    gender: str
    skin: str | None


@cache
def _forms() -> dict[str, dict[str, str]]:
    """Code points of the woman, the man and the person of each role that has them, by gender."""
    forms: dict[str, dict[str, str]] = {}
    for concept in emoji_list():
        first, *rest = concept.split("-")
        if first in GENDER_OF and len(rest) == 2 and rest[0] == "200d":
            forms.setdefault(f"x-{rest[1]}", {})[GENDER_OF[first]] = concept
        elif len(rest) == 2 and rest[1] in SIGNS:
            forms.setdefault(first, {"person": first})[SIGNS[rest[1]]] = concept
    return forms


@cache
def people() -> tuple[Person, ...]:
    """The 64 roles that have a woman, a man and a person, in six skins each: role by role."""
    return tuple(
        Person(toned(of[gender], code), role, gender, skin)
        for role, of in _forms().items()
        if len(of) == len(GENDERS) and role not in APART
        for gender in GENDERS
        for code, skin in ((None, None), *TONES.items())
    )


def toned(concept: str, tone: str | None) -> str:
    """A person's code points with a skin tone: it follows the first of them."""
    if tone is None:
        return concept
    first, *rest = concept.split("-")
    return "-".join([first, tone, *rest])


@cache
def roles() -> tuple[str, ...]:
    return tuple(dict.fromkeys(person.role for person in people()))


def neutral(role: str) -> str:
    """The code points of a role's person without skin tone, whose name is the role's neutral name."""
    return next(p.concept for p in people() if p.role == role and p.gender == "person" and p.skin is None)


def english(concept: str) -> str:
    return annotations("en")[concept]["tts"][0]


OTHERS = {
    "woman": ("1f469", "1f467", "1f475", "1f478", "1f936", "1f483", "1f9d5", "1f930", "1f931"),
    "man": ("1f468", "1f466", "1f474", "1f934", "1f385", "1f57a"),
    "person": ("1f9d1", "1f9d2", "1f9d3", "1fac5"),
}
"""People in no role who show a gender: women, girls, princesses, Santa Claus, ..."""


@cache
def other_people() -> tuple[Person, ...]:
    """People outside the roles, to learn more of gender and skin from: `role` is the untoned concept."""
    shown = {concept: gender for gender, concepts in OTHERS.items() for concept in concepts}
    for role, of in _forms().items():
        if role in APART - PAIRS:
            shown |= {concept: gender for gender, concept in of.items()}
    return tuple(
        Person(toned(concept, code), concept, gender, skin)
        for concept, gender in shown.items()
        for code, skin in ((None, None), *TONES.items())
    )


@dataclass(frozen=True)
class PeopleDrawings:
    """Drawings `(n, side, side, 4)` as RGBA bytes; `person` `(n,)` are row numbers into what was drawn."""

    pixels: NDArray[np.uint8]
    person: NDArray[np.int64]
    style: NDArray[np.int64]


def training_people() -> PeopleDrawings:
    """Each of `people()` by every training artist who drew it."""
    return _drawn("training-people", people())


def training_others() -> PeopleDrawings:
    """Each of `other_people()` by every training artist who drew it."""
    return _drawn("training-others", other_people())


def _drawn(name: str, persons: tuple[Person, ...]) -> PeopleDrawings:
    path = WORK / f"{name}-{SIDE}.npz"
    if not path.is_file():
        rows = [
            (np.asarray(drawing), row, number)
            for number, draw in enumerate(TRAINING_STYLES.values())
            for row, person in enumerate(persons)
            if (drawing := draw(person.concept, SIDE)) is not None
        ]
        pixels, person, style = zip(*rows, strict=True)
        np.savez(path, pixels=np.stack(pixels), person=np.array(person), style=np.array(style))
    with np.load(path) as stored:
        return PeopleDrawings(stored["pixels"], stored["person"], stored["style"])


def held_out_people() -> NDArray[np.uint8]:
    """Noto's people on white, `(n_people, side, side, 3)`, in the order of `people()`: only to measure."""
    return held_out_of("held-out-people", [person.concept for person in people()])
