"""What observed lists say of prevalence bias: one number per image and quantity, then means with chance."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

import numpy as np
import polars as pl

from equiview.audits.base import once
from equiview.audits.estimating import joined, summarise
from equiview.audits.prevalence.exposure import (
    beside_matched,
    exposure_columns,
    exposure_ratios,
    matched_floors,
    shared_columns,
)
from equiview.audits.prevalence.lists import Floats, Integers, Lists, divergences_of
from equiview.audits.prevalence.searched import search_effect
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS
from equiview.data.metric import Quantity, quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.engine import Local, current
from equiview.metrics import accuracy_at_k, group_exposure, ndcg_at_k
from equiview.stats import blind_rankings, chance_ndcg, chance_success

ROUNDING = 1e-12
HEADLINES = (
    quantity("DLBKL", k=10, grouping="tier"),
    quantity("Accuracy", k=5),
    quantity("NDCG", k=10, ideal="pool"),
)
"""Means over lists by which runs are compared."""
RECALL_CUTOFFS = (1, 5, 10)
CHANCE_DRAWS = {"tier": 100_000, "language": 20_000}
"""Blind rankings for a floor; more for two groups, where rare lists of a single group count most."""


@once
def values(lists: Lists, settings: PrevalenceSettings) -> Values:
    """Every quantity of every image: exposure, divergences and shares, accuracy, NDCG, recall."""
    by_query = Values.of(lists.query_ids, columns_of(lists))
    return replace(by_query, shared=(_by_image(lists, by_query),))


def _by_image(lists: Lists, values: Values) -> Values:
    """The same totals by image of the captions shown; a caption of no known image is one of its own.

    Exposure is that of the image's captions. What is one number for a list is divided among its captions.
    """
    images = np.where(
        lists.image < 0, lists.image.max(initial=-1) + 1 + np.arange(lists.pool_size), lists.image
    )
    _, rows = np.unique(images, return_inverse=True)
    n_rows, (n_queries, depth) = int(rows.max()) + 1, lists.ranked.shape

    def whole(column: ValueColumn) -> ValueColumn:
        """With a row for each, in the unit of a mean over rows."""
        padded = np.zeros(n_rows)
        padded[: len(column.values)] = column.values * n_rows
        return replace(column, values=padded)

    columns = [whole(column) for column in shared_columns(lists)]
    weights = 1 / np.log2(np.arange(2, depth + 2))
    for wanted, of_list in zip(values.quantities, values.matrix.T, strict=True):
        if wanted in HEADLINES:
            k = wanted.k or 1
            shown, share = lists.ranked[:, :k], weights[:k] / weights[:k].sum()
            own = np.zeros(shown.shape)
            if wanted.metric == "DLBKL":
                own = _divergence_of_each(lists, wanted.keys["grouping"], shown, share, of_list)
            part = (own + np.outer(of_list - own.sum(axis=1), share)) / n_queries
            sums = np.bincount(rows[shown].ravel(), part.ravel(), minlength=n_rows)
            columns.append(whole(ValueColumn(wanted, sums.astype(np.float64))))
    return Values.of(range(n_rows), columns)


def _divergence_of_each(
    lists: Lists, grouping: str, shown: Integers, share: Floats, of_list: Floats
) -> Floats:
    """How much each caption's group adds to DLBKL, `(n_queries, k)`, against the mean group of its image."""
    groups = lists.groupings[grouping]
    n_groups = len(groups.names)
    settings = lists.settings
    fair = (
        groups.counts / groups.counts.sum() if settings.prior == "pool" else np.full(n_groups, 1 / n_groups)
    )
    mean = np.eye(n_groups)[groups.of_item]
    known = lists.image >= 0
    counts = np.zeros((lists.image.max(initial=0) + 1, n_groups))
    np.add.at(counts, lists.image[known], mean[known])
    mean[known] = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[lists.image[known]]
    held = np.zeros((len(shown), n_groups))
    labels = groups.of_item[shown]
    np.add.at(held, (np.arange(len(shown))[:, None], labels), share)
    added = np.empty(shown.shape)
    for rank, weight in enumerate(share):
        other = held + weight * mean[shown[:, rank]]
        other[np.arange(len(shown)), labels[:, rank]] -= weight
        other = np.where(other < ROUNDING, settings.eps, other)
        added[:, rank] = of_list - np.where(
            fair > 0, fair * np.log(np.maximum(fair, ROUNDING) / other), 0
        ).sum(axis=1)
    return added


def measure(lists: Lists, settings: PrevalenceSettings) -> Estimates:
    """Means over images with intervals, each with its chance floor; exposure against its expectation."""
    names = list(lists.groupings)
    # Groups are exchanged in a thread while all else is measured; workers are asked by one thread alone.
    early = names if isinstance(current(), Local) else []
    with ThreadPoolExecutor(1) as aside:
        coming = {name: aside.submit(matched_floors, lists, name) for name in early}
        floors, measured = _Floors(lists), values(lists, settings)
        own = {"exposure", "expected exposure"}
        known = dict(zip(measured.quantities, measured.columns["chance"], strict=True))
        floored = measured.with_chance(lambda q: known[q] if q.metric in own else floors.of(q))
        summary = summarise(floored, settings)
        ratios, effect = exposure_ratios(lists), search_effect(lists, settings, columns_of)
    found = {name: coming[name].result() if name in coming else matched_floors(lists, name) for name in names}
    matched = (beside_matched(lists, name, floor, summary) for name, floor in found.items())
    return joined([summary, ratios, *matched, effect])


def columns_of(lists: Lists) -> Iterator[ValueColumn]:
    """Every quantity of every query."""
    yield from exposure_columns(lists)
    for grouping, groups in lists.groupings.items():
        ranked = groups.of_item[lists.ranked]
        for metric, function in lists.divergences(grouping).items():
            for k, found in zip(lists.cutoffs, function(ranked, cutoffs=lists.cutoffs), strict=True):
                yield column(metric, found, k=k, grouping=grouping)
    for k in RECALL_CUTOFFS:
        if k <= lists.depth:
            yield column("Accuracy", accuracy_at_k(lists.relevant, k), k=k)
    k = min(10, lists.depth)
    ndcg = ndcg_at_k(lists.relevant, k, ideal="pool", n_relevant=lists.n_relevant)
    yield column("NDCG", ndcg, k=k, ideal="pool")
    yield column("NDCG", ndcg_at_k(lists.relevant, k, ideal="retrieved"), k=k, ideal="retrieved")
    if len(lists.codes) > 1:
        yield from _shares(lists, k)
    if lists.targets["language_rank"].count():
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
    first = lists.captions
    row = first["query_id"].cast(pl.Enum(lists.query_ids), strict=False).to_physical()
    first = first.with_columns(row=row.cast(pl.Int64))
    for k in RECALL_CUTOFFS:
        for key in ("language", "tier"):
            names = sorted(first[key].drop_nulls().unique())
            known = first.drop_nulls(["row", key])
            place = known[key].cast(pl.Enum(names)).to_physical().cast(pl.Int64)
            cells = (known["row"] + len(lists.query_ids) * place).to_numpy()
            size = len(lists.query_ids) * len(names)
            hits = np.bincount(cells, known["language_rank"].to_numpy() <= k, minlength=size)
            with np.errstate(invalid="ignore"):  # 0 / 0: the image has no caption of that kind
                found = hits / np.bincount(cells, minlength=size)
            for name, hit in zip(names, found.reshape(len(names), -1) if names else (), strict=True):
                yield ValueColumn(quantity("R", k, **{key: name}), hit)


@lru_cache(maxsize=64)
def _divergence_floors(
    grouping: str, counts: tuple[int, ...], cutoffs: tuple[int, ...], seed: int, prior: str, eps: float
) -> dict[tuple[str, int], float]:
    """The floors of divergences by metric and cutoff: those of a pool, once for all systems of a process."""
    draws = CHANCE_DRAWS.get(grouping, CHANCE_DRAWS["language"])
    blind = blind_rankings(counts, cutoffs[-1], draws=draws, seed=seed)
    functions = divergences_of(grouping, counts, prior, eps)
    return {
        (name, k): float(found.mean())
        for name, of in functions.items()
        for k, found in zip(cutoffs, of(blind, cutoffs=cutoffs), strict=True)
    }


class _Floors:
    """What a system blind to language, or one blind to everything, would score."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.sizes: dict[str, int] = dict(zip(lists.codes, lists.language.counts.tolist(), strict=True))
        by_language = lists.captions.partition_by("language", maintain_order=True)
        captions = pl.concat([lists.captions.clear(), *by_language]).with_columns(
            **{f"R@{k}": self._found(by_language, k) for k in RECALL_CUTOFFS}
        )
        self.captions = {
            (key, name): part
            for key in ("language", "tier")
            for (name,), part in captions.partition_by(key, as_dict=True).items()
        }
        self.divergence: dict[tuple[str, str, int], float] = {}
        for grouping, groups in lists.groupings.items():
            floors = _divergence_floors(
                grouping,
                tuple(groups.counts.tolist()),
                tuple(lists.cutoffs),
                lists.settings.seed_of("chance"),
                lists.settings.prior,
                lists.settings.eps,
            )
            for (metric, k), floor in floors.items():
                self.divergence[metric, grouping, k] = floor

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
        if wanted.metric != "R":
            return None
        return float(self.captions[next(iter(keys.items()))][f"R@{k}"].to_numpy().mean())

    def _found(self, by_language: list[pl.DataFrame], k: int) -> Floats:
        """The chance that each image finds one of its captions among the first k of their language."""
        sizes = [self.sizes[part["language"][0]] for part in by_language]
        found = (
            chance_success(part["len"].to_numpy(), size, min(k, size))
            for part, size in zip(by_language, sizes, strict=True)
        )
        return np.concatenate([[], *found])
