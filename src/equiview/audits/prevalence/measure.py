"""What observed lists say of prevalence bias: one number per image and quantity, then means with chance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from equiview.audits.base import once
from equiview.audits.estimating import joined, summarise
from equiview.audits.prevalence.exposure import exposure_columns, exposure_ratios, matched_floors
from equiview.audits.prevalence.lists import Lists
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS
from equiview.data.metric import Quantity, quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.metrics import accuracy_at_k, group_exposure, ndcg_at_k
from equiview.stats import blind_rankings, chance_ndcg, chance_success

RECALL_CUTOFFS = (1, 5, 10)
CHANCE_DRAWS = {"tier": 100_000, "language": 20_000}
"""Blind rankings for a floor; more for two groups, where rare lists of a single group count most."""


@once
def values(lists: Lists, settings: PrevalenceSettings) -> Values:
    """Every quantity of every image: exposure, divergences and shares, accuracy, NDCG, recall."""
    return Values.of(lists.query_ids, _columns(lists))


def measure(lists: Lists, settings: PrevalenceSettings) -> Estimates:
    """Means over images with intervals, each with its chance floor; exposure against its expectation."""
    floors, measured = _Floors(lists), values(lists, settings)
    own = {"exposure", "expected exposure"}
    known = dict(zip(measured.quantities, measured.columns["chance"], strict=True))
    floored = measured.with_chance(lambda q: known[q] if q.metric in own else floors.of(q))
    summary = summarise(floored, settings)
    matched = (matched_floors(lists, grouping, summary) for grouping in lists.groupings)
    return joined([summary, exposure_ratios(lists), *matched])


def _columns(lists: Lists) -> Iterator[ValueColumn]:
    yield from exposure_columns(lists)
    for grouping, groups in lists.groupings.items():
        ranked = groups.of_item[lists.ranked]
        for metric, function in lists.divergences(grouping).items():
            for k in lists.cutoffs:
                yield column(metric, function(ranked[:, :k]), k=k, grouping=grouping)
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


def _shares(lists: Lists, k: int) -> Iterator[ValueColumn]:
    """The share of the top `k` that each language and each tier holds."""
    shares = group_exposure(lists.language.of_item[lists.ranked[:, :k]], len(lists.codes))
    for code, share in zip(lists.codes, shares.T, strict=True):
        yield column("share", share, k=k, language=code)
    for tier in TIERS:
        of_tier = [lists.tier_of[code] == tier for code in lists.codes]
        if any(of_tier):
            yield column("share", shares[:, of_tier].sum(axis=1), k=k, tier=tier)


def _recall(lists: Lists) -> Iterator[ValueColumn]:
    """Whether each image finds a caption among those of one language alone, by language and tier."""
    captions = lists.targets.group_by("query_id", "language", "tier", maintain_order=True)
    first = captions.agg(pl.col("language_rank").min())
    queries = pl.DataFrame({"query_id": lists.query_ids})
    for k in RECALL_CUTOFFS:
        hits = first.with_columns(hit=(pl.col("language_rank") <= k).cast(pl.Float64))
        for key in ("language", "tier"):
            wide = hits.drop_nulls(key).pivot(key, index="query_id", values="hit", aggregate_function="mean")
            wide = queries.join(wide, on="query_id", how="left", maintain_order="left")
            for name in sorted(wide.columns[1:]):
                hit = wide[name].fill_null(np.nan).to_numpy()
                yield ValueColumn(quantity("R", k, **{key: name}), hit)


class _Floors:
    """What a system blind to language, or one blind to everything, would score."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.sizes: dict[str, int] = dict(zip(lists.codes, lists.language.counts.tolist(), strict=True))
        self.captions = lists.targets.group_by("query_id", "language", "tier", maintain_order=True).len()
        self.divergence: dict[tuple[str, str, int], float] = {}
        for grouping, groups in lists.groupings.items():
            draws = CHANCE_DRAWS.get(grouping, CHANCE_DRAWS["language"])
            seed = lists.settings.seed_of("chance")
            blind = blind_rankings(groups.counts, lists.cutoffs[-1], draws=draws, seed=seed)
            for metric, function in lists.divergences(grouping).items():
                for k in lists.cutoffs:
                    self.divergence[metric, grouping, k] = float(function(blind[:, :k]).mean())

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
        rows = self.captions.filter(**keys)
        by_language = [
            chance_success(part["len"].to_numpy(), self.sizes[str(code)], min(k, self.sizes[str(code)]))
            for (code,), part in rows.group_by("language", maintain_order=True)
        ]
        return float(np.concatenate(by_language).mean())
