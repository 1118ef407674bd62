"""Ranks and predictions as arrays: which images were answered correctly, by task and language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, classified
from equiview.data.observations import Observations
from equiview.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correct:
    """Share of correct answers of each image, by language or paraphrase.

    `matrix` is `(n_images, len(names))` in [0, 1], nan where an image was not asked about.
    """

    names: list[str]
    matrix: Floats

    @property
    def n(self) -> NDArray[np.int64]:
        """Images asked about in each column."""
        return np.asarray((~np.isnan(self.matrix)).sum(axis=0))

    @property
    def asked_in_all(self) -> NDArray[np.bool_]:
        """Which images were asked about in every column."""
        return np.asarray(~np.isnan(self.matrix).any(axis=1))


class Answers:
    """What was answered correctly: by task a `Correct` over languages, images in the order of `ids`."""

    def __init__(self, observations: Observations, settings: ParitySettings) -> None:
        self.settings = settings
        self.matches, predictions = observations["matches"], observations["predictions"]
        self.predictions = predictions.with_columns(
            correct=(pl.col("truth") == pl.col("predicted")).cast(pl.Float64)
        )
        self.ids = pl.concat([self.matches["query_id"], predictions["query_id"]]).unique(maintain_order=True)
        if not len(self.ids):
            raise InputError("parity: nothing was observed, neither matches nor predictions")
        directions = self.matches["direction"].unique()
        self.tasks = {task: self.recall(task, 1) for task in DIRECTIONS if task in directions}
        for task in predictions["task"].unique(maintain_order=True):
            self.tasks[task] = self._by_image(self.predictions.filter(task=task))
        for task, correct in self.tasks.items():
            if settings.pivot not in correct.names:
                raise InputError(
                    f"parity: the pivot {settings.pivot!r} is not among the languages of {task} "
                    f"({', '.join(correct.names)}); set parity.pivot"
                )
        self._candidates = {
            task: self.matches.filter(direction=task)["candidates"].to_numpy()
            for task in DIRECTIONS
            if task in self.tasks
        }
        self._labels = {
            task: observations["prompts"].filter(task=task)["value"].n_unique()
            for task in classified(list(self.tasks))
        }

    def _by_image(self, rows: pl.DataFrame, key: str = "language") -> Correct:
        """Mean correctness by image and `key`."""
        means = rows.group_by("query_id", key).agg(pl.col("correct").mean())
        names = sorted(means[key].unique())
        places = pl.DataFrame({"query_id": self.ids}).with_row_index("place")
        images = means.select("query_id").join(places, on="query_id", how="left", maintain_order="left")
        matrix = np.full((len(self.ids), len(names)), np.nan)
        columns = means[key].cast(pl.Enum(names)).to_physical().to_numpy()
        matrix[images["place"].to_numpy(), columns] = means["correct"].to_numpy()
        return Correct(names, matrix)

    def recall(self, direction: str, k: int) -> Correct:
        """R@k of matching by image and language."""
        ranks = self.matches.filter(direction=direction)
        return self._by_image(ranks.with_columns(correct=(pl.col("rank") <= k).cast(pl.Float64)))

    def by_paraphrase(self, task: str) -> dict[str, Correct]:
        """Correctness by image and paraphrase, for each language."""
        rows = self.predictions.filter(task=task)
        return {
            language: self._by_image(rows.filter(language=language), "paraphrase")
            for language in sorted(rows["language"].unique())
        }

    def pivot_of(self, task: str) -> int:
        """The column of the pivot language."""
        return self.tasks[task].names.index(self.settings.pivot)

    def chance_of(self, task: str, k: int | None = None) -> float:
        """What guessing would score."""
        if task not in DIRECTIONS:
            return 1 / self._labels[task]
        candidates, k = self._candidates[task], k or 1
        return float((k / np.maximum(candidates, k)).mean())

    def replicates(self, matrix: Floats) -> Replicates:
        """Means of columns with their draws; images are the clusters, and every call draws the same ones."""
        return Replicates.of(matrix, self.settings)


def applied(function: Callable[[Floats], Floats], accuracy: Replicates) -> Replicates:
    """A function of several means, from `(..., n)` to `(...)`, of the value and of every draw."""
    return Replicates(function(accuracy.value), function(accuracy.draws))
