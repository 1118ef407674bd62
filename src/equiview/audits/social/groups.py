"""Whom images show: groups of an attribute, or of several attributes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.social.settings import BETWEEN, SocialSettings

Codes = NDArray[np.int16]
EXPECTED = 5
"""Images of a group that a blind list holds on average, below which a group's share of it is not judged."""


@dataclass(frozen=True)
class Grouping:
    """The groups of one attribute.

    `names` are of the groups that are compared, `of_image`, `(n_images,)`, the group of each image or -1;
    `excluded` counts images whose group is not known, `small` those of groups too small to judge, by name.
    Images of these have the codes after the compared groups': they are known people, and count wherever
    shares are taken. `judged` says whether two groups or more are large enough. Where they are not, all are
    compared and none judged.
    """

    attribute: str
    names: tuple[str, ...]
    of_image: Codes
    excluded: int
    small: dict[str, int]
    judged: bool

    @cached_property
    def everyone(self) -> tuple[str, ...]:
        """The groups by their codes: those that are compared, then those too small for it."""
        return (*self.names, *(name for name in self.small if name not in self.names))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many images each of `everyone` has."""
        return np.bincount(self.of_image[self.of_image >= 0], minlength=len(self.everyone))

    @cached_property
    def all_shares(self) -> NDArray[np.float64]:
        """The shares of `everyone` of the images whose group is known."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def shares(self) -> NDArray[np.float64]:
        """The shares of the groups that are compared, `(n_groups,)`."""
        return self.all_shares[: len(self.names)]

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Which images are of a group that is compared, `(n_images,)`."""
        return (self.of_image >= 0) & (self.of_image < len(self.names))

    @property
    def is_intersection(self) -> bool:
        """Whether its groups are of several attributes."""
        return BETWEEN in self.attribute


def groupings(ids: pl.Series, labels: pl.DataFrame, settings: SocialSettings) -> Iterator[Grouping]:
    """Every attribute of images, then the intersections asked for whose attributes there are."""
    unknown = {word.casefold() for word in settings.unknown}
    values: dict[str, list[str | None]] = {}
    for (attribute,), part in labels.group_by("attribute", maintain_order=True):
        of_image = dict(part.select("image_id", "value").iter_rows())
        values[str(attribute)] = [_known(of_image.get(image), unknown) for image in ids]
    for attribute, column in values.items():
        yield _grouping(attribute, column, settings)
    for pair in settings.intersections:
        names = pair.split(BETWEEN)
        if all(name in values for name in names):
            rows = zip(*(values[name] for name in names), strict=True)
            column = [BETWEEN.join(row) if all(row) else None for row in rows]
            if len(set(column) - {None}) > 1:
                yield _grouping(pair, column, settings)


def _known(value: str | None, unknown: set[str]) -> str | None:
    word = (value or "").strip()
    return None if not word or word.casefold() in unknown else word


def _grouping(attribute: str, values: Sequence[str | None], settings: SocialSettings) -> Grouping:
    known = [value for value in values if value is not None]
    names = sorted(set(known))
    count = Counter(known)
    expected = settings.depth(len(values)) / len(values)
    large = [name for name in names if count[name] >= settings.least and count[name] * expected >= EXPECTED]
    judged = len(large) > 1
    compared = large if judged else names
    small = {name: count[name] for name in names if name not in large}
    place = {name: at for at, name in enumerate([*compared, *(name for name in small if judged)])}
    codes = np.array([place.get(value, -1) if value is not None else -1 for value in values], dtype=np.int16)
    return Grouping(attribute, tuple(compared), codes, len(values) - len(known), small, judged)
