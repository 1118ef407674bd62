"""How far answers, or the nouns of captions, go with who is shown: of the replies, and of people.

Ours, after directional bias amplification (Wang and Russakovsky, 2021), of which it is a multiple where two
groups are compared. Which tasks go with which group is decided by what people said of all other images, or
by the replies to these where people tie a task to nobody. So chance alone neither amplifies nor reduces
anything; and what a subject says more often of everybody does not count for any group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.observations import Observations
from equiview.metrics.amplification import ROUNDING, Variant, amplification_of_counts, directions

Floats = NDArray[np.float64]
BLOCK = 250
"""Resampled data sets that are counted at a time."""
HALF = 0.5**0.5
"""The part of a direction's deviation in a resampled data set that is as large as that in the sample."""
BALANCED_DRAWS = 500
"""Shuffles of people of which none is as balanced as what is balanced by design."""
CELLS = 2**20
"""Numbers that one table may have while directions are decided in resampled data sets."""


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

    @cached_property
    def said(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The images and tasks of which something is replied or true, a pair each: `(n_pairs,)` twice."""
        true, replied, _ = self.by_image
        images, tasks = np.nonzero((true != 0) | (replied != 0))
        return images, tasks

    @cached_property
    def balanced(self) -> tuple[bool, bool]:
        """Whether what is true, and what is replied, is the same of all groups by design.

        That is more alike than in any shuffle of groups among images.
        """
        true, replied, _ = self.by_image
        return self._is_balanced(true), self._is_balanced(replied)

    def _is_balanced(self, counts: Floats) -> bool:
        cases = self.by_image[2]
        rng = np.random.default_rng(0)
        shown = [self.group_of_image, *(rng.permutation(self.group_of_image) for _ in range(BALANCED_DRAWS))]
        apart = []
        for groups in shown:
            members = self._members(groups)
            of_people = members @ cases
            shares = of_people / of_people.sum()
            beyond = members @ counts - shares[:, None] * counts.sum(axis=0)
            apart.append(float((beyond**2).sum()))
        return apart[0] < min(apart[1:]) * (1 - ROUNDING)

    def _sides(self, drawn: Floats) -> Floats:
        """How far each pair of `said` counts for its image's group: its direction less the mean over groups.

        `drawn`, `(replicates, n_images)`, is how often each image is in a data set; the result is
        `(replicates, n_pairs)`. Where a task goes with nobody by what is true, its direction is that of the
        replies: what a subject alone ties to a group is bias as well.
        """
        true, replied, _ = self.by_image
        balanced, evenly_said = self.balanced
        shape = (len(self.groups), len(drawn), len(self.said[0]))
        signs = np.zeros(shape) if balanced else self._signs(drawn, true)
        if not evenly_said:
            signs = np.where(signs == 0, self._signs(drawn, replied, near=True), signs)
        of_own = np.take_along_axis(signs, self.group_of_image[self.said[0]][None, None], axis=0)[0]
        return np.asarray(of_own - signs.mean(axis=0))

    def _signs(self, drawn: Floats, said: Floats, *, near: bool = False) -> Floats:
        """Whether each task goes with each group (1) or with others (-1), `(n_groups, replicates, n_pairs)`.

        `said`, `(n_images, n_tasks)`, is how often each is said of each image. All copies of an image are
        left out where its direction is decided. A task goes with nobody (0) where a group has it as often as
        groups shuffled among images would, by a standard error: where data are balanced, each image would
        else be turned against its own group. With `near`, by as much as one image can tell, which keeps small
        effects.
        """
        cases = self.by_image[2]
        (images, tasks), members = self.said, self._members(self.group_of_image)
        n_groups, copies, x = len(self.groups), drawn[:, images], said[self.said]
        of_people = drawn @ (members * cases).T  # (replicates, groups)
        total, count = of_people.sum(axis=1)[:, None], drawn @ said
        in_group = np.stack([drawn @ (said * own[:, None]) for own in members], axis=1)
        rate = count / total
        spread = drawn @ said**2 - 2 * rate * (drawn @ (said * cases[:, None]))
        spread = np.maximum(spread + rate**2 * (drawn @ cases**2)[:, None], 0.0)[:, tasks]
        left, without = total - copies * cases[images], count[:, tasks] - copies * x
        signs = np.empty((n_groups, *copies.shape))
        for group in range(n_groups):
            own = copies * (self.group_of_image[images] == group)
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0: no other image was drawn
                share = (of_people[:, group, None] - own * cases[images]) / left
                beyond = in_group[:, group][:, tasks] - own * x - share * without
                error = np.sqrt(np.clip(share * (1 - share), 0.0, None) * spread)
                error = copies * cases[images] if near else error
                signs[group] = np.where(np.abs(beyond) > error + ROUNDING * total, np.sign(beyond), 0.0)
        return signs

    @cached_property
    def even(self) -> bool:
        """Whether most of what is said has no direction by what is true, so that replies decide it."""
        everything = np.ones((1, len(self.by_image[0])))
        return self.balanced[0] or bool((self._signs(everything, self.by_image[0]) == 0).mean() > 0.5)

    def leaning(self) -> tuple[Floats, Floats]:
        """Of each case, how much more its reply goes with its group than with others, and the truth: `(n,)`.

        A task that goes with the case's group counts 1 less the mean over all groups, and one that goes with
        others that much less. For two groups and one task a case, the mean over a group's cases, on average
        over groups, is the distance in variation of what is said of them: 0 where the same is said of both.
        """
        weights = np.zeros_like(self.by_image[0])
        weights[self.said] = self._sides(np.ones((1, len(weights))))[0]
        of_case = weights[self.image]
        return (of_case * self.replied).sum(axis=1), (of_case * self.true).sum(axis=1)

    def redrawn(self, replicates: int, seed: int) -> Floats:
        """Deviations of amplification in resampled images, `(replicates,)`, directions decided in each anew.

        A sample's directions are off by chance already, and a resampled one's by as much again: half of that
        variance is kept. Deviations are from their own mean, since accidents of the sample are truth to its
        resamples, which lie below its value. nan where a group is empty.
        """
        true, replied, cases = self.by_image
        images, gained = self.said[0], (replied - true)[self.said]
        n, rng, draws = len(cases), np.random.default_rng(seed), []
        members = self._members(self.group_of_image) * cases
        kept = self._sides(np.ones((1, n)))
        at_once = max(1, CELLS // (max(len(images), true.size // 8, n) * len(self.groups)))
        for start in range(0, replicates, at_once):
            size = min(at_once, replicates - start)
            drawn = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0: no image of a group was drawn
                of_case = len(self.groups) * (drawn @ members.T)[:, self.group_of_image[images]]
                moved = kept + (self._sides(drawn) - kept) * HALF
                draws.append((moved * drawn[:, images] * gained / of_case).sum(axis=1))
        every = np.concatenate(draws)
        return np.asarray(every - np.nanmean(every))

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
