"""Ranks and predictions as arrays: who was answered rightly, by task, image and language."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, field_validator

from equiview.audits.base import Settings
from equiview.benchmarks.parallel import CHOICE_ABOUT, Choice
from equiview.data.observations import Observations
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.stats import bootstrap_means

DIRECTIONS = ("image-to-text", "text-to-image")
Floats = NDArray[np.float64]


class ParitySettings(Settings):
    """What can be chosen: captions, languages, pivot, prompts, groups, and what counts as a gap."""

    captions: Choice = Field(default="each", description=CHOICE_ABOUT)
    languages: tuple[str, ...] = Field(default=(), description="languages compared; none means all")
    common: bool = Field(default=True, description="only images that are captioned in every language")
    pivot: str = Field(default="en", description="language that the others are compared with")
    cutoffs: tuple[int, ...] = Field(default=(1, 5, 10), min_length=1)
    zero_shot: bool = Field(default=True, description="classify images whose labels have prompts")
    prompts: tuple[str, ...] = Field(default=(), description="files of prompts of your own (.toml)")
    attributes: tuple[str, ...] = Field(default=(), description="attributes to break accuracy down by")
    least: int = Field(default=30, ge=2, description="images below which a group is too small to judge")
    tolerance: float = Field(
        default=0.05, gt=0, lt=1, description="gap up to which accuracies count as equal"
    )

    @field_validator("cutoffs")
    @classmethod
    def _with_one(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if min(cutoffs) < 1:
            raise ValueError("cutoffs must be whole numbers of 1 or more")
        return tuple(sorted({1, *cutoffs}))


class Answers:
    """Who was answered rightly: by task a matrix `(n_images, n_languages)`, nan where it was not asked."""

    def __init__(self, observations: Observations, settings: ParitySettings) -> None:
        self.settings = settings
        matches, predictions = observations["matches"], observations["predictions"]
        self.matches = matches
        self.correct = predictions.with_columns(
            correct=(pl.col("truth") == pl.col("predicted")).cast(pl.Float64)
        )
        self.ids = pl.concat([matches["query_id"], predictions["query_id"]]).unique(maintain_order=True)
        if not len(self.ids):
            raise InputError("parity: nothing was observed, neither matches nor predictions")
        self.tables: dict[str, tuple[list[str], Floats]] = {}
        for direction in DIRECTIONS:
            own = matches.filter(direction=direction)
            if len(own):
                hits = own.with_columns(correct=(pl.col("rank") <= 1).cast(pl.Float64))
                self.tables[direction] = self._matrix(hits)
        for task in predictions["task"].unique(maintain_order=True):
            self.tables[task] = self._matrix(self.correct.filter(task=task))
        for task, (codes, _) in self.tables.items():
            if settings.pivot not in codes:
                raise InputError(
                    f"parity: the pivot {settings.pivot!r} is not among the languages of {task} "
                    f"({', '.join(codes)}); set parity.pivot"
                )
        self.candidates = {
            task: matches.filter(direction=task)["candidates"].to_numpy()
            for task in DIRECTIONS
            if task in self.tables
        }
        self.labels = {
            task: observations["prompts"].filter(task=task)["value"].n_unique() for task in self.classified
        }

    @property
    def classified(self) -> list[str]:
        """The tasks of zero-shot classification."""
        return [task for task in self.tables if task not in DIRECTIONS]

    def _matrix(self, rows: pl.DataFrame, key: str = "language") -> tuple[list[str], Floats]:
        """Mean correctness by image and `key`, rows in the order of `ids`."""
        means = rows.group_by("query_id", key).agg(pl.col("correct").mean())
        codes = sorted(means[key].unique())
        places = pl.DataFrame({"query_id": self.ids}).with_row_index("at")
        image = means.select("query_id").join(places, on="query_id", how="left", maintain_order="left")["at"]
        table = np.full((len(self.ids), len(codes)), np.nan)
        column = means[key].cast(pl.Enum(codes)).to_physical().to_numpy()
        table[image.to_numpy(), column] = means["correct"].to_numpy()
        return codes, table

    def at(self, direction: str, k: int) -> tuple[list[str], Floats]:
        """R@k by image and language."""
        own = self.matches.filter(direction=direction)
        return self._matrix(own.with_columns(correct=(pl.col("rank") <= k).cast(pl.Float64)))

    def paraphrased(self, task: str) -> dict[str, tuple[list[str], Floats]]:
        """By language: correctness by image and paraphrase."""
        own = self.correct.filter(task=task)
        return {
            code: self._matrix(own.filter(language=code), "paraphrase")
            for code in sorted(own["language"].unique())
        }

    def metric_of(self, task: str) -> str:
        """What the correctness of a task is called."""
        return "R@1" if task in DIRECTIONS else "accuracy"

    def chance_of(self, task: str, k: int = 1) -> float:
        """What guessing would score."""
        if task not in DIRECTIONS:
            return 1 / self.labels[task]
        sizes = self.candidates[task]
        return float((k / np.maximum(sizes, k)).mean())


def replicates_of(matrix: Floats, settings: ParitySettings) -> Floats:
    """Bootstrap means of columns; images are the clusters, and every call draws the same ones."""
    return bootstrap_means(
        matrix, replicates=settings.replicates, seed=seed_for(settings.seed, "parity.bootstrap")
    )
