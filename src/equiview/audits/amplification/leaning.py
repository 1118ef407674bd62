"""How far answers, or the nouns of captions, go with who is shown: of the replies, and of people.

Ours, after directional bias amplification (Wang and Russakovsky, 2021), of which it is a multiple where two
groups are compared. Which tasks go with which group is decided by what people said of all other images, so
that chance alone neither amplifies nor reduces anything; and what a subject says more often of everybody does
not count for any group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.observations import Observations
from equiview.metrics.amplification import Variant, amplification_of_counts, directions

Floats = NDArray[np.float64]
BLOCK = 250
"""Resampled data sets that are counted at a time."""


@dataclass(frozen=True)
class Tasks:
    """What was replied and what is true of the images of some groups, `(n, n_tasks)` each.

    `group` and `image` are numbers, `(n,)`: who is shown, and which image it is, of which there may be
    several questions. `rows` are the rows of the observed replies.
    """

    groups: list[str]
    names: list[str]
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    image: NDArray[np.int64]
    replied: Floats
    true: Floats

    @classmethod
    def of(cls, observations: Observations, attribute: str, groups: list[str]) -> Tasks | None:
        """The cases of one attribute; None if fewer than two groups have any."""
        shown = observations["people"].filter(
            (pl.col("attribute") == attribute) & pl.col("group").is_in(groups)
        )
        tasks = observations["tasks"]
        replies = observations["replies"].with_row_index("row").filter(pl.col("reply").is_not_null())
        if (replies["task"] == "questions").any():
            replies = replies.filter(pl.col("query_id").is_in(tasks["query_id"].implode()))
        replies = replies.join(shown.select("image_id", "group"), on="image_id", maintain_order="left")
        present = set(replies["group"])
        groups = [group for group in groups if group in present]
        if len(groups) < 2 or not len(tasks):
            return None
        names = sorted(tasks["task"].unique())
        cells = tasks.join(
            replies.select("query_id").with_row_index("place"), on="query_id", maintain_order="left"
        )
        columns = cells["task"].cast(pl.Enum(names)).to_physical().to_numpy()
        arrays = [np.zeros((len(replies), len(names))) for _ in range(2)]
        for array, column in zip(arrays, ("replied", "true"), strict=True):
            array[cells["place"].to_numpy(), columns] = cells[column].to_numpy()
        kept = np.asarray(arrays[1].any(axis=0))  # what is never true has no direction
        return cls(
            groups,
            [names[place] for place in np.flatnonzero(kept)],
            replies["row"].to_numpy().astype(np.int64),
            replies["group"].cast(pl.Enum(groups)).to_physical().to_numpy().astype(np.int64),
            replies["image_id"].rank("dense").to_numpy().astype(np.int64) - 1,
            arrays[0][:, kept],
            arrays[1][:, kept],
        )

    @cached_property
    def group_of_image(self) -> NDArray[np.int64]:
        """The group of each image, `(n_images,)`."""
        groups = np.zeros(self.image.max() + 1, dtype=np.int64)
        groups[self.image] = self.group
        return groups

    @cached_property
    def by_image(self) -> tuple[Floats, Floats, Floats]:
        """Of each image: how often each task is true, how often it is replied, and its cases."""
        n = self.image.max() + 1
        true, replied = np.zeros((n, len(self.names))), np.zeros((n, len(self.names)))
        np.add.at(true, self.image, self.true)
        np.add.at(replied, self.image, self.replied)
        return true, replied, np.bincount(self.image, minlength=n).astype(np.float64)

    def _members(self, group_of_image: NDArray[np.int64]) -> Floats:
        """Which images are of each group, `(n_groups, n_images)`."""
        members = group_of_image == np.arange(len(self.groups))[:, None]
        return np.asarray(members, dtype=np.float64)

    def leaning(self) -> tuple[Floats, Floats]:
        """Of each case, how much more its reply goes with its group than with others, and the truth: `(n,)`.

        A task that goes with the case's group counts 1 less the mean over all groups, and one that goes with
        others that much less. For two groups and one task a case, the mean over a group's cases, on average
        over groups, is the distance in variation of what is said of them: 0 where the same is said of both.
        """
        true, _, cases = self.by_image
        members = self._members(self.group_of_image)
        weights = np.empty_like(true)
        in_truth, of_people = members @ true, members @ cases
        if not directions(in_truth, of_people, variant="reference").any():
            # Balanced by design: leaving an image out would turn each against its own group.
            return np.zeros(len(self.rows)), np.zeros(len(self.rows))
        for group in range(len(self.groups)):
            images = np.flatnonzero(self.group_of_image == group)
            own = np.arange(len(self.groups)) == group
            others = in_truth - own[:, None] * true[images, None]  # (images, groups, tasks) without the image
            signs = directions(others, of_people - own * cases[images, None], variant="reference")
            weights[images] = signs[:, group] - signs.mean(axis=1)
        of_case = weights[self.image]
        return (of_case * self.replied).sum(axis=1), (of_case * self.true).sum(axis=1)

    def amplification(self, variant: Variant) -> float:
        """Directional bias amplification as published."""
        true, replied, cases = self.by_image
        members = self._members(self.group_of_image)
        return float(
            amplification_of_counts(members @ true, members @ replied, members @ cases, variant=variant)
        )

    def resampled(self, variant: Variant, replicates: int, seed: int) -> Floats:
        """Of resampled images, `(replicates,)`, with the sample's directions; nan if a group is empty.

        New directions for each would count noise as amplification in reverse: what goes with whom by accident
        is never amplified on average.
        """
        true, replied, cases = self.by_image
        members = self._members(self.group_of_image)
        signs = directions(members @ true, members @ cases, variant=variant)
        gained = np.einsum("gi,it,gt->gi", members, replied - true, signs)
        n, rng, draws = len(cases), np.random.default_rng(seed), []
        for start in range(0, replicates, BLOCK):
            weights = rng.multinomial(n, np.full(n, 1 / n), size=min(BLOCK, replicates - start))
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0: no image of a group was drawn
                of_group = (weights @ gained.T) / (weights @ (members * cases).T)
            draws.append(of_group.mean(axis=1) / len(self.names))
        return np.concatenate(draws)

    def shuffled(self, variant: Variant, replicates: int, seed: int) -> Floats:
        """With groups shuffled among the images, `(replicates,)`, so that who is shown cannot matter."""
        true, replied, cases = self.by_image
        rng, draws = np.random.default_rng(seed), []
        for _ in range(replicates):
            members = self._members(rng.permutation(self.group_of_image))
            counts = members @ true, members @ replied, members @ cases
            draws.append(float(amplification_of_counts(*counts, variant=variant)))
        return np.array(draws)

    def gaps(self) -> pl.DataFrame:
        """The share of cases with each task by group: `task`, `group`, `replied`, `true`, and `n` cases."""
        true, replied, cases = self.by_image
        members = self._members(self.group_of_image)
        n = members @ cases
        places = np.indices((len(self.groups), len(self.names))).reshape(2, -1)
        return pl.DataFrame(
            {
                "task": [self.names[place] for place in places[1]],
                "group": [self.groups[place] for place in places[0]],
                "replied": ((members @ replied) / n[:, None]).ravel(),
                "true": ((members @ true) / n[:, None]).ravel(),
                "n": np.repeat(n, len(self.names)).astype(np.int64),
            }
        )
