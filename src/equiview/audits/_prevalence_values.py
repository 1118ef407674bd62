"""What observed lists say of prevalence bias: one number per image and metric, then means beside chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, field_validator

from equiview.audits._summary import column_name, keys_of, summarise
from equiview.audits.base import Settings, Values
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS
from equiview.data.observations import Observations
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.metrics import accuracy_at_k, dlbkl, group_exposure, lbkl, ndcg_at_k, single_group_share
from equiview.stats import chance_floor, chance_ndcg, chance_success

RECALL_CUTOFFS = (1, 5, 10)
CHANCE_DRAWS = {"tier": 100_000, "language": 20_000}
"""Blind rankings behind a floor: with two groups rare lists of one group weigh most, so more are needed."""
GroupMetric = Callable[[NDArray[np.int64]], NDArray[np.float64]]


class PrevalenceSettings(Settings):
    """What can be chosen: where the lists are cut, and what a fair list would hold."""

    cutoffs: tuple[int, ...] = (1, 5, 10, 25, 50, 99)
    prior: Literal["uniform", "pool"] = "uniform"
    eps: float = Field(default=1e-9, gt=0, lt=1)
    depth: int = Field(default=100, ge=1, description="ranks observed, and the reach of NDCG (retrieved)")

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_in_order(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if not cutoffs or min(cutoffs) < 1:
            raise ValueError("cutoffs must be whole numbers of 1 or more, and at least one")
        return tuple(sorted(set(cutoffs)))


def values(observations: Observations, settings: PrevalenceSettings) -> Values:
    """Every metric of every image: divergences and shares by tier and by language, accuracy, NDCG, recall."""
    return _Lists(observations, settings).values()


class _Lists:
    """Observed lists as arrays, with what they are compared to."""

    def __init__(self, observations: Observations, settings: PrevalenceSettings) -> None:
        self.settings = settings
        items = observations["items"].with_row_index("item")
        rankings = observations["rankings"].join(items.select("item_id", "item"), on="item_id", how="left")
        rankings = rankings.with_columns(pl.col("query_id").cast(pl.Categorical)).sort("query_id", "rank")
        self.query_ids = rankings["query_id"].unique(maintain_order=True).cast(pl.String)
        shape = (len(self.query_ids), -1)
        ranked = rankings["item"].to_numpy().reshape(shape)
        self.relevant = rankings["relevant"].to_numpy().reshape(shape)
        self.depth = ranked.shape[1]
        self.cutoffs = [k for k in settings.cutoffs if k <= self.depth]
        if not self.cutoffs:
            raise InputError(f"all cutoffs {settings.cutoffs} lie beyond the {self.depth} ranks observed")
        self.pool_size = len(items)
        self.codes = sorted(items["language"].unique())
        language = items["language"].cast(pl.Enum(self.codes)).to_physical().to_numpy().astype(np.int64)
        low = items["tier"].eq("low").to_numpy().astype(np.int64)
        self.languages, self.tiers = language[ranked], low[ranked]
        self.pool = {
            "language": np.bincount(language, minlength=len(self.codes)),
            "tier": np.bincount(low, minlength=2),
        }
        self.tier_of = dict(zip(items["language"], items["tier"], strict=True))
        self.targets = observations["targets"].join(items.select("item_id", "language", "tier"), on="item_id")
        counts = self.targets.group_by("query_id").len()
        joined = pl.DataFrame({"query_id": self.query_ids}).join(
            counts, on="query_id", how="left", maintain_order="left"
        )
        if joined["len"].null_count():
            missing = joined.filter(pl.col("len").is_null())["query_id"]
            raise InputError(
                f"image {missing[0]!r} has no caption in the pool ({len(missing)} images have none)"
            )
        self.n_relevant = joined["len"].to_numpy().astype(np.int64)

    def groupings(self) -> dict[str, NDArray[np.int64]]:
        """The lists as groups, for each grouping that has at least two groups in the pool."""
        both = {"tier": self.tiers, "language": self.languages}
        return {name: lists for name, lists in both.items() if np.count_nonzero(self.pool[name]) > 1}

    def values(self) -> Values:
        made: dict[str, NDArray[np.float64]] = {}
        for grouping, lists in self.groupings().items():
            for metric, function in self.divergences(grouping).items():
                for k in self.cutoffs:
                    made[column_name(f"{metric}@{k}", grouping=grouping)] = function(lists[:, :k])
        for k in RECALL_CUTOFFS:
            if k <= self.depth:
                made[f"Accuracy@{k}"] = accuracy_at_k(self.relevant, k)
        k = min(10, self.depth)
        made[f"NDCG@{k} (pool)"] = ndcg_at_k(self.relevant, k, ideal="pool", n_relevant=self.n_relevant)
        made[f"NDCG@{k} (retrieved)"] = ndcg_at_k(self.relevant, k, ideal="retrieved")
        if len(self.codes) > 1:
            shares = group_exposure(self.languages[:, :k], len(self.codes))
            for index, code in enumerate(self.codes):
                made[column_name(f"share@{k}", language=code)] = shares[:, index]
            for tier in TIERS:
                of_tier = [self.tier_of[code] == tier for code in self.codes]
                if any(of_tier):
                    made[column_name(f"share@{k}", tier=tier)] = shares[:, of_tier].sum(axis=1)
        table = pl.DataFrame({"query_id": self.query_ids, "cluster": self.query_ids} | made)
        return Values(self.with_recall(table))

    def divergences(self, grouping: str) -> dict[str, GroupMetric]:
        """The metrics of group lists, by name, ready to be called with lists alone."""
        pool = self.pool[grouping]
        shares = {"pool_shares": pool / pool.sum()} if self.settings.prior == "pool" else {}
        options: dict[str, Any] = {"prior": self.settings.prior, "eps": self.settings.eps, **shares}
        made: dict[str, GroupMetric] = {
            "LBKL": lambda lists: lbkl(lists, len(pool), **options),
            "DLBKL": lambda lists: dlbkl(lists, len(pool), **options),
        }
        return made | ({"single-group share": single_group_share} if grouping == "tier" else {})

    def with_recall(self, table: pl.DataFrame) -> pl.DataFrame:
        """Add R@k by language and by tier: is any caption of the image in the top k of its language.

        Of a finished run it is not known where a caption stands in its language, so nothing is added.
        """
        if self.targets["language_rank"].null_count():
            return table
        first = self.targets.group_by("query_id", "language", "tier").agg(pl.col("language_rank").min())
        for k in RECALL_CUTOFFS:
            hits = first.with_columns(hit=(pl.col("language_rank") <= k).cast(pl.Float64))
            for key in ("language", "tier"):
                wide = hits.pivot(key, index="query_id", values="hit", aggregate_function="mean")
                names = {code: column_name(f"R@{k}", **{key: code}) for code in sorted(wide.columns[1:])}
                wide = wide.select("query_id", *names).rename(names)
                table = table.join(wide, on="query_id", how="left", maintain_order="left")
        return table

    def chance(self, names: list[str]) -> dict[str, float]:
        """What a system blind to language, and one blind to everything, would score."""
        seed = seed_for(self.settings.seed, "prevalence.chance")
        floors: dict[str, float] = {}
        for grouping in self.groupings():
            for metric, function in self.divergences(grouping).items():
                draws = CHANCE_DRAWS[grouping]
                floor = chance_floor(function, self.pool[grouping], self.cutoffs, draws=draws, seed=seed)
                for k, value in zip(self.cutoffs, floor.value, strict=True):
                    floors[column_name(f"{metric}@{k}", grouping=grouping)] = float(value)
        sizes: dict[str, int] = dict(zip(self.codes, self.pool["language"].tolist(), strict=True))
        own = self.targets.group_by("query_id", "language", "tier").len()
        for name in names:
            metric, keys = keys_of(name)
            kind, _, cutoff = metric.partition("@")
            if kind == "Accuracy":
                floors[name] = float(chance_success(self.n_relevant, self.pool_size, int(cutoff)).mean())
            elif metric.endswith("(pool)"):
                k = int(cutoff.split()[0])
                floors[name] = float(chance_ndcg(self.n_relevant, self.pool_size, k).mean())
            elif kind == "share":
                within = [
                    code for code in self.codes if keys in ({"language": code}, {"tier": self.tier_of[code]})
                ]
                floors[name] = sum(sizes[code] for code in within) / self.pool_size
            elif kind == "R":
                (key, value), k = next(iter(keys.items())), int(cutoff)
                rows = own.filter(pl.col(key) == value)
                by_language = [
                    chance_success(part["len"].to_numpy(), sizes[code], min(k, sizes[code]))
                    for (code,), part in rows.group_by("language", maintain_order=True)
                ]
                floors[name] = float(np.concatenate(by_language).mean())
        return floors


def measure(observations: Observations, settings: PrevalenceSettings) -> Estimates:
    """Means over images with intervals, each beside its chance floor."""
    lists = _Lists(observations, settings)
    found = lists.values()
    return summarise("prevalence", found, lists.chance(found.metrics), settings)
