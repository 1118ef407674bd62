"""What the image tower is shown: drawings, people and scenes, some with a flag, and what each shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from concepts import concepts
from drawings import SIDE, Drawings, Flags
from people import GENDERS, NO_GENDER, NO_SKIN, SKINS, PeopleDrawings, Person, other_people, people
from scenes import MOST, pieces, scenes
from sources import TRAINING_STYLES, emoji_list

MONOCHROME = list(TRAINING_STYLES).index("fluent-contrast")
GENDERLESS = list(TRAINING_STYLES).index("emojitwo")
"""EmojiTwo draws one form of each person, and it is a man's or nobody's."""
FLAGGED = 0.4
"""Share of drawings that bear a flag."""
SMALL = 0.33
"""Share of drawings without a flag, people left out, that are shown small: things in scenes are."""
PEOPLE, SCENES = 5_120, 3_840
"""People chosen anew and scenes made anew that an epoch has beside the drawings."""
NONE = -1
Labels = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Example:
    """A batch: RGBA bytes `(n, side, side, 4)`, labels of each part `(n, most)`, how far each may vary."""

    pixels: NDArray[np.uint8]
    labels: Labels
    place_strength: NDArray[np.float32]
    colour_strength: NDArray[np.float32]
    size: NDArray[np.float32]
    hue: NDArray[np.float32]

    def rgba(self) -> Tensor:
        """`(n, 4, side, side)` in 0..1."""
        return torch.from_numpy(self.pixels).permute(0, 3, 1, 2).float() / 255


class Examples:
    """Everything that training draws from. A role is one class, whether woman, man or person."""

    def __init__(
        self, drawings: Drawings, persons: PeopleDrawings, others: PeopleDrawings, flags: Flags
    ) -> None:
        self.drawings, self.flags = drawings, flags
        self.pieces = pieces(drawings.pixels, drawings.concept, drawings.style)
        of, self.class_of = classes()
        n_flags = int(flags.country.max()) + 1
        self.n_classes = {
            "concept": len(of),
            "flag": n_flags + 1,
            "gender": len(GENDERS) + 1,
            "skin": len(SKINS) + 1,
        }
        self.no_flag = n_flags
        shown = np.array([(self.class_of[row], *_shown(concept)) for row, concept in enumerate(concepts())])
        parts = [
            (shown[drawings.concept], drawings.pixels, drawings.style),
            *(
                (np.array([_labels(person, of) for person in every])[drawn.person], drawn.pixels, drawn.style)
                for every, drawn in ((people(), persons), (other_people(), others))
            ),
        ]
        labels, pixels, style = (np.concatenate(column) for column in zip(*parts, strict=True))
        self.concept, self.gender, self.skin = labels.T.copy()
        self.pixels, self.style = pixels, style
        self.gender[(style == GENDERLESS) & (self.gender < NO_GENDER)] = NONE
        self.is_person = np.arange(len(pixels)) >= len(drawings.pixels)

    def steps(self, batch: int) -> int:
        """An upper bound of the steps of an epoch."""
        monochrome = int((self.drawings.style == MONOCHROME).sum())
        return (len(self.drawings.style) - monochrome // 2 + PEOPLE + SCENES) // batch + 1

    def epoch(self, batch: int, rng: np.random.Generator) -> Iterator[Example]:
        """Monochrome drawings are seen half as often; people and scenes are chosen anew.

        Half of the people are in any colour, with no skin to be told: so gender is learnt from shapes, which
        artists share, and skin from colours that hardly vary. A third of the other drawings are small.
        """
        monochrome = self.style == MONOCHROME
        plain = np.flatnonzero(~self.is_person & (~monochrome | (rng.random(len(self.style)) < 0.5)))
        persons = rng.choice(np.flatnonzero(self.is_person & ~monochrome), PEOPLE, replace=False)
        rows = np.concatenate([plain, persons, np.full(SCENES, NONE)])
        order = rng.permutation(rows)
        for start in range(0, len(order) - batch + 1, batch):
            yield self._batch(order[start : start + batch], rng)

    def _batch(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Example:
        scene = rows == NONE
        pixels = self.pixels[rows].copy()
        concept = np.full((len(rows), MOST), NONE)
        concept[:, 0] = self.concept[rows]
        styles = [style for style in range(len(TRAINING_STYLES)) if style != MONOCHROME]
        pixels[scene], shown = scenes(self.pieces, int(scene.sum()), rng, styles)
        concept[scene] = np.where(shown == NONE, NONE, self.class_of[shown])
        person = self.is_person[rows] & ~scene
        turned = (person | scene) & (rng.random(len(rows)) < 0.5)
        pixels[turned] = pixels[turned, :, ::-1]
        country = np.full(len(rows), self.no_flag)
        flagged = np.flatnonzero((rng.random(len(rows)) < FLAGGED) & ~scene)
        badge = rng.integers(len(self.flags.country), size=len(flagged))
        country[flagged] = self.flags.country[badge]
        some = pixels[flagged]
        paste(some, self.flags.pixels[badge], rng.integers(0, 3, size=(len(flagged), 2)))
        pixels[flagged] = some
        coloured = person & (rng.random(len(rows)) < 0.5)
        skin = np.where(coloured, NONE, np.where(scene, NO_SKIN, self.skin[rows]))
        labels = {
            "concept": concept,
            "flag": country[:, None],
            "gender": np.where(scene, NO_GENDER, self.gender[rows])[:, None],
            "skin": skin[:, None],
        }
        small = (rng.random(len(rows)) < SMALL) & ~scene & ~person & (country == self.no_flag)
        return Example(
            pixels,
            labels,
            np.where(scene, 0.5, 1).astype(np.float32),
            np.where(person & ~coloured, 0.12, 1).astype(np.float32),
            np.where(small, rng.uniform(0.35, 0.8, len(rows)), 1).astype(np.float32),
            np.where(coloured, rng.uniform(-np.pi, np.pi, len(rows)), 0).astype(np.float32),
        )


def classes() -> tuple[dict[str, int], NDArray[np.int64]]:
    """Class numbers by concept or role, and the class of each of `concepts()`, `(n_concepts,)`."""
    role_of = {person.concept: person.role for person in people()}
    labels = [role_of.get(concept, concept) for concept in concepts()]
    every = list(dict.fromkeys([*labels, *(person.role for person in people())]))
    of = {label: number for number, label in enumerate(every)}
    return of, np.array([of[label] for label in labels])


def _labels(person: Person, of: dict[str, int]) -> tuple[int, int, int]:
    """Class, gender and skin of a person; who is neither in a role nor among concepts has no class."""
    skin = SKINS.index(person.skin) if person.skin else NO_SKIN
    return of.get(person.role, NONE), GENDERS.index(person.gender), skin


def _shown(concept: str) -> tuple[int, int]:
    """Gender and skin of an untoned concept; of people who are in no role it is not said."""
    for person in (*people(), *other_people()):
        if person.concept == concept:
            return GENDERS.index(person.gender), NO_SKIN
    unknown = emoji_list()[concept]["group"] in {"People & Body", "Smileys & Emotion"}
    return NONE if unknown else NO_GENDER, NO_SKIN


def paste(pixels: NDArray[np.uint8], badges: NDArray[np.uint8], shift: NDArray[np.int64]) -> None:
    """Put a badge `(height, width, 4)` in the lower right corner of each drawing, in place."""
    height, width = badges.shape[1:3]
    for drawing, badge, (up, left) in zip(pixels, badges, shift, strict=True):
        bottom, right = SIDE - up, SIDE - left
        drawing[bottom - height : bottom, right - width : right] = badge
