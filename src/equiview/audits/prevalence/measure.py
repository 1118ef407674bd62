"""What observed lists say of prevalence bias: one number per image and quantity, then means beside chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import summarise
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS
from equiview.data.metric import Quantity, quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, Values, column
from equiview.errors import InputError
from equiview.metrics import accuracy_at_k, dlbkl, group_exposure, lbkl, ndcg_at_k, single_group_share
from equiview.stats import chance_floor, chance_ndcg, chance_success

RECALL_CUTOFFS = (1, 5, 10)
CHANCE_DRAWS = {"tier": 100_000, "language": 20_000}
"""Blind rankings behind a floor: with two groups rare lists of one group weigh most, so more are needed."""
GroupMetric = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def values(observations: Observations, settings: PrevalenceSettings) -> Values:
    """Every quantity of every image: divergences and shares by tier and language, accuracy, NDCG, recall."""
    lists = _Lists(observations, settings)
    return Values.of(lists.query_ids, _columns(lists))


def measure(observations: Observations, settings: PrevalenceSettings) -> Estimates:
    """Means over images with intervals, each beside its chance floor."""
    lists = _Lists(observations, settings)
    floors = _Floors(lists)
    return summarise(Values.of(lists.query_ids, _columns(lists)).with_chance(floors.of), settings)


class _Lists:
    """Observed lists as arrays, with the pool they were ranked from."""

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
        self.n_relevant = self._counted()

    def _counted(self) -> NDArray[np.int64]:
        """How many captions each image has in the pool, `(n_queries,)`."""
        counts = self.targets.group_by("query_id", maintain_order=True).len()
        joined = pl.DataFrame({"query_id": self.query_ids}).join(
            counts, on="query_id", how="left", maintain_order="left"
        )
        if joined["len"].null_count():
            missing = joined.filter(pl.col("len").is_null())["query_id"]
            raise InputError(
                f"image {missing[0]!r} has no caption in the pool ({len(missing)} images have none)"
            )
        return joined["len"].to_numpy().astype(np.int64)

    def groupings(self) -> dict[str, NDArray[np.int64]]:
        """The lists as groups, for each grouping that has at least two groups in the pool."""
        both = {"tier": self.tiers, "language": self.languages}
        return {name: lists for name, lists in both.items() if np.count_nonzero(self.pool[name]) > 1}

    def divergences(self, grouping: str) -> dict[str, GroupMetric]:
        """The metrics of group lists, by name, ready to be called with lists alone."""
        pool = self.pool[grouping]
        shares = {"pool_shares": pool / pool.sum()} if self.settings.prior == "pool" else {}
        options: dict[str, Any] = {"prior": self.settings.prior, "eps": self.settings.eps, **shares}
        functions: dict[str, GroupMetric] = {
            "LBKL": lambda lists: lbkl(lists, len(pool), **options),
            "DLBKL": lambda lists: dlbkl(lists, len(pool), **options),
        }
        return functions | ({"single-group share": single_group_share} if grouping == "tier" else {})


def _columns(lists: _Lists) -> Iterator[ValueColumn]:
    for grouping, groups in lists.groupings().items():
        for metric, function in lists.divergences(grouping).items():
            for k in lists.cutoffs:
                yield column(metric, function(groups[:, :k]), k=k, grouping=grouping)
    for k in RECALL_CUTOFFS:
        if k <= lists.depth:
            yield column("Accuracy", accuracy_at_k(lists.relevant, k), k=k)
    k = min(10, lists.depth)
    ndcg = ndcg_at_k(lists.relevant, k, ideal="pool", n_relevant=lists.n_relevant)
    yield column("NDCG", ndcg, k=k, ideal="pool")
    yield column("NDCG", ndcg_at_k(lists.relevant, k, ideal="retrieved"), k=k, ideal="retrieved")
    if len(lists.codes) > 1:
        yield from _shares(lists, k)
    if not lists.targets["language_rank"].null_count():
        yield from _recall(lists)


def _shares(lists: _Lists, k: int) -> Iterator[ValueColumn]:
    """The share of the top `k` that each language and each tier holds."""
    shares = group_exposure(lists.languages[:, :k], len(lists.codes))
    for index, code in enumerate(lists.codes):
        yield column("share", shares[:, index], k=k, language=code)
    for tier in TIERS:
        of_tier = [lists.tier_of[code] == tier for code in lists.codes]
        if any(of_tier):
            yield column("share", shares[:, of_tier].sum(axis=1), k=k, tier=tier)


def _recall(lists: _Lists) -> Iterator[ValueColumn]:
    """Whether each image finds a caption among those of one language alone, by language and tier."""
    captions = lists.targets.group_by("query_id", "language", "tier", maintain_order=True)
    first = captions.agg(pl.col("language_rank").min())
    queries = pl.DataFrame({"query_id": lists.query_ids})
    for k in RECALL_CUTOFFS:
        hits = first.with_columns(hit=(pl.col("language_rank") <= k).cast(pl.Float64))
        for key in ("language", "tier"):
            wide = hits.pivot(key, index="query_id", values="hit", aggregate_function="mean")
            wide = queries.join(wide, on="query_id", how="left", maintain_order="left")
            for name in sorted(wide.columns[1:]):
                hit = wide[name].fill_null(np.nan).to_numpy()
                yield ValueColumn(quantity("R", k, **{key: name}), hit)


class _Floors:
    """What a system blind to language, or one blind to everything, would score."""

    def __init__(self, lists: _Lists) -> None:
        self.lists = lists
        self.sizes: dict[str, int] = dict(zip(lists.codes, lists.pool["language"].tolist(), strict=True))
        self.captions = lists.targets.group_by("query_id", "language", "tier", maintain_order=True).len()
        seed = lists.settings.seed_of("chance")
        self.divergence: dict[tuple[str, str, int], float] = {}
        for grouping in lists.groupings():
            for metric, function in lists.divergences(grouping).items():
                draws = CHANCE_DRAWS[grouping]
                floor = chance_floor(function, lists.pool[grouping], lists.cutoffs, draws=draws, seed=seed)
                for k, value in zip(lists.cutoffs, floor.value, strict=True):
                    self.divergence[metric, grouping, k] = float(value)

    def of(self, wanted: Quantity) -> float | None:
        """The floor of a quantity; None where its ideal is itself random."""
        lists, k, keys = self.lists, wanted.k or 1, wanted.keys
        if "grouping" in keys:
            return self.divergence[wanted.metric, keys["grouping"], k]
        if wanted.metric == "Accuracy":
            return float(chance_success(lists.n_relevant, lists.pool_size, k).mean())
        if keys.get("ideal") == "pool":
            return float(chance_ndcg(lists.n_relevant, lists.pool_size, k).mean())
        if wanted.metric == "share":
            within = [c for c in lists.codes if keys in ({"language": c}, {"tier": lists.tier_of[c]})]
            return sum(self.sizes[code] for code in within) / lists.pool_size
        return self._recall(k, keys) if wanted.metric == "R" else None

    def _recall(self, k: int, keys: dict[str, str]) -> float:
        (key, value) = next(iter(keys.items()))
        rows = self.captions.filter(pl.col(key) == value)
        by_language = [
            chance_success(part["len"].to_numpy(), self.sizes[str(code)], min(k, self.sizes[str(code)]))
            for (code,), part in rows.group_by("language", maintain_order=True)
        ]
        return float(np.concatenate(by_language).mean())
