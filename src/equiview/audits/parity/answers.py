"""Ranks and predictions as arrays: which images were answered correctly, by task and language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View
from equiview.audits.estimating import Replicates
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, classified, most_written
from equiview.data.labels import known_labels
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.metrics import recall_in_pool

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correct:
    """Share of correct answers of each image, by language or paraphrase.

    `matrix` is `(n_images, len(names))` in [0, 1], nan where an image was not asked about.
    """

    names: list[str]
    matrix: Floats

    @property
    def asked_in_all(self) -> NDArray[np.bool_]:
        """Which images were asked about in every column."""
        return np.asarray(~np.isnan(self.matrix).any(axis=1))


class Answers(View[ParitySettings]):
    """What was answered correctly: by task a `Correct` over languages, images in the order of `ids`."""

    def __init__(self, observations: Observations, settings: ParitySettings) -> None:
        super().__init__(observations, settings)
        self.matches, self.ahead = observations["matches"], observations["ahead"]
        predictions = observations["predictions"].with_columns(
            correct=(pl.col("truth") == pl.col("predicted")).cast(pl.Float64)
        )
        asked_for = observations["prompts"].select("task", pl.col("value").alias("truth")).unique()
        # A label that no prompt stands for cannot be predicted.
        self.predictions = predictions.join(
            asked_for, on=["task", "truth"], how="semi", maintain_order="left"
        )
        self.groups = _known(observations["groups"], settings)
        self.ids = pl.concat([self.matches["query_id"], self.predictions["query_id"]]).unique(
            maintain_order=True
        )
        if not len(self.ids):
            raise InputError("parity: nothing was observed, neither matches nor predictions")
        directions = self.matches["direction"].unique()
        self._pool: int = _pool_size(self.matches, settings.least)
        self.tasks = {task: self.recall(task, 1) for task in DIRECTIONS if task in directions}
        for task in self.predictions["task"].unique(maintain_order=True):
            self.tasks[task] = self.by_image(self.predictions.filter(task=task))
        for task, correct in self.tasks.items():
            check_pivot(settings.pivot, correct.names, task)
        self._labels = {
            task: observations["prompts"].filter(task=task)["value"].n_unique()
            for task in classified(list(self.tasks))
        }

    def by_image(self, rows: pl.DataFrame, key: str = "language") -> Correct:
        """Mean of the column `correct` by image and `key`."""
        names = sorted(rows[key].unique())
        row, column = (rows[of].cast(pl.Enum(known)) for of, known in (("query_id", self.ids), (key, names)))
        cells = row.to_physical().cast(pl.Int64) * len(names) + column.to_physical()
        means = pl.DataFrame({"cell": cells, "correct": rows["correct"]})
        if not cells.is_unique().all():
            means = means.group_by("cell", maintain_order=True).agg("correct")
            means = means.with_columns(pl.col("correct").list.mean())  # a mean of groups depends on threads
        matrix = np.full((len(self.ids), len(names)), np.nan)
        matrix.flat[means["cell"].to_numpy()] = means["correct"].to_numpy()
        return Correct(names, matrix)

    def recall(self, direction: str, k: int) -> Correct:
        """R@k of matching by image and language, in pools of one size."""
        ranks = self.matches.filter(direction=direction)
        candidates = ranks["candidates"].to_numpy()
        pool = np.minimum(self._pool, candidates)  # smaller in languages with too few images to judge
        hits = recall_in_pool(ranks["rank"].to_numpy(), candidates, pool, k)
        return self.by_image(ranks.with_columns(correct=pl.Series(hits)))

    def by_paraphrase(self, task: str) -> dict[str, Correct]:
        """Correctness by image and paraphrase, for each language."""
        rows = self.predictions.filter(task=task)
        return {
            language: self.by_image(rows.filter(language=language), "paraphrase")
            for language in sorted(rows["language"].unique())
        }

    def labels_in(self, task: str) -> NDArray[np.object_]:
        """The label of each image that a task of classification asks about; None for the others."""
        asked = self.predictions.filter(task=task).unique("query_id", keep="first", maintain_order=True)
        labels = dict(asked.select("query_id", "truth").iter_rows())
        return np.asarray([labels.get(image) for image in self.ids], dtype=object)

    def pivot_of(self, task: str) -> int:
        """The column of the pivot language."""
        names: list[str] = self.tasks[task].names
        return names.index(self.settings.pivot or most_written(names))

    def chance_of(self, task: str, k: int | None = None) -> float:
        """The accuracy of guessing."""
        if task not in DIRECTIONS:
            return 1 / self._labels[task]
        return min(1.0, (k or 1) / self._pool)

    def blind_accuracy(self, task: str) -> dict[str, float]:
        """By language, what the same answers would score if they did not depend on the image.

        The expected agreement of Cohen's kappa, averaged over paraphrases: an encoder that answers "man" for
        every image is right as often as there are men, without looking.
        """
        if task in DIRECTIONS:
            return dict.fromkeys(self.tasks[task].names, self.chance_of(task))
        blind: dict[str, list[float]] = {}
        rows = self.predictions.filter(task=task)
        for (language, _), part in rows.group_by("language", "paraphrase", maintain_order=True):
            truth, predicted = Counter(part["truth"]), Counter(part["predicted"])
            alike = sum(count * predicted[value] for value, count in truth.items())
            blind.setdefault(str(language), []).append(alike / len(part) ** 2)
        return {language: float(np.mean(agreements)) for language, agreements in blind.items()}

    def groups_in(self, task: str) -> pl.DataFrame:
        """Rows of `groups` of the images that were asked about in every language of a task."""
        asked = self.ids.filter(pl.Series(self.tasks[task].asked_in_all))
        return self.groups.filter(pl.col("query_id").is_in(asked.implode()))

    def labels_for(self, task: str) -> pl.DataFrame:
        """The rows of `groups`, and the label for the task of every image that has one."""
        truths = (
            self.observations["predictions"]
            .filter(task=task)
            .select("query_id", attribute="task", value="truth")
        )
        return pl.concat([self.groups, _known(truths.unique(maintain_order=True), self.settings)]).unique(
            maintain_order=True
        )

    def replicates(self, matrix: Floats, most: int | None = None) -> Replicates:
        """Means of columns with their replicates; images are the clusters, the same ones in every call."""
        return Replicates.of(matrix, self.settings, most=most)


def check_pivot(pivot: str, names: list[str], task: str) -> None:
    """InputError when a pivot was chosen that is not among the languages of a task."""
    if pivot and pivot not in names:
        raise InputError(
            f"parity: the pivot {pivot!r} is not among the languages of {task} ({', '.join(names)}); "
            "set parity.pivot"
        )


def _known(labels: pl.DataFrame, settings: ParitySettings) -> pl.DataFrame:
    """The rows whose `value` says of which group the image is."""
    return labels.with_columns(known_labels(labels["value"], settings.unknown)).drop_nulls("value")


def _pool_size(matches: pl.DataFrame, least: int) -> int:
    """The smallest pool among languages with enough images to judge, or among all if none has enough."""
    sizes: list[int] = matches["candidates"].unique().to_list()
    return min([size for size in sizes if size >= least] or sizes or [1])


def applied(function: Callable[[Floats], Floats], accuracy: Replicates) -> Replicates:
    """A function of several means, from `(..., n)` to `(...)`, of the value and every replicate."""
    return Replicates(function(accuracy.value), function(accuracy.draws))
